from semfocus.runs import RunSpec
from semfocus.studies.calibration import measured_seconds
from semfocus.studies.cost import cost_key, num_steps, rough_seconds


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
    assert num_steps(paper("parity")) == 200
    assert num_steps(paper("parity", training={"num_train": 5001})) == 201
    assert num_steps(paper("parity", training={"num_train": 5001, "drop_samples_per_epoch": 1})) == 200


def test_runs_that_cost_the_same_are_measured_once() -> None:
    assert cost_key(paper("parity", seed=1)) == cost_key(
        paper("even_pairs", model={"inverse_temperature": 4.0})
    )
    assert cost_key(paper("parity")) != cost_key(paper("parity", pattern="top_k(5)"))
    assert cost_key(paper("parity")) != cost_key(paper("parity", model={"num_blocks": 3}))


def test_measured_times_grow_with_epochs_and_blocks(tiny_spec) -> None:
    base, longer, deeper = (
        tiny_spec(),
        tiny_spec(training={"epochs": 40}),
        tiny_spec(model={"num_blocks": 12}),
    )
    seconds = measured_seconds([base, longer, deeper], device="cpu")
    assert seconds[longer.digest] == 10 * seconds[base.digest] > 0
    assert seconds[deeper.digest] > 2 * seconds[base.digest]


def test_data_files_and_ranges_of_lengths_can_be_measured(tmp_path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("sequence,label\n" + "".join(f"a b {'a ' * (n % 3)},{n % 2}\n" for n in range(30)))
    small = {"d_model": 8, "num_blocks": 1}
    specs = [
        paper(f"file:{path}", model=small),
        paper("listops", model=small, training={"length": (10, 20), "num_train": 50}),
    ]
    assert min(measured_seconds(specs, device="cpu").values()) > 0
