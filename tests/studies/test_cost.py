import pytest

from semfocus.runs import RunSpec
from semfocus.studies.cost import cost_key, measured_seconds, rough_seconds


def paper(task: str, **changes: object) -> RunSpec:
    return RunSpec.model_validate({"task": task, **changes})


def test_the_formula_gives_what_was_measured_for_the_papers_setting() -> None:
    epoch = rough_seconds(paper("even_pairs")) / 101
    assert 5 < epoch < 7  # docs/performance.md: 6.0


def test_fewer_keys_cost_less_only_where_no_score_is_needed() -> None:
    full, top_k, banded, with_global = (
        rough_seconds(paper("listops", pattern=pattern))
        for pattern in ("full", "top_k(5)", "banded(5)", "banded(5)+G1")
    )
    assert banded < with_global < top_k == full


def test_steps_count_a_last_short_batch_and_lost_samples() -> None:
    assert paper("parity").training.steps_per_epoch == 200
    assert paper("parity", training={"num_train": 5001}).training.steps_per_epoch == 201
    fewer = paper("parity", training={"num_train": 5001, "drop_samples_per_epoch": 1})
    assert fewer.training.steps_per_epoch == 200


def test_runs_that_cost_the_same_are_measured_once() -> None:
    assert cost_key(paper("parity", seed=1)) == cost_key(
        paper("even_pairs", model={"inverse_temperature": 4.0})
    )
    assert cost_key(paper("parity")) != cost_key(paper("parity", pattern="top_k(5)"))
    assert cost_key(paper("parity")) != cost_key(paper("parity", model={"num_blocks": 3}))


def test_seconds_of_a_run_are_those_of_its_steps_and_evaluations(tiny_spec, monkeypatch) -> None:
    """Half a second a step, a hundredth a sample: 4 epochs of 6 steps and 60 + 30 samples."""
    measured = []

    def measure(spec: RunSpec, device: object) -> tuple[float, float]:
        measured.append(spec.digest)
        return 0.5 * spec.model.num_blocks, 0.01 * spec.model.num_blocks

    monkeypatch.setattr("semfocus.studies.cost._measure", measure)
    base, longer = tiny_spec(), tiny_spec(training={"epochs": 40})
    other_seed, deeper = tiny_spec(seed=5), tiny_spec(model={"num_blocks": 12})
    seconds = measured_seconds([base, longer, other_seed, deeper], device="cpu")
    assert seconds[base.digest] == pytest.approx(4 * (6 * 0.5 + 90 * 0.01))
    assert seconds[longer.digest] == pytest.approx(10 * seconds[base.digest])
    assert seconds[other_seed.digest] == seconds[base.digest]
    assert seconds[deeper.digest] == pytest.approx(12 * seconds[base.digest])
    between = tiny_spec(training={"evaluate_every": 2})  # three more looks at the training data in an epoch
    assert measured_seconds([between], device="cpu")[between.digest] == pytest.approx(
        4 * (6 * 0.5 + 270 * 0.01)
    )
    assert rough_seconds(between) > rough_seconds(base)
    assert measured == [base.digest, deeper.digest, between.digest]


def test_data_files_and_ranges_of_lengths_can_be_measured(tmp_path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("sequence,label\n" + "".join(f"a b {'a ' * (n % 3)},{n % 2}\n" for n in range(30)))
    small = {"d_model": 8, "num_blocks": 1}
    specs = [
        paper(f"file:{path}", model=small),
        paper("listops", model=small, training={"length": (10, 20), "num_train": 50}),
    ]
    assert min(measured_seconds(specs, device="cpu").values()) > 0
