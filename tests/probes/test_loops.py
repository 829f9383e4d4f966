"""Every quantity equals a plain loop over queries and keys, for every pattern, mask and number of heads."""

import numpy as np
import pytest
import torch

from semfocus import probes
from semfocus.mechanisms import Pattern
from tests.probes import loops
from tests.probes.cases import BATCH, KINDS, LENGTH, trace_of

PER_QUERY = (
    "dispersion",
    "dispersion_ratio",
    "separation",
    "separation_ratio",
    "num_kept",
    "retained_mass",
    "entropy",
    "effective_keys",
    "participation",
    "norm_11",
    "norm_22",
    "norm_22_upper",
    "norm_frobenius",
)

every_kind = pytest.mark.parametrize(("pattern", "allowed"), KINDS, ids=lambda each: str(each))
heads_of = pytest.mark.parametrize("heads", [1, 3])


def assert_equal(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-10, equal_nan=True)


@every_kind
@heads_of
def test_quantities_of_a_query(pattern: Pattern, allowed: str, heads: int) -> None:
    trace, _ = trace_of(pattern, allowed, heads)
    for name in PER_QUERY:
        assert_equal(getattr(probes, name)(trace), loops.per_query(trace, getattr(loops, name)))


@every_kind
@heads_of
def test_quantities_of_a_key(pattern: Pattern, allowed: str, heads: int) -> None:
    trace, counted = trace_of(pattern, allowed, heads)
    queries = counted.unsqueeze(1)
    for name in ("key_degree", "key_load", "received_mass"):
        expected = getattr(loops, name)(trace, counted)
        assert_equal(getattr(probes, name)(trace, queries), expected)
        if name != "key_degree":
            assert_equal(getattr(probes, f"largest_{name}")(trace, queries), expected.amax(-1))


@every_kind
@heads_of
def test_focus(pattern: Pattern, allowed: str, heads: int) -> None:
    trace, _ = trace_of(pattern, allowed, heads)
    relevant = torch.rand(BATCH, LENGTH, generator=torch.Generator().manual_seed(2)) < 0.4
    for name, expected in loops.focus(trace, relevant).items():
        assert_equal(getattr(probes, f"focus_{name}")(trace, relevant[:, None, None]), expected)


@every_kind
def test_the_norm_from_linf_to_l1_lies_in_its_bracket(pattern: Pattern, allowed: str) -> None:
    trace, _ = trace_of(pattern, allowed, 2)
    exact = loops.per_query(trace, lambda scores, kept, weights: loops.norm_inf1(weights, kept))
    low, high = probes.norm_inf1(trace)
    exists = ~exact.isnan()
    assert torch.equal(low.isnan(), ~exists)
    assert torch.equal(high.isnan(), ~exists)
    assert (low[exists] <= exact[exists] + 1e-12).all()
    assert (exact[exists] <= high[exists] + 1e-12).all()
    peaked = exists & (trace.weights.amax(-1) >= 0.5)
    assert_equal(low[peaked], exact[peaked])
    assert_equal(high[peaked], exact[peaked])


@every_kind
@heads_of
def test_quantities_of_attended_tokens(pattern: Pattern, allowed: str, heads: int) -> None:
    trace, counted = trace_of(pattern, allowed, heads)
    value = torch.randn(heads, 4, 4, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    queries = probes.QueryPlaces(*counted.nonzero(as_tuple=True))
    found = {
        "covariance": probes.covariance_norm(trace, queries),
        "lambda": probes.lambda_w_local(trace, value, queries),
        "diameter": probes.attended_diameter(trace, queries),
        "worst": probes.lambda_w_worst(trace, value, queries, counted),
    }
    found["bound"] = probes.lambda_w_diameter(trace, value, queries, found["diameter"])
    assert (found["lambda"] <= found["bound"] + 1e-12).all()
    assert (found["bound"] <= found["worst"] + 1e-12).all()
    for number, (b, i) in enumerate(counted.nonzero().tolist()):
        longest = max(float(trace.inputs[b, j].norm()) for j in range(LENGTH) if counted[b, j])
        for h in range(heads):
            cov = loops.covariance(trace, b, h, i)
            matrix, norm = value[h].numpy(), float(trace.inputs[b, i].norm())
            upsilon = np.linalg.norm(matrix, 2)
            diameter = loops.diameter(trace, b, h, i)
            expected = {
                "covariance": np.linalg.norm(cov, 2),
                "lambda": np.linalg.norm(matrix @ cov, 2) * norm,
                "diameter": diameter,
                "worst": upsilon * longest**3,
                "bound": upsilon * norm * diameter**2 / 4,
            }
            for name, wanted in expected.items():
                assert float(found[name][number, h]) == pytest.approx(wanted, rel=1e-10, abs=1e-10), name


@every_kind
def test_mask_agreement(pattern: Pattern, allowed: str) -> None:
    trace, _ = trace_of(pattern, allowed, 2)
    noisy, _ = trace_of(pattern, allowed, 2, seed=9)
    expected = torch.empty(trace.kept.shape[:-1], dtype=torch.float64)
    for b, h, i, _, kept, _ in loops.rows_of(trace):
        both = [one and other for one, other in zip(kept, noisy.kept[b, h, i].tolist(), strict=True)]
        expected[b, h, i] = sum(both) / sum(kept) if any(kept) else loops.NAN
    assert_equal(probes.mask_agreement(trace, noisy), expected)


@pytest.mark.parametrize("length", [1, 2])
def test_very_short_sequences(length: int) -> None:
    trace, _ = trace_of(KINDS[0][0], "everything", 1)
    short = type(trace)(
        0,
        "",
        trace.inputs,
        *(part[..., :length, :length] for part in (trace.scores, trace.kept, trace.weights)),
    )
    short = probes.counterfactual(short, KINDS[0][0])
    for name in PER_QUERY:
        assert_equal(getattr(probes, name)(short), loops.per_query(short, getattr(loops, name)))
