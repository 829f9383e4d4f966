"""A study that ends once it is decided: when it stops, what it keeps, what it refuses."""

import pytest

from semfocus import Study
from semfocus.analysis.statistics.sequential import LOOKS, spent_at
from semfocus.runs.paper_settings import PAPER_SEEDS
from semfocus.runs.plan import read_plans
from semfocus.runs.record import Record, study_digest
from semfocus.studies import grid
from semfocus.study import StudyResult
from tests.analysis.records import record

CONTRASTS = [("top_k(2)", "full")]


def specs() -> list:
    training = {"length": 6, "num_train": 10, "num_held_out": 5, "epochs": 1, "batch_size": 5}
    model = {"d_model": 4, "d_mlp": 4, "num_blocks": 1}
    base = {"task": "parity", "model": model, "training": training}
    return grid(base, pattern=["full", "top_k(2)"], seed=[0])


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch):
    """Instead of training: full attention arrives at epoch 40, top_k as the test says; what was asked for is noted."""
    asked: list[list[int]] = []

    def plant(top_k: list[int]) -> list[list[int]]:
        def train(self, specs, **how):
            asked.append(sorted({PAPER_SEEDS.index(spec.seed) for spec in specs}))
            found = []
            for spec in specs:
                when = 40 + spec.seed % 3 if spec.pattern == "full" else top_k[PAPER_SEEDS.index(spec.seed)]
                run = record(spec.pattern, spec.seed, when, task="parity")
                found.append(Record.of({**run, "run": spec.digest, "spec": spec.model_dump(mode="json")}))
            return found

        monkeypatch.setattr(Study, "_train", train)
        return asked

    return plant


def test_the_errors_of_all_looks_add_up_to_five_percent() -> None:
    assert sum(look.alpha for look in LOOKS) == pytest.approx(0.05)
    assert [look.seeds for look in LOOKS] == [6, 10]
    assert LOOKS[0].alpha >= 2 / 2**6  # six seeds that agree decide
    assert spent_at(LOOKS, 3) == LOOKS[0].alpha


def test_six_seeds_that_agree_are_enough(tmp_path, trained) -> None:
    asked = trained([10] * 10)
    result = Study(specs(), tmp_path, contrasts=CONTRASTS).run(until_decided=True)
    assert asked == [list(range(6))]
    (finding,) = result.findings
    assert (finding.verdict, finding.num_pairs, finding.p) == ("faster", 6, 2 / 64)
    assert result.is_decided
    (plan,) = read_plans(Study(specs(), tmp_path).store)
    assert plan.looks == [6, 10]
    assert plan.contrasts == [["top_k(2)", "full"]]


def test_six_seeds_without_any_difference_are_enough(tmp_path, trained) -> None:
    asked = trained([40 + seed % 3 for seed in PAPER_SEEDS])
    result = Study(specs(), tmp_path, contrasts=CONTRASTS).run(until_decided=True)
    assert asked == [list(range(6))]
    assert result.findings[0].verdict == "equivalent"


def test_one_seed_that_disagrees_asks_for_four_more(tmp_path, trained) -> None:
    asked = trained([10] * 5 + [55] + [10] * 4)
    result = Study(specs(), tmp_path, contrasts=CONTRASTS).run(until_decided=True)
    assert asked == [list(range(6)), list(range(10))]
    (finding,) = result.findings
    assert (finding.verdict, finding.num_pairs) == ("faster", 10)
    assert finding.p <= 3 / 160


def test_an_undecided_study_ends_with_the_last_look_and_wider_intervals(tmp_path, trained) -> None:
    trained([10, 58, 20, 57, 35, 60, 15, 59, 55, 50])
    result = Study(specs(), tmp_path, contrasts=CONTRASTS).run(until_decided=True)
    assert len(result.records) == 20
    assert not result.is_decided
    (usual,) = Study(specs(), tmp_path / "apart", contrasts=CONTRASTS, seeds=10).run().findings
    (finding,) = result.findings
    assert finding.low < usual.low
    assert any("98.1 %" in note for note in result.summaries[0].notes)


def test_what_cannot_be_decided_is_refused_in_one_line(tmp_path) -> None:
    with pytest.raises(ValueError, match="leave --seeds out"):
        Study(specs(), tmp_path, contrasts=CONTRASTS, seeds=3).run(until_decided=True)
    with pytest.raises(ValueError, match="needs to know what is to be decided"):
        Study(specs(), tmp_path).run(until_decided=True)
    fixed = [spec.model_copy(update={"seed": 7}) for spec in specs()]
    for contrasts in (CONTRASTS, None):  # seeds come first: with a contrast it would be refused all the same
        with pytest.raises(ValueError, match=r"study fixes its own: 7$"):
            Study(fixed, tmp_path, contrasts=contrasts).run(until_decided=True)
    with pytest.raises(ValueError, match="two stages"):
        Study("tuned", tmp_path, contrasts=[("top_k(5)", "full")]).run(until_decided=True)


@pytest.mark.parametrize(
    ("contrasts", "message"),
    [
        ([("top_k(9)", "full")], r"the study has no runs of 'top_k\(9\)'; arms: full, top_k\(2\)"),
        ([("top_j(9)", "full")], "top_j"),
        ([("full", "full")], "between two arms"),
        (["full"], "a pair of arms"),
        ([("top_k(2)", "full"), ("top_k( 2)", "full")], r"top_k\(2\) vs full is named twice"),
    ],
)
def test_contrasts_that_do_not_exist(tmp_path, contrasts, message) -> None:
    with pytest.raises(ValueError, match=message):
        Study(specs(), tmp_path, contrasts=contrasts)


def test_a_contrast_in_a_file_has_runs_in_the_file_or_among_the_chosen_arms(tmp_path) -> None:
    """Arms that were chosen may leave it out, a task that was chosen too; what the file itself lacks is a mistake."""
    made = [spec.model_dump(mode="json", exclude_unset=True) for spec in specs()]
    text = "from semfocus.runs import RunSpec\nCONTRASTS = [('top_k(9)', 'full')]\n"
    (tmp_path / "file.py").write_text(f"{text}def specs(): return [RunSpec(**each) for each in {made!r}]\n")
    with pytest.raises(
        ValueError, match=r"^contrast top_k\(9\) vs full: the study has no runs of 'top_k\(9\)'"
    ):
        Study(tmp_path / "file.py", tmp_path)
    assert Study(tmp_path / "file.py", tmp_path, patterns="full; top_k(2)").contrasts == []
    assert Study(tmp_path / "file.py", tmp_path, patterns="full; top_k(9)").contrasts == [
        ("top_k(9)", "full")
    ]
    chosen = Study("which_keys", tmp_path, tasks="listops")
    assert "full oracle keys" not in {arm for contrast in chosen.contrasts for arm in contrast}
    assert len(chosen.contrasts) == len(Study("which_keys", tmp_path).contrasts) - 1


def test_arms_that_were_left_out_take_their_contrasts_along(tmp_path) -> None:
    assert Study("quick", tmp_path).contrasts == [
        ("top_k(5)", "full"),
        ("full \N{MULTIPLICATION SIGN}4", "top_k(5)"),
    ]
    assert Study("quick", tmp_path, patterns="full; top_k(5)").contrasts[0] == ("top_k(5)", "full")
    assert Study("quick", tmp_path, patterns="full; banded(5)").contrasts == []


@pytest.mark.parametrize("agree", [True, False], ids=["six seeds", "ten seeds"])
def test_the_runs_are_those_of_the_number_of_seeds_that_was_reached(
    tmp_path, monkeypatch, agree: bool
) -> None:
    """Trained for real: only what the first look says is planted."""
    monkeypatch.setattr(StudyResult, "is_decided", property(lambda result: agree))
    found = Study(specs(), tmp_path / "looks", contrasts=CONTRASTS).run(
        until_decided=True, executor="serial", quiet=True
    )
    num = 6 if agree else 10
    plain = Study(specs(), tmp_path / "plain", contrasts=CONTRASTS, seeds=num)
    expected = plain.run(executor="serial", quiet=True).records
    assert len(found.records) == 2 * num
    assert study_digest(found.records) == study_digest(expected)
    assert study_digest(found.records) != study_digest(expected[:-1])
