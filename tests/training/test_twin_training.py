"""Two runs that differ in one sample, side by side."""

import pytest
import torch

from semfocus.model.evaluation import mean_loss
from semfocus.runs import RunSpec
from semfocus.runs.checkpoints import weights_digest
from semfocus.tasks import draw_dataset, parse_task
from semfocus.training import dataset_of, run
from semfocus.training.device import limited_threads
from semfocus.training.evaluation import evaluate, sample_losses
from semfocus.training.loop import batches_of
from semfocus.training.optimiser import set_learning_rate
from semfocus.training.twin_training import Twin, train_twins

CPU = torch.device("cpu")
REPLACED = 7


@pytest.mark.parametrize("task", ["even_pairs", "listops", "stack_manipulation"])
@pytest.mark.parametrize("length", [12, (10, 14)])
def test_one_sample_is_another_and_all_else_is_the_same(task, length) -> None:
    plain, twin = (draw_dataset(parse_task(task), 40, 20, length, 5, index) for index in (None, REPLACED))
    differs = (plain.train.tokens != twin.train.tokens).any(1)
    assert differs.nonzero().flatten().tolist() == [REPLACED]
    assert torch.equal(twin.train.labels, parse_task(task).label(twin.train.tokens))
    assert torch.equal(twin.train.real, parse_task(task).real(twin.train.tokens))
    assert torch.equal(plain.held_out.tokens, twin.held_out.tokens)
    again = draw_dataset(parse_task(task), 40, 20, length, 5, REPLACED)
    assert torch.equal(again.train.tokens, twin.train.tokens)


def test_a_sample_is_never_replaced_by_itself() -> None:
    """Two sequences of length 1: every other draw would be the same one."""
    for index in range(12):
        plain, twin = (draw_dataset(parse_task("parity"), 12, 4, 1, 0, each) for each in (None, index))
        assert (plain.train.tokens != twin.train.tokens).flatten().nonzero().flatten().tolist() == [index]


def test_a_file_has_no_other_samples(tmp_path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("sequence,label\n0 1 1,a\n1 0 0,b\n")
    with pytest.raises(ValueError, match="a data file has only its own"):
        RunSpec(task=f"file:{path}", training={"replace_sample": 0})


@pytest.mark.parametrize(
    "changes", [{}, {"pattern": "full", "model": {"dropout": 0.2}}, {"training": {"optimiser": "adam"}}]
)
def test_both_are_the_runs_of_their_specs_bit_for_bit(tiny_spec, store, changes) -> None:
    spec = tiny_spec(**changes)
    training = dict(changes.get("training", {}), replace_sample=REPLACED)
    twin = tiny_spec(**changes | {"training": training})
    with limited_threads(1):
        found, first, second = train_twins(spec, REPLACED, CPU)
    records = [run(each, store, threads=1) for each in (spec, twin)]
    assert records[0]["weights"] != records[1]["weights"]
    digests = [weights_digest(each.model.state_dict()) for each in (first, second)]
    assert digests == [record["weights"] for record in records]
    assert len(found.rows) == spec.training.epochs + 1
    assert found.steps_per_epoch == 6
    assert len(found.learning_rates) == spec.training.epochs


def test_distances_are_those_of_the_two_models(tiny_spec) -> None:
    spec = tiny_spec(pattern="full")
    found, first, second = train_twins(spec, REPLACED, CPU)
    assert found.rows[0] == {
        "epoch": 0,
        "distance": 0.0,
        "relative_distance": 0.0,
        "groups": dict.fromkeys(("embedding", "query_key", "value_out", "mlp", "readout"), 0.0),
        "train_loss": 0.0,
        "held_out_loss": 0.0,
        "largest_loss": 0.0,
        "replaced_loss": 0.0,
    }
    last = found.rows[-1]
    vectors = [
        torch.cat([each.detach().flatten() for each in twin.model.parameters()]).double()
        for twin in (first, second)
    ]
    assert last["distance"] == pytest.approx(float((vectors[0] - vectors[1]).norm()), rel=1e-5)
    assert last["relative_distance"] == pytest.approx(last["distance"] / float(vectors[0].norm()), rel=1e-5)
    assert last["distance"] ** 2 == pytest.approx(sum(each**2 for each in last["groups"].values()), rel=1e-5)
    assert min(last["groups"].values()) > 0
    data = dataset_of(spec)
    train, held_out = (
        (sample_losses(first.model, part, 0, 4) - sample_losses(second.model, part, 0, 4)).abs()
        for part in (data.train, data.held_out)
    )
    assert (last["train_loss"], last["held_out_loss"]) == (float(train.mean()), float(held_out.mean()))
    assert last["largest_loss"] == max(float(train.max()), float(held_out.max()))
    assert last["replaced_loss"] == float(train[REPLACED])
    ratios = [row["largest_loss"] / row["distance"] for row in found.rows[1:]]
    assert found.largest_loss_ratio == max(ratios)


def test_the_largest_gradients_are_those_of_every_step(tiny_spec) -> None:
    """Once more with hands of its own: one epoch, step by step, from the two untrained models."""
    spec = tiny_spec(pattern="full", model={"dropout": 0.0}, training={"epochs": 1, "clip_norm": None})
    found, *_ = train_twins(spec, REPLACED, CPU)
    training = spec.training.model_dump() | {"replace_sample": REPLACED}
    pair = [Twin(each, CPU) for each in (spec, RunSpec(**spec.model_dump() | {"training": training}))]
    batches, samples, ratios = [], [], []
    for each in pair:
        set_learning_rate(each.optimiser, spec.training, 1)
        each.model.train()
    for rows in batches_of(pair[0].data.train, spec.training, spec.seed, 1):
        weights = [flattened(each.model.parameters()) for each in pair]
        gradients = []
        for each in pair:
            if (rows == REPLACED).any():
                samples.append(float(gradient_of(each, torch.tensor([REPLACED])).norm()))
            gradients.append(gradient_of(each, rows))
            batches.append(float(gradients[-1].norm()))
        distance = (weights[0] - weights[1]).norm()
        if distance > 0 and not (rows == REPLACED).any():
            ratios.append(float((gradients[0] - gradients[1]).norm() / distance))
        for each in pair:
            each.optimiser.step()
    assert found.largest_gradient == pytest.approx(max(batches), rel=1e-4)
    assert len(samples) == 2
    assert found.largest_sample_gradient == pytest.approx(max(samples), rel=1e-4)
    assert found.largest_gradient_ratio == pytest.approx(max(ratios), rel=1e-3)


def gradient_of(twin: Twin, rows: torch.Tensor) -> torch.Tensor:
    twin.optimiser.zero_grad()
    part = twin.data.train
    mean_loss(twin.model(part.tokens[rows], None), part.labels[rows]).backward()
    return flattened(each.grad for each in twin.model.parameters())


def flattened(tensors) -> torch.Tensor:
    return torch.cat([each.detach().flatten() for each in tensors])


@pytest.mark.parametrize(
    ("training", "plain"),
    [({}, True), ({"optimiser": "adam"}, False), ({"learning_rate_scale": {"query_key": 10.0}}, False)],
)
def test_whether_steps_are_the_gradient_times_a_rate(tiny_spec, training, plain: bool) -> None:
    found, *_ = train_twins(tiny_spec(training={"epochs": 1, **training}), 0, CPU)
    assert found.is_plain_descent is plain


def test_losses_of_samples_are_what_the_evaluation_averages(tiny_spec) -> None:
    spec = tiny_spec()
    _, first, _ = train_twins(spec, 0, CPU)
    data = dataset_of(spec).held_out
    losses = sample_losses(first.model, data, 0, 4)
    assert len(losses) == len(data)
    assert float(losses.mean()) == pytest.approx(evaluate(first.model, data, 0, 4).loss, rel=1e-6)


def test_before_the_sample_is_seen_nothing_differs(tiny_spec) -> None:
    """Twenty of thirty samples are left out of each epoch, other ones each time."""
    spec = tiny_spec(training={"num_train": 30, "drop_samples_per_epoch": 20, "epochs": 12})
    late = 2
    found, first, _ = train_twins(spec, late, CPU)
    seen = [
        any((rows == late).any() for rows in batches_of(first.data.train, spec.training, spec.seed, epoch))
        for epoch in range(1, 13)
    ]
    assert 0 < seen.index(True) < 11
    parted = seen.index(True) + 1
    distances = [row["distance"] for row in found.rows]
    assert not any(distances[:parted])
    assert all(distances[parted:])


def test_a_pair_that_diverges_says_so_and_keeps_what_was_seen(tiny_spec) -> None:
    spec = tiny_spec(training={"learning_rate": 1e38, "clip_norm": None})
    found, *_ = train_twins(spec, 0, CPU)
    assert "not finite" in str(found.diverged)
    assert found.rows[0]["epoch"] == 0
    assert len(found.rows) < spec.training.epochs + 1


def test_a_twin_has_no_twin(tiny_spec) -> None:
    with pytest.raises(ValueError, match="replace_sample=3"):
        train_twins(tiny_spec(training={"replace_sample": 3}), 0, CPU)
