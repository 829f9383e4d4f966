"""row_stats against a plain double loop, and every edge: ties, empty rows, masked keys, batches, chunks."""

import math

import numpy as np
import pytest

from semfocus.theory import row_statistics, row_stats, topk_support


def plain(scores: np.ndarray, kept: np.ndarray) -> dict[str, list]:
    found: dict[str, list] = {"dispersion": [], "separation": [], "p_max": [], "p_last": [], "kept_mass": []}
    for row, flags in zip(scores, kept, strict=True):
        own = [z for z, flag in zip(row, flags, strict=True) if flag]
        rest = [z for z, flag in zip(row, flags, strict=True) if not flag and z > -math.inf]
        total = sum(math.exp(z) for z in own)
        found["dispersion"].append(max(own) - min(own))
        found["separation"].append(min(own) - max(rest) if rest else math.inf)
        found["p_max"].append(math.exp(max(own)) / total)
        found["p_last"].append(math.exp(min(own)) / total)
        found["kept_mass"].append(total / (total + sum(math.exp(z) for z in rest)))
    return found


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_equals_a_plain_loop(dtype: type) -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(7, 9)).astype(dtype)
    scores[rng.random(scores.shape) < 0.2] = -np.inf
    scores[:, 0] = 0.5
    for kept in (
        topk_support(scores, 3),
        np.isfinite(scores),
        np.isfinite(scores) & (rng.random(scores.shape) < 0.6),
    ):
        kept[:, 0] = True
        found = row_stats(scores, kept)
        for name, expected in plain(scores.astype(np.float64), kept).items():
            np.testing.assert_allclose(found[name], expected, rtol=1e-12, err_msg=name)
        np.testing.assert_array_equal(found["n"], kept.sum(1))
        np.testing.assert_array_equal(found["in_degree"], kept.sum(0))
        weights = np.where(kept, np.exp(scores.astype(np.float64)), 0)
        weights /= weights.sum(1, keepdims=True)
        np.testing.assert_allclose(found["col_mass"], weights.sum(0), rtol=1e-12)
        assert found["beta"] == kept.sum(0).max() / kept.sum(1).max()


def test_a_batch_is_its_matrices_and_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(1).normal(size=(3, 2, 5, 6))
    kept = topk_support(scores, 2)
    whole = row_stats(scores, kept)
    monkeypatch.setattr(row_statistics, "_CHUNK", 17)
    for name, values in row_stats(scores, kept).items():
        np.testing.assert_allclose(values, whole[name], err_msg=name)
        for at in np.ndindex(3, 2):
            np.testing.assert_allclose(whole[name][at], row_stats(scores[at], kept[at])[name], err_msg=name)


def test_ties_empty_rows_and_nothing_masked() -> None:
    scores = np.array([[1.0, 1.0, 0.0], [1.0, 2.0, 3.0], [-np.inf, 1.0, 2.0]])
    kept = np.array([[True, False, False], [False, False, False], [False, True, True]])
    found = row_stats(scores, kept)
    assert found["separation"][0] == 0, "a tie at the boundary"
    assert found["empty"].tolist() == [False, True, False]
    assert found["n"].tolist() == [1, 0, 2]
    for name in ("dispersion", "separation", "p_max", "p_last", "kept_mass"):
        assert np.isnan(found[name]).tolist() == [False, True, False]
    assert found["separation"][2] == np.inf, "a key that is not allowed does not compete"
    assert found["kept_mass"][2] == 1
    assert found["col_mass"].sum() == pytest.approx(2), "an empty row gives nothing"
    assert row_stats(scores, np.array([[False, True, False]] * 3))["separation"][1] == -1, "not the top k"


def test_huge_scores_do_not_overflow() -> None:
    found = row_stats(np.array([[1000.0, -1000.0, 5000.0]]), np.array([[True, True, False]]))
    assert found["dispersion"] == 2000
    assert found["kept_mass"] == 0
    assert found["col_mass"].tolist() == [1, 0, 0]


def test_top_k_keeps_the_first_of_equal_scores_and_never_a_forbidden_one() -> None:
    scores = np.array([[0.0, 1, 1, 1, 0], [-np.inf, -np.inf, 2, -np.inf, -np.inf], [-np.inf] * 5])
    assert topk_support(scores, 2).tolist() == [
        [False, True, True, False, False],
        [False, False, True, False, False],
        [False] * 5,
    ]
    assert topk_support(scores[:1], 9).all()
    many = topk_support(np.tile([1.0, 0.0], 300)[None], 40)[0]
    assert np.flatnonzero(many).tolist() == list(range(0, 80, 2)), (
        "also where sorts of long rows are not stable"
    )


@pytest.mark.parametrize(
    ("scores", "support", "message"),
    [
        ([[1.0, math.nan]], [[True, True]], "scores must not be NaN"),
        ([[1.0, math.inf]], [[True, False]], r"scores must not be \+inf"),
        ([[1.0, -math.inf]], [[True, True]], "support keeps a key whose score is -inf"),
        ([[1.0, 2.0]], [[1, 1]], "support must be boolean of shape"),
        ([[1.0, 2.0]], [[True]], "support must be boolean of shape"),
        ([1.0, 2.0], [True, True], "queries, keys"),
        (np.ones((2, 0)), np.ones((2, 0), bool), "at least one of each"),
    ],
)
def test_nonsense_is_named(scores: list, support: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        row_stats(scores, support)


def test_top_k_of_nonsense() -> None:
    with pytest.raises(ValueError, match="scores must not be NaN"):
        topk_support([[1.0, math.nan]], 1)
    with pytest.raises(ValueError, match="k must be at least 1"):
        topk_support([[1.0]], 0)
