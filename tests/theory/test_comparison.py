"""The comparisons of bounds: which implies which, where they change sides, and the published table."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

from semfocus.theory import (
    PUBLISHED_K,
    PUBLISHED_TABLE,
    c2_min_w,
    c2_min_x,
    compare,
    compare_numbers,
    gaussian_null,
    lhs_w,
    lhs_x,
    log_lambda_w,
    log_lambda_x_published,
    maxform_margin,
    route_a,
    route_b,
    row_stats,
    topk_support,
)
from tests.theory.search import dispersions, searched


def numbers(rng: np.random.Generator, num: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    full = 10 ** rng.uniform(-1, 2, num)
    return full, full * rng.uniform(0, 1.3, num), 10 ** rng.uniform(-9, 1, num), rng.uniform(0, 20, num)


@searched(scale=st.just(1))
def test_the_left_hand_sides_say_which_published_bound_is_smaller(
    rng: np.random.Generator, num: int, scale: int
) -> None:
    full, kept, gap, load = numbers(rng, num)
    smaller = log_lambda_w(1.0, 1.0, kept, 5, gap, kind="published") < log_lambda_w(
        1.0, 1.0, full, 40, kind="published"
    )
    left = lhs_w(full, kept, gap)
    clear = np.abs(left - 1) > 1e-9
    np.testing.assert_array_equal((left < 1)[clear], smaller[clear])
    load = 1 + load
    g = full / 2
    smaller = log_lambda_x_published(1.0, g, 1.0, kept, gap, load) < log_lambda_x_published(1.0, g, 1.0, full)
    left = lhs_x(full, kept, gap, load)
    clear = np.abs(left - 1) > 1e-9
    np.testing.assert_array_equal((left < 1)[clear], smaller[clear])


@searched(scale=st.just(1))
def test_the_smallest_c2_is_where_the_left_hand_side_crosses_one(
    rng: np.random.Generator, num: int, scale: int
) -> None:
    full, kept, _, load = numbers(rng, num)
    for left, least in (
        (lambda gap: lhs_w(full, kept, gap), c2_min_w(full, kept / full)),
        (lambda gap: lhs_x(full, kept, gap, load), c2_min_x(full, kept / full, load)),
    ):
        reachable = np.isfinite(least) & (least > 1e-280)
        gap = np.where(reachable, least, 1.0) * full
        assert (left(gap * 1.001)[reachable] < 1).all()
        assert (left(gap * 0.999)[reachable] > 1).all()
        assert (left(np.full(num, 1e12))[np.isinf(least)] >= 1 - 1e-9).all()


@searched(scale=st.just(1))
def test_the_published_condition_implies_the_max_form_and_not_the_reverse(
    rng: np.random.Generator, num: int, scale: int
) -> None:
    full, kept, gap, _ = numbers(rng, num)
    published, maxform = lhs_w(full, kept, gap) < 1, maxform_margin(full, kept, gap) < 0
    assert (published <= maxform).all()
    assert maxform_margin(9.44, 5.5, 0.002) < 0
    assert lhs_w(9.44, 5.5, 0.002) > 1


@searched(full=dispersions, kept=dispersions, k=st.integers(1, 20), longer=st.integers(1, 600))
def test_the_exact_comparison_is_never_won_below_a_separation_of_two(
    rng: np.random.Generator, num: int, full: float, kept: float, k: int, longer: int
) -> None:
    topk, everything = route_b(full + 1e-3, kept, rng.uniform(0, 2, num), k, k + longer)
    assert (topk >= everything).all()
    assert everything <= 1
    topk, everything = route_a(full + 1e-3, kept, rng.uniform(0, 2, num), k, k + longer)
    assert everything <= (k + longer) / 2 + 1e-9
    assert (topk >= 1).all()


def test_extremes_of_the_comparisons() -> None:
    assert lhs_w(5, 2, 0) == lhs_x(5, 2, 0, 1) == lhs_w(5, 2, -1) == math.inf
    assert lhs_w(5, 2, math.inf) == pytest.approx((2 + math.log(2)) / 5)
    assert math.isfinite(lhs_x(5, 2, 0.1, 0))
    assert lhs_w(math.inf, 2, 0.1) == lhs_x(math.inf, 2, 0.1, 1) == 0
    assert lhs_w(math.inf, math.inf, 0.1) == math.inf
    assert maxform_margin(5, 2, 0) == maxform_margin(math.inf, 2, 0) == math.inf
    assert c2_min_w(2, 0.7) == c2_min_w(1, 1.5) == math.inf
    assert 0 <= c2_min_w(3000, 0.1) < 1e-300
    assert 0 <= c2_min_x(3000, 0.1, 2) < 1e-300
    assert c2_min_x(3000, 2.0, 2) == math.inf
    assert c2_min_w(math.inf, 0.1) == c2_min_x(math.inf, 0.1, 1) == c2_min_x(math.inf, 0.99, 0) == 0
    for ratio, load in ((1, 1), (2, 1), (0.1, math.inf)):
        assert c2_min_x(math.inf, ratio, load) == lhs_x(math.inf, ratio * math.inf, 1, load) == math.inf
    assert c2_min_w(math.inf, 1) == c2_min_w(math.inf, 2) == math.inf
    assert route_a(3, 3, math.inf, 5, 5) == pytest.approx([route_a(3, 3, 0, 9, 5)[1]] * 2)
    assert route_b(3, 1, 0, 5, 40)[0] == math.inf
    assert c2_min_w(np.array([[5.0], [9.0]]), np.array([0.1, 0.2, 0.3])).shape == (2, 3)


def test_a_tie_of_exact_constants_is_no_win() -> None:
    for length in range(12, 400):
        for separation in (4 / length, 2 / (length * 0.5)):
            topk, full = route_a(8.0, 3.0, separation, 5, length)
            assert topk == pytest.approx(full, rel=1e-14)
            assert compare_numbers(8.0, 3.0, separation, None, 5, length)["exact"]["a"] is False
    assert route_a(8.0, 3.0, 0.1, 5, 40) == (20.0, 20.0)
    for length, spread in ((40, 8.0), (3, 0.1), (5, 0.01), (7, 0.2), (9, 0.05)):
        kappa = float(route_b(spread, 0.0, 1.0, 1, length)[1])
        topk, full = route_b(spread, 0.0, 2 / kappa, 1, length)
        assert topk == pytest.approx(full, rel=1e-14)
        assert compare_numbers(spread, 0.0, 2 / kappa, None, 1, length)["exact"]["b"] is False
        assert compare_numbers(spread, 0.0, 2.01 / kappa, None, 1, length)["exact"]["b"] is True


@pytest.mark.parametrize("function", [lhs_w, lambda *a: lhs_x(*a, 1), maxform_margin])
def test_nonsense_is_named(function) -> None:
    for arguments, message in (
        ((0, 1, 1), "ds must be greater than 0"),
        ((-1, 1, 1), "ds must be greater than 0"),
        ((1, -1, 1), "dh must be at least 0"),
        ((1, 1, math.nan), "sep must not be NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            function(*arguments)


def test_the_published_table_and_its_counts() -> None:
    columns = [
        compare_numbers(
            cell.dispersion_full, cell.dispersion_topk, cell.separation, cell.beta, PUBLISHED_K, cell.length
        )
        for cell in PUBLISHED_TABLE
    ]
    assert len(columns) == 16
    assert sum(each["published"]["w"] for each in columns) == 8
    assert [each["published"]["w"] for each in columns] == [each["published"]["x"] for each in columns]
    assert sum(each["maxform"]["w"] for each in columns) == 13
    assert sum(each["exact"]["a"] for each in columns) == 1
    assert sum(each["exact"]["b"] for each in columns) == 0


def stats(seed: int, k: int | None) -> dict:
    scores = 3 * np.random.default_rng(seed).normal(size=(10, 30, 30))
    kept = np.ones(scores.shape, bool) if k is None else topk_support(scores, k)
    return row_stats(scores, kept)


def test_compare_takes_what_row_stats_gives() -> None:
    full, topk = stats(0, None), stats(1, 4)
    found = compare(full, topk, 4, 30, quantiles=(50, 90))
    assert [column["quantile"] for column in found["columns"]] == [50, 90, 100]
    worst = found["columns"][-1]
    assert worst["dispersion_full"] == full["dispersion"].max()
    assert worst["separation"] == topk["separation"].min()
    assert worst["beta"] == topk["in_degree"].max() / 4
    half = found["columns"][0]
    assert half["separation"] == pytest.approx(np.median(topk["separation"]))
    assert half["published"]["lhs_w"] == lhs_w(
        half["dispersion_full"], half["dispersion_topk"], half["separation"]
    )
    assert half["local"] is None
    assert found["null"]["c1"] == pytest.approx(gaussian_null(30, 4)["c1"], rel=0.05)


@pytest.mark.parametrize("length", [16, 40])
def test_noise_has_the_ratio_of_noise_at_every_quantile(length: int) -> None:
    scores = np.random.default_rng(7).standard_normal((20_000, length))
    everything = row_stats(scores, np.ones(scores.shape, bool))
    found = compare(everything, row_stats(scores, topk_support(scores, 5)), 5, length, (50, 75, 90, 95))
    for column in found["columns"]:
        few = 0.15 if column["quantile"] == 100 else 0.03  # the extremes of two samples differ
        assert column["c1"] == pytest.approx(column["null_c1"], rel=few), column["quantile"]
    at_75 = found["columns"][1]
    assert at_75["c1"] > 1.1 * found["null"]["c1"], "a ratio of means is no yardstick for one of quantiles"


def test_compare_knows_local_constants_quantiles_and_missing_values() -> None:
    full = {"dispersion": {50: 4.0, 100: 9.0}, "lambda_w_local": {50: 0.2, 100: 0.4}}
    topk = {
        "dispersion": np.array([1.0, np.nan, 2.0]),
        "separation": np.array([0.1, np.nan, np.inf]),
        "key_load": [1.5, 2.0],
        "lambda_w_local": {50: 0.1, 100: 0.5},
    }
    half, worst = compare(full, topk, 2, 6, quantiles=(50,))["columns"]
    assert half["dispersion_topk"] == 1.5
    assert half["separation"] == 0.1, "the lower of two neighbours, one of which is infinite"
    assert worst["beta"] == 2
    assert half["local"] == {"lambda_w": [0.1, 0.2], "w": True}
    assert worst["local"]["w"] is False
    for change, message in (
        ({"dispersion": [np.nan]}, "dispersion has no value at all"),
        ({"dispersion": {50: 1.0}}, "dispersion has no value at 100 %, only at 50"),
    ):
        with pytest.raises(ValueError, match=message):
            compare(full, topk | change, 2, 6, quantiles=(50,))
    with pytest.raises(ValueError, match="the statistics need 'separation'"):
        compare(full, {"dispersion": [1.0]}, 2, 6, quantiles=(50,))


def test_shares_of_an_infinite_dispersion_are_refused() -> None:
    with pytest.raises(ValueError, match="the dispersion of full attention must be finite"):
        compare_numbers(math.inf, math.inf, 1.0, None, 5, 40)
