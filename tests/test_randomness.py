import itertools

import pytest
import torch
from scipy import stats

from semfocus.randomness import all_places, derive_seed, draws, drop, stream


def test_seeds_never_change_between_releases() -> None:
    """Stored runs resume from these numbers."""
    assert derive_seed(0, "train") == 3168021335108090602
    assert derive_seed(7, "order", 3) == 2396369170524145093


def test_seed_stream_and_step_all_matter() -> None:
    asked = list(itertools.product([0, 1, 11, -1], ["a", "b", "1", "1/1", "a/1", ""], [0, 1, 11]))
    assert len({derive_seed(*each) for each in asked}) == len(asked)


def test_seeds_fit_in_63_bits_and_fill_them() -> None:
    seeds = [derive_seed(0, "order", step) for step in range(1000)]
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert max(seeds) >= 2**62
    assert stats.kstest([seed / 2**63 for seed in seeds], "uniform").pvalue > 1e-3


def test_a_stream_starts_anew_each_time() -> None:
    first, again = (torch.rand(5, generator=stream(3, "order", 2)) for _ in range(2))
    assert torch.equal(first, again)


@pytest.mark.parametrize("other", [(4, "order", 2), (3, "dropout", 2), (3, "order", 3)])
def test_other_streams_give_other_numbers(other: tuple[int, str, int]) -> None:
    first, second = (torch.rand(5, generator=stream(*each)) for each in ((3, "order", 2), other))
    assert not torch.equal(first, second)


def test_a_stream_is_the_generator_of_its_seed_on_the_device_asked_for() -> None:
    generator = stream(3, "order", 2, torch.device("cpu"))
    assert generator.initial_seed() == derive_seed(3, "order", 2)
    assert generator.device == torch.device("cpu")


def test_the_global_generator_is_left_alone() -> None:
    before = torch.get_rng_state()
    torch.rand(5, generator=stream(0, "order"))
    assert torch.equal(torch.get_rng_state(), before)


def test_draws_depend_on_seed_row_and_column_and_on_nothing_else() -> None:
    rows, columns = all_places(torch.Size((50, 40)), torch.device("cpu"))
    everything = draws(7, rows, columns)
    assert torch.equal(everything[10:20, 5:], draws(7, rows[10:20], columns[5:]))
    assert not torch.equal(everything, draws(8, rows, columns))
    assert len(everything.unique()) == everything.numel()
    # Computed with unlimited integers, by hand as it were.
    key = (7 + (3 + 1) * 0x9E3779B97F4A7C15) % 2**64
    key = ((key ^ (key >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    key = ((key ^ (key >> 27)) * 0x94D049BB133111EB) % 2**64
    key ^= key >> 31
    mixed = (5 * 0x9E3779B1 + key) % 2**32
    mixed = ((mixed ^ (mixed >> 16)) * 0x21F0AAAD) % 2**32
    mixed = (((mixed ^ (mixed >> 15)) + (key >> 32)) * 0x735A2D97) % 2**32
    assert int(everything[3, 5]) == mixed ^ (mixed >> 15)


@pytest.mark.parametrize("seed", [0, 1, 2**62 - 1])
def test_draws_are_uniform_and_unrelated_between_neighbours(seed: int) -> None:
    uniform = draws(seed, *all_places(torch.Size((500, 400)), torch.device("cpu"))).double() / 2**32
    count = uniform.numel()
    counts = torch.histc(uniform, 64, 0, 1)
    chi_square = ((counts - count / 64) ** 2 / (count / 64)).sum()
    assert 20 < chi_square < 120  # 63 degrees of freedom; outside once in 10^5
    centred = uniform - 0.5
    other = draws(seed + 1, *all_places(torch.Size((500, 400)), torch.device("cpu"))).double() / 2**32 - 0.5
    for left, right in (
        (centred[:, 1:], centred[:, :-1]),
        (centred[1:], centred[:-1]),
        (centred[:, 64:], centred[:, :-64]),
        (centred, other),
    ):
        correlation = 12 * (left * right).mean()
        assert abs(correlation) < 5 / left.numel() ** 0.5
    # Each bit of a draw is set half of the time.
    bits = draws(seed, *all_places(torch.Size((500, 400)), torch.device("cpu"))).flatten()
    for bit in range(32):
        assert abs((bits >> bit & 1).double().mean() - 0.5) < 5 * 0.5 / count**0.5


def test_dropout_has_exact_first_and_second_derivatives() -> None:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
    y = torch.randn(
        5, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64, requires_grad=True
    ).T

    def function(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return drop(a * b, 0.4, stream(0, "noise")) ** 2

    assert torch.autograd.gradcheck(function, (x, y))
    assert torch.autograd.gradgradcheck(function, (x, y))


def test_a_value_that_is_dropped_reaches_nothing_even_if_it_is_not_finite() -> None:
    places = drop(torch.ones(1000), 0.3, stream(0, "noise")) == 0
    poisoned = torch.ones(1000).masked_fill(places, torch.nan)
    assert drop(poisoned, 0.3, stream(0, "noise")).isfinite().all()
