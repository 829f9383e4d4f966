import pytest

from semfocus.notation import split_list
from semfocus.recipes import RECIPES
from semfocus.runs import RunSpec
from semfocus.runs.arms import arm_of
from semfocus.studies import grid
from semfocus.studies.selection import read_arm, with_patterns, with_seeds, with_settings, with_tasks

QUICK = RECIPES["quick"].specs()


def arms(specs: list[RunSpec]) -> list[str]:
    names = [f"{spec.pattern} x{spec.model.inverse_temperature:g}" for spec in specs]
    return list(dict.fromkeys(names))


def test_an_arm_is_a_pattern_and_perhaps_its_inverse_temperature() -> None:
    sharper = "model.inverse_temperature"
    assert read_arm("full") == ("full", {})
    assert read_arm("full x4") == read_arm("full \u00d74") == ("full", {sharper: 4.0})
    assert read_arm(" random(5, fixed)  x 0.5 ") == ("random(5,fixed)", {sharper: 0.5})
    assert read_arm("banded(5)+G1") == ("banded(5)+G1", {})


CONTROLLED = {
    "full x10 gradient /10": {"model.inverse_temperature": 10.0, "model.score_gradient": 0.1},
    "full gradient x10": {"model.score_gradient": 10.0},
    "full gradient x0": {"model.score_gradient": 0.0},
    "top_k(5) clipped at 0.5": {"model.score_clip": 0.5},
    "full q/k start x3.1623": {"model.initial_scale.query_key": 3.1623},
    "full entropy of top_k(5)": {"model.match_entropy": "top_k(5)"},
    "full x4 entropy of random(5,fixed) q/k rate x10": {
        "model.inverse_temperature": 4.0,
        "model.match_entropy": "random(5,fixed)",
        "training.learning_rate_scale.query_key": 10.0,
    },
    "top_k(5) dispersion of full": {"model.match_dispersion": "full"},
    "full x4 entropy of top_k(5) gradient /f": {
        "model.inverse_temperature": 4.0,
        "model.match_entropy": "top_k(5)",
        "model.match_keeps_gradient": True,
    },
    "full oracle keys": {"model.selection": "relevant"},
    "top_k(5) x4 initial keys": {"model.inverse_temperature": 4.0, "model.selection": "initial"},
    "top_k(5) noisy 0.5": {"model.selection_noise": 0.5},
    "full x10 first 100 steps": {"model.inverse_temperature": 10.0, "training.plain_after": 100},
    "top_k(5) after 1 step": {"training.plain_before": 1},
    "full entropy of top_k(5) q/k rate x10 after 1000000 steps": {
        "model.match_entropy": "top_k(5)",
        "training.learning_rate_scale.query_key": 10.0,
        "training.plain_before": 1_000_000,
    },
    "random(5,fixed) x2 clipped at 1 q/k rate x10": {
        "model.inverse_temperature": 2.0,
        "model.score_clip": 1.0,
        "training.learning_rate_scale.query_key": 10.0,
    },
}


@pytest.mark.parametrize(("text", "settings"), CONTROLLED.items())
def test_an_arm_with_controls_is_written_as_its_label_and_back(text: str, settings: dict[str, float]) -> None:
    pattern = text.split(" ")[0]
    assert read_arm(text) == (pattern, settings)
    (spec, *_) = with_patterns(QUICK, [text])
    label = arm_of(spec.model_dump(mode="json")).label
    assert label == text.replace(" x", " \u00d7").replace("gradient /", "gradient \u00f7")
    assert read_arm(label) == (pattern, settings)
    assert split_list(label, "--patterns") == [label]  # as it stands in a table


def test_controls_join_where_patterns_are_compared_and_leave_the_rest_alone() -> None:
    chosen = with_patterns(QUICK, ["full x1", "full clipped at 1"])
    assert len(chosen) == 2 * 8
    assert {spec.model.score_clip for spec in chosen if spec.seed == chosen[0].seed} == {None, 1.0}
    assert {spec.model.inverse_temperature for spec in chosen} == {1.0}


@pytest.mark.parametrize(
    "text",
    [
        "full x4 first 100",
        "full x4 after 1.5 steps",
        "full oracle",
        "top_k(5) keys",
        "top_k(5) noisy",
        "full entropy of",
        "full entropy of tap_k(5)",
        "full entropy top_k(5)",
        "full clipped",
        "full gradient",
        "full gradient /0",
        "full clipped at -1",
        "",
    ],
)
def test_an_arm_that_says_half_of_it_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"pattern|divided by 0"):
        read_arm(text)


def test_the_pattern_that_a_control_names_is_read_as_any_other() -> None:
    assert read_arm("full  entropy of top_k( 5 )") == ("full", {"model.match_entropy": "top_k(5)"})
    with pytest.raises(ValueError, match="unknown pattern 'top_q'"):
        read_arm("full entropy of top_q(5)")


def test_patterns_of_the_recipe_are_selected() -> None:
    chosen = with_patterns(QUICK, ["top_k(5)", "full"])
    assert arms(chosen) == ["top_k(5) x1", "full x1", "full x4"]
    assert {spec.digest for spec in chosen} <= {spec.digest for spec in QUICK}
    assert arms(with_patterns(QUICK, ["full x4"])) == ["full x4"]


def test_other_patterns_join_where_patterns_are_compared() -> None:
    chosen = with_patterns(QUICK, ["full", "top_k(9)"])
    assert arms(chosen) == ["full x1", "full x4", "top_k(9) x1"]
    assert len(chosen) == 3 * 8
    assert arms(with_patterns(QUICK, ["top_k(9) x2"])) == ["top_k(9) x2"]
    everywhere = with_patterns(RECIPES["temperature"].specs(), ["random(5)"])
    assert arms(everywhere) == [
        "random(5) x1",
        "random(5) x2",
        "random(5) x4",
        "random(5) x10",
        "random(5) x30",
    ]


def test_arms_of_one_seed_stay_together() -> None:
    chosen = with_patterns(QUICK, ["full", "top_k(9)"])
    assert len({spec.seed for spec in chosen[:3]}) == 1
    other = with_seeds(QUICK, [4, 5])
    assert [spec.seed for spec in other] == [4] * 5 + [5] * 5


def test_seeds_replace_those_of_the_recipe() -> None:
    other = with_seeds(RECIPES["norm"].specs(), [7])
    assert len(other) == len(RECIPES["norm"].specs()) / 10
    assert {spec.seed for spec in other} == {7}


def test_a_task_of_the_recipe_is_selected() -> None:
    chosen = with_tasks(RECIPES["curves"].specs(), ["parity", "listops"])
    assert [spec.task for spec in chosen] == ["parity"] * 70 + ["listops"] * 70


def test_another_task_takes_what_differs_from_the_papers_setting() -> None:
    (spec,) = with_tasks(grid({"task": "even_pairs", "model": {"num_blocks": 3}}, seed=[1]), ["parity"])
    paper = RunSpec.model_validate({"task": "parity"})
    assert spec.task == "parity"
    assert spec.seed == 1
    assert spec.model.num_blocks == 3
    assert spec.training == paper.training  # not the epochs of even_pairs
    (quick,) = {spec.training.epochs for spec in with_tasks(QUICK, ["parity"])}
    assert quick == QUICK[0].training.epochs


def test_settings_apply_to_every_spec_and_equal_ones_count_once() -> None:
    specs = RECIPES["depth_short"].specs()
    fixed = with_settings(specs, {"model.num_blocks": 2, "training.epochs": 1})
    assert len(fixed) == len(specs) / 4
    assert {(spec.model.num_blocks, spec.training.epochs) for spec in fixed} == {(2, 1)}
