import itertools

import pytest
import torch
from scipy import stats

from semfocus.randomness import add_dropped, derive_seed, drop, stream


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


def test_adding_what_dropout_leaves_equals_dropping_and_adding() -> None:
    x = torch.randn(
        50, 40, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True
    )
    y = torch.randn(
        50, 40, generator=torch.Generator().manual_seed(1), dtype=torch.float64, requires_grad=True
    )
    for probability in (0.0, 0.01, 0.5):
        fused = add_dropped(x, y, probability, stream(0, "noise"))
        plain = x + drop(y, probability, stream(0, "noise"))
        torch.testing.assert_close(fused, plain)
        upstream = torch.randn(50, 40, dtype=torch.float64)
        for left, right in zip(
            torch.autograd.grad(fused, (x, y), upstream),
            torch.autograd.grad(plain, (x, y), upstream),
            strict=True,
        ):
            torch.testing.assert_close(left, right)


def test_dropout_has_exact_first_and_second_derivatives() -> None:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
    y = torch.randn(
        5, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64, requires_grad=True
    ).T
    for function in (
        lambda a, b: drop(a * b, 0.4, stream(0, "noise")) ** 2,
        lambda a, b: add_dropped(a, b, 0.4, stream(0, "noise")) ** 2,
    ):
        assert torch.autograd.gradcheck(function, (x, y))
        assert torch.autograd.gradgradcheck(function, (x, y))


def test_a_value_that_is_dropped_reaches_nothing_even_if_it_is_not_finite() -> None:
    places = drop(torch.ones(1000), 0.3, stream(0, "noise")) == 0
    poisoned = torch.ones(1000).masked_fill(places, torch.nan)
    assert drop(poisoned, 0.3, stream(0, "noise")).isfinite().all()
