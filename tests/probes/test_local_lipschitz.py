"""The local constant in W is the largest rate at which the output of attention moves."""

import pytest
import torch
from torch import Tensor

from semfocus import capture, parse_pattern
from semfocus.probes import (
    QueryPlaces,
    attended_covariance,
    lambda_w_local,
    sample_queries,
    score_matrices,
    value_matrices,
    weight_norms,
)
from tests.probes.cases import bits, small_model, trace_of_scores

STEP = 1e-6


def traced(projections: str, heads: int, pattern: str, **changes: float):
    model = small_model(
        pattern, projections=projections, num_heads=heads, inverse_temperature=3.0, **changes
    ).eval()
    with capture(model) as traces:
        model(bits(2))
    return model.blocks[1].attention, traces[1]


def output(x: Tensor, trace, head: int, i: int, score: Tensor, value: Tensor) -> Tensor:
    """What a head adds to query i in the paper's form, on the keys of the trace."""
    homogeneous = torch.cat([x, torch.ones(len(x), 1, dtype=x.dtype)], 1)
    scores = homogeneous @ score @ homogeneous[i]
    weights = scores.masked_fill(~trace.kept[0, head, i], -torch.inf).softmax(0)
    return value @ (weights @ homogeneous)


CASES = [
    ("separate", 1, "full"),
    ("separate", 2, "top_k(3)"),
    ("joint", 1, "top_k(4)"),
    ("joint", 1, "banded(3)"),
]


@pytest.mark.parametrize(("projections", "heads", "pattern"), CASES)
def test_score_and_value_matrices_rebuild_the_layer(projections: str, heads: int, pattern: str) -> None:
    attention, trace = traced(projections, heads, pattern)
    x, i = trace.inputs[0], 4
    score, value = score_matrices(attention, bias=True), value_matrices(attention, bias=True)
    homogeneous = torch.cat([x, torch.ones(len(x), 1, dtype=x.dtype)], 1)
    scores = torch.stack([(homogeneous @ each @ homogeneous.T).T for each in score])
    torch.testing.assert_close(scores, trace.scores[0], rtol=1e-10, atol=1e-10)
    whole = sum(output(x, trace, head, i, score[head], value[head]) for head in range(heads))
    bias = attention.out.bias if projections == "separate" else 0.0
    torch.testing.assert_close(
        whole + bias, attention(trace.inputs, None, None)[0, i], rtol=1e-10, atol=1e-10
    )
    without = slice(None), slice(-1), slice(-1)
    # products of other shapes, which may sum in another order
    torch.testing.assert_close(score_matrices(attention, bias=False), score[without], rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(value_matrices(attention, bias=False), value[..., :-1], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("projections", "heads", "pattern"), CASES)
def test_the_constant_is_the_largest_finite_difference_in_w(
    projections: str, heads: int, pattern: str
) -> None:
    attention, trace = traced(projections, heads, pattern)
    x, i = trace.inputs[0], 4
    score, value = score_matrices(attention, bias=True), value_matrices(attention, bias=True)
    plain = value_matrices(attention, bias=False)
    place = QueryPlaces(torch.tensor([0]), torch.tensor([i]))
    constants = lambda_w_local(trace, plain, place)[0]
    for head in range(heads):

        def rate(direction: Tensor, head: int = head) -> float:
            move = torch.zeros_like(score[head])
            move[:-1, :-1] = STEP * direction / torch.linalg.matrix_norm(direction, ord=2)
            up, down = (output(x, trace, head, i, score[head] + each, value[head]) for each in (move, -move))
            return float((up - down).norm()) / (2 * STEP)

        matrix = plain[head] @ attended_covariance(trace, place)[0, head]
        worst = torch.outer(torch.linalg.svd(matrix).Vh[0], x[i])
        assert rate(worst) == pytest.approx(float(constants[head]), rel=1e-6)
        generator = torch.Generator().manual_seed(1)
        for _ in range(50):
            direction = torch.randn(x.shape[1], x.shape[1], generator=generator, dtype=x.dtype)
            assert rate(direction) <= float(constants[head]) * (1 + 1e-6)


@pytest.mark.parametrize(("pattern", "clip"), [("full", 1.0), ("full", 0.3), ("top_k(3)", 0.5)])
def test_the_constant_of_clipped_scores_is_that_of_the_jacobian(pattern: str, clip: float) -> None:
    attention, trace = traced("separate", 1, pattern, score_clip=clip)
    x, i = trace.inputs[0], 4
    score, value = score_matrices(attention, bias=True)[0], value_matrices(attention, bias=True)[0]
    homogeneous = torch.cat([x, torch.ones(len(x), 1, dtype=x.dtype)], 1)

    def moved(weight: Tensor) -> Tensor:
        whole = torch.cat([torch.cat([weight, score[:-1, -1:]], 1), score[-1:]], 0)
        scores = clip * torch.tanh(homogeneous @ whole @ homogeneous[i] / clip)
        torch.testing.assert_close(scores.detach(), trace.scores[0, 0, i], rtol=1e-9, atol=1e-9)
        weights = scores.masked_fill(~trace.kept[0, 0, i], -torch.inf).softmax(0)
        return value @ (weights @ homogeneous)

    jacobian = torch.autograd.functional.jacobian(moved, score[:-1, :-1].detach().clone())
    # a move of W acts through dW x_i: the steepest one is of rank one
    through = torch.einsum("oab,b->oa", jacobian, x[i]) / x[i].square().sum()
    expected = float(torch.linalg.matrix_norm(through, ord=2) * x[i].norm())
    place = QueryPlaces(torch.tensor([0]), torch.tensor([i]))
    plain = value_matrices(attention, bias=False)
    found = float(lambda_w_local(trace, plain, place, clip))
    assert found == pytest.approx(expected, rel=1e-9)
    assert found != pytest.approx(float(lambda_w_local(trace, plain, place)), rel=1e-2)


def test_three_tokens_by_hand() -> None:
    trace = trace_of_scores([[1.0, 0.0, -1.0]] * 3, parse_pattern("full"))
    tokens = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    trace = type(trace)(0, "", tokens[None], trace.scores, trace.kept, trace.weights)
    place = QueryPlaces(torch.tensor([0]), torch.tensor([2]))
    expected = torch.tensor([[0.733139, -0.0757180], [-0.0757180, 0.327700]], dtype=torch.float64)
    torch.testing.assert_close(attended_covariance(trace, place)[0, 0], expected, rtol=0, atol=1e-6)
    value = torch.tensor([[[1.0, 0.0], [0.5, 2.0]]], dtype=torch.float64)
    assert float(lambda_w_local(trace, value, place)) == pytest.approx(1.562747, abs=1e-6)


def test_spectral_norms_of_the_weights() -> None:
    model = small_model(num_heads=2, inverse_temperature=2.0)
    norms = weight_norms(model)
    attention, mlp = model.blocks[1].attention, model.blocks[1].mlp
    with torch.no_grad():
        rows = slice(8, 16)
        query, key, value = (
            torch.cat([each.weight[rows], each.bias[rows, None]], 1)
            for each in (attention.query, attention.key, attention.value)
        )
        expected = {
            "score_norm": key.T @ query * 2.0 / 8**0.5,
            "value_norm": attention.out.weight[:, rows] @ value,
            "expand_norm": torch.cat([mlp.expand.weight, mlp.expand.bias[:, None]], 1),
            "contract_norm": torch.cat([mlp.contract.weight, mlp.contract.bias[:, None]], 1),
        }
    for name, matrix in expected.items():
        assert float(norms[name][1, -1]) == pytest.approx(float(torch.linalg.svdvals(matrix)[0]), rel=1e-12)


def test_matrices_of_another_attention_are_refused() -> None:
    with pytest.raises(ValueError, match="matrices of Linear are unknown"):
        score_matrices(torch.nn.Linear(2, 2), bias=True)


def test_sampled_queries_are_real_spread_over_the_data_and_independent_of_chunks() -> None:
    counted = torch.arange(12) < torch.tensor([[12], [5], [0], [12], [1], [12]])
    sample = sample_queries(counted, 24)
    places = set(zip(sample.sequences.tolist(), sample.positions.tolist(), strict=True))
    assert all(counted[place] for place in places)
    per_sequence = torch.bincount(sample.sequences, minlength=6).tolist()
    assert per_sequence == [4, 4, 0, 4, 1, 4]
    later = sample.between(3, 6)
    assert {(b + 3, i) for b, i in zip(later.sequences.tolist(), later.positions.tolist(), strict=True)} == {
        place for place in places if place[0] >= 3
    }
    few = sample_queries(torch.ones(100, 12, dtype=torch.bool), 10)
    assert few.sequences.tolist() == [0, 11, 22, 33, 44, 55, 66, 77, 88, 99]
    assert len(set(few.positions.tolist())) > 1
