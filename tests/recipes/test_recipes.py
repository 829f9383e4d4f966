import pytest

from semfocus.analysis.comparisons import comparisons
from semfocus.recipes import RECIPES
from semfocus.recipes.beyond import as_released, tuned
from semfocus.runs import RunSpec
from semfocus.runs.arms import arm_of
from semfocus.runs.paper_settings import DEVELOPMENT_SEEDS, PAPER_SEEDS, PAPER_TASKS
from semfocus.studies.grid import refuse_repeats
from semfocus.studies.selection import read_arm, with_settings

#: tasks x arms x settings x seeds
NUMBERS = {
    "quick": 5 * 8,
    "small": 8 * 7 * 5,
    "curves": 8 * 7 * 10,
    "activations": 8 * 5 * 2 * 10,
    "activations_short": 3 * 3 * 10,
    "activations_small": 2 * 3 * 3 * 8,
    "mask_sizes": 8 * (2 + 2 * 2 * 3 + 2 + 1) * 10,
    "depth": 3 * 4 * 10,
    "depth_short": 3 * 4 * 10,
    "depth_small": 2 * 3 * 4 * 8,
    "heads": 3 * 4 * 10,
    "heads_short": 3 * 4 * 10,
    "heads_small": 2 * 3 * 3 * 8,
    "learning_rate": 3 * 4 * 10,
    "learning_rate_short": 3 * 4 * 10,
    "learning_rate_small": 2 * 3 * 4 * 8,
    "decay": 3 * 4 * 10,
    "decay_short": 3 * 5 * 10,
    "decay_small": 2 * 3 * 3 * 8,
    "adam": 3 * 4 * 10,
    "adam_short": 3 * 4 * 10,
    "adam_small": 2 * 3 * 3 * 8,
    "landscape": 8 * 4,
    "landscape_small": 6 * 3 * 3,
    "dispersion": 8 * 6 * 3,
    "dispersion_small": 8 * 6 * 5,
    "controls": 3 * 6 * 10,
    "k_sweep": 7 * 9 * 10,
    "k_sweep_marked_majority": 7 * 9 * 10,
    "k_sweep_small": 5 * 7 * 3,
    "temperature": 2 * (3 * 5 + 2 * 2 * 2) * 10,
    "sharpness": 2 * 12 * 5,
    "sharpness_paper": 2 * 12 * 10,
    "factorial": 5 * 5 * 8,
    "factorial_paper": 4 * 5 * 8,
    "clipping": 4 * 6 * 4 * 8,
    "clipping_paper": 4 * 6 * 4 * 8,
    "matched": 5 * 8 * 8,
    "matched_paper": 4 * 8 * 8,
    "which_keys": (4 * 9 + 8) * 8,
    "which_keys_paper": 4 * 9 * 8,
    "when": 5 * (3 + 2 * 2 * 2) * 8,
    "when_paper": 4 * (3 + 2 * 2 * 2) * 8,
    "twins": 2 * 4 * 5,
    "tuned": 2 * 4 * 6 * 3,
    "tuned_small": 4 * 3 * 4 * 3 * 2,
    "tuned_small_adam": 4 * 3 * 4 * 3 * 2,
    "length": 3 * 4 * 10,
    "norm": 3 * 4 * 2 * 10,
    "language_small": 4 * 3,
    "language_unigram": 3 * 4 * 5,
    "language_bpe": 3 * 3 * 5,
    "pretrain_finetune": 2 * 3 + 2 * 3 * 3,
    "as_released": 8 * 7 * 10,
}


#: most of their runs stop at the target
ONLY_HOW_FAST = {"clipping", "clipping_paper"}


def test_every_recipe_is_counted() -> None:
    assert NUMBERS.keys() == RECIPES.keys()


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_a_list_of_different_specs_with_a_baseline(name: str) -> None:
    recipe = RECIPES[name]
    specs = recipe.specs()
    assert len(specs) == NUMBERS[name]
    refuse_repeats(specs)
    assert recipe.QUESTION
    assert recipe.FIGURE
    assert any(spec.pattern == "full" and spec.model.inverse_temperature == 1 for spec in specs)
    stops = any(spec.training.stop_at is not None for spec in specs)
    assert stops == (name in ONLY_HOW_FAST), "recipes run to the epoch limit"


#: in two stages, of which the first is a search on other seeds
SEARCHES = {name for name, recipe in RECIPES.items() if getattr(recipe, "next_stage", None) is not None}


@pytest.mark.parametrize("name", sorted(RECIPES.keys() - SEARCHES))
def test_results_are_on_the_papers_seeds_and_all_arms_have_the_same(name: str) -> None:
    seeds: dict[tuple[str, str, float], set[int]] = {}
    for spec in RECIPES[name].specs():
        arm = (spec.task, spec.pattern, spec.model.inverse_temperature)
        seeds.setdefault(arm, set()).add(spec.seed)
    chosen = next(iter(seeds.values()))
    assert all(each == chosen for each in seeds.values())
    assert chosen == set(PAPER_SEEDS[: len(chosen)])


def test_the_papers_seeds_are_ten_and_development_has_others() -> None:
    assert len(set(PAPER_SEEDS)) == 10
    assert sum(PAPER_SEEDS) == 1_719_871_221
    assert not set(PAPER_SEEDS) & set(DEVELOPMENT_SEEDS)


def test_curves_are_at_the_papers_setting() -> None:
    specs = RECIPES["curves"].specs()
    assert {spec.task for spec in specs} == set(PAPER_TASKS)
    for spec in specs:
        paper = RunSpec.model_validate({"task": spec.task})
        assert spec.training == paper.training
        assert spec.model == paper.model or spec.pattern == "full"


@pytest.mark.parametrize("name", ["landscape", "dispersion", "length"])
def test_recipes_that_only_need_trained_models_share_the_runs_of_curves(name: str) -> None:
    curves = {spec.digest for spec in RECIPES["curves"].specs()}
    assert {spec.digest for spec in RECIPES[name].specs()} <= curves


def test_a_short_ablation_includes_the_papers_value_of_its_task() -> None:
    curves = {spec.digest for spec in RECIPES["curves"].specs()}
    for name in ("depth", "heads", "learning_rate", "decay"):
        for recipe in (RECIPES[name], RECIPES[f"{name}_short"]):
            assert len(curves & {spec.digest for spec in recipe.specs()}) == 3 * 10


def test_sharpness_compares_every_control_in_one_table_and_shares_runs() -> None:
    specs = RECIPES["sharpness"].specs()
    records = [{"run": spec.digest, "spec": spec.model_dump(mode="json"), "state": "done"} for spec in specs]
    for found in comparisons(records):
        assert found.groups == {
            "full": "baseline",
            "top_k(5)": "input-dependent",
            "top_k(5) \u00d74": "input-dependent",
            "top_k(5) \u00d710": "input-dependent",
            "banded(5)": "input-agnostic",
            "full \u00d74": "sharper full attention",
            "full \u00d710": "sharper full attention",
            "full clipped at 1": "control",
            "full gradient \u00d710": "control",
            "full q/k rate \u00d710": "control",
            "full q/k start \u00d73.1623": "control",
            "full \u00d710 gradient \u00f710": "control",
        }
        assert {len(own) for own in found.arms.values()} == {5}
    assert len(comparisons(records)) == 2
    small = {spec.digest for spec in RECIPES["small"].specs()}
    assert {spec.digest for spec in RECIPES["twins"].specs()} <= small
    shared = {spec.digest for spec in specs} & small
    assert len(shared) == 2 * 5 * 5
    paper = {spec.digest for spec in RECIPES["sharpness_paper"].specs()}
    assert len(paper & {spec.digest for spec in RECIPES["temperature"].specs()}) == 2 * 9 * 10


def arms_by_comparison(name: str) -> list[set[str]]:
    specs = [spec.model_dump(mode="json") for spec in RECIPES[name].specs()]
    found = comparisons(
        [{"run": str(index), "spec": spec, "state": "done"} for index, spec in enumerate(specs)]
    )
    return [set(each.arms) for each in found]


CAUSES = ("factorial", "clipping", "matched", "which_keys", "when")


@pytest.mark.parametrize(
    "name", [*CAUSES, *(f"{name}_paper" for name in CAUSES), "sharpness", "sharpness_paper"]
)
def test_contrasts_are_between_arms_of_the_recipe(name: str) -> None:
    """Of every comparison, but for the keys that decide, which listops cannot name."""
    labels = arms_by_comparison(name)
    contrasts = RECIPES[name].CONTRASTS
    assert len(set(contrasts)) == len(contrasts) > 0
    for text in {each for pair in contrasts for each in pair}:
        pattern, settings = read_arm(text)
        (spec,) = with_settings([RunSpec(task="parity", pattern=pattern)], settings)
        label = arm_of(spec.model_dump(mode="json")).label
        have = [label in each for each in labels]
        assert all(have) or (label == "full oracle keys" and sum(have) == 4), (text, labels)


@pytest.mark.parametrize(
    ("name", "tasks", "settings"), [("clipping", 4, 4), ("matched", 5, 1), ("when", 5, 1)]
)
def test_a_group_of_causes_has_one_comparison_per_task_and_setting(
    name: str, tasks: int, settings: int
) -> None:
    found = arms_by_comparison(name)
    assert len(found) == tasks * settings
    assert all(each == found[0] for each in found)


def test_groups_of_causes_share_runs() -> None:
    digests = {
        name: {spec.digest for spec in RECIPES[name].specs()} for name in (*CAUSES, "small", "sharpness")
    }
    assert (
        len(digests["factorial"] & digests["small"]) == 4 * 2 * 5
    )  # full and full x10; small has no marked_pair
    assert len(digests["clipping"] & digests["factorial"]) == 4 * 4 * 8
    assert len(digests["matched"] & digests["which_keys"]) == 5 * 2 * 8
    assert len(digests["sharpness"] & digests["factorial"]) == 2 * 4 * 5


def test_as_released_loses_a_sample_on_listops_only() -> None:
    lost = {spec.task: spec.training.drop_samples_per_epoch for spec in as_released.specs()}
    assert lost.pop("listops") == 1
    assert set(lost.values()) == {0}
    assert all(spec.model.first_norm_eps == 0 for spec in as_released.specs())


def record(spec: RunSpec, epochs: int | None, accuracy: float = 1.0) -> dict[str, object]:
    summary = {"epochs_to_target": epochs, "last_train_accuracy": accuracy}
    return {"spec": spec.model_dump(mode="json"), "summary": summary, "state": "done"}


def chosen_rates(epochs_of) -> dict[tuple[str, str], float]:
    records = [record(spec, *epochs_of(spec)) for spec in tuned.specs()]
    return {
        (spec.task, f"{spec.pattern} x{spec.model.inverse_temperature:g}"): spec.training.learning_rate
        for spec in tuned.next_stage(records)
    }


def test_tuned_reports_each_arm_at_its_own_best_rate_on_other_seeds() -> None:
    best = {"full": 0.4, "banded(5)": 0.05, "top_k(5)": 0.1}
    rates = chosen_rates(
        lambda spec: (10 if spec.training.learning_rate == best[spec.pattern] else 20 + spec.seed,)
    )
    assert rates == {
        (task, arm): best[arm.split(" ")[0]]
        for task in tuned.TASKS
        for arm in ("full x1", "full x4", "banded(5) x1", "top_k(5) x1")
    }
    following = tuned.next_stage([record(spec, 5) for spec in tuned.specs()])
    assert {spec.seed for spec in following} == set(PAPER_SEEDS)
    assert len(following) == 2 * 4 * 10


def test_tuned_counts_a_run_that_never_arrives_as_more_than_the_limit() -> None:
    def epochs(spec: RunSpec) -> tuple[int | None]:
        if spec.training.learning_rate == 0.8:
            return (1 if spec.seed == 1 else None,)  # fast once, never otherwise
        return (60 if spec.training.learning_rate == 0.2 else None,)

    assert set(chosen_rates(epochs).values()) == {0.2}


@pytest.mark.parametrize("name", ["tuned_small", "tuned_small_adam"])
def test_tuned_small_chooses_both_rates_and_its_arms_stay_comparable(name: str) -> None:
    recipe = RECIPES[name]
    best = (
        {"full": (0.1, 16), "top_k(5)": (0.4, 1)}
        if name == "tuned_small"
        else {"full": (0.01, 4), "top_k(5)": (0.03, 1)}
    )

    def epochs(spec: RunSpec) -> int:
        rate, ratio = best[spec.pattern]
        training = spec.training
        others = training.learning_rate * training.learning_rate_scale.mlp
        return (
            10 if (others, training.learning_rate) == pytest.approx((rate, rate * ratio)) else 20 + spec.seed
        )

    search = recipe.specs()
    following = recipe.next_stage([record(spec, epochs(spec)) for spec in search])
    assert len(following) == 4 * 3 * 8
    assert {spec.seed for spec in following} == set(PAPER_SEEDS[:8])
    assert {spec.training.optimiser for spec in following} == {"adam" if "adam" in name else "sgd"}
    for spec in following:
        rate, ratio = best[spec.pattern]
        rates = spec.training.learning_rate_scale.model_dump()
        assert rates.pop("query_key") == 1
        assert [spec.training.learning_rate * each for each in rates.values()] == pytest.approx([rate] * 4)
        assert spec.training.learning_rate == pytest.approx(rate * ratio)
    records = [record(spec, 5) | {"run": spec.digest} for spec in following]
    found = comparisons(records, apart_from=recipe.OWN_SETTINGS)
    assert [set(each.arms) for each in found] == [{"full", "full \u00d74", "top_k(5)"}] * 4


def test_tuned_settles_ties_by_accuracy_then_by_the_lower_rate() -> None:
    assert set(chosen_rates(lambda spec: (None, 0.5)).values()) == {0.03}
    rates = chosen_rates(lambda spec: (None, 0.9 if spec.training.learning_rate == 0.4 else 0.5))
    assert set(rates.values()) == {0.4}


def test_scaled_down_ablations_share_the_runs_of_the_usual_value() -> None:
    """Also where they stop at the target: a value without its own base could not be compared with any other."""
    axes = ("activations", "depth", "heads", "learning_rate", "decay")
    usual = {spec.digest for spec in RECIPES["small"].specs()}
    shared = []
    for axis in axes:
        specs = RECIPES[f"{axis}_small"].specs()
        shared.append({spec.digest for spec in specs})
        assert len(shared[-1] & usual) == 2 * 3 * 5, "two tasks, three arms, five seeds of small"
    assert len(set.intersection(*shared)) == 2 * 3 * 8
