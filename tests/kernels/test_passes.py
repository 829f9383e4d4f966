"""The passes of a block: the compiled ones against PyTorch's own operations, outputs and gradients."""

import pytest
import torch

from semfocus.kernels.cpu.layout import INSTRUCTION_SETS
from semfocus.kernels.cpu.library import load_library, without_kernels
from semfocus.kernels.cpu.passes import add_dropped, add_dropped_and_norm, dropped_relu, norm
from semfocus.randomness import stream

LIBRARY = load_library()
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="the kernels were not compiled (no C++ compiler)")

RATES = (0.0, 0.01, 0.5)
PASSES = {
    "norm": lambda x, y, rate: norm(x, 1e-5),
    "add_dropped": lambda x, y, rate: add_dropped(x, y, rate, stream(0, "noise")),
    "add_dropped_and_norm": lambda x, y, rate: add_dropped_and_norm(x, y, rate, 1e-5, stream(0, "noise")),
    "the sum alone": lambda x, y, rate: add_dropped_and_norm(x, y, rate, 1e-5, stream(0, "noise"))[0],
    "the norm alone": lambda x, y, rate: add_dropped_and_norm(x, y, rate, 1e-5, stream(0, "noise"))[1],
    "dropped_relu": lambda x, y, rate: dropped_relu(x * 1.0, rate, stream(0, "noise")),
    "dropped_relu of a leaf": lambda x, y, rate: dropped_relu(x, rate, stream(0, "noise")),
}


@pytest.fixture(params=INSTRUCTION_SETS)
def instruction_set(request, monkeypatch):
    """Every instruction set that this machine has."""
    if INSTRUCTION_SETS.index(request.param) > INSTRUCTION_SETS.index(LIBRARY.best):
        pytest.skip(f"this machine has no {request.param}")
    monkeypatch.setattr(LIBRARY, "instruction_set", request.param)


def results(function, x, y, rate):
    leaves = [x.clone().requires_grad_(), y.clone().requires_grad_()]
    outputs = function(*leaves, rate)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    upstream = [
        torch.randn(each.shape, dtype=each.dtype, generator=torch.Generator().manual_seed(index))
        for index, each in enumerate(outputs)
    ]
    gradients = torch.autograd.grad(outputs, leaves, upstream, allow_unused=True)
    return [each for each in (*outputs, *gradients) if each is not None]


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("width", [1, 7, 64, 100])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-5)])
def test_equals_pytorch(name, width, rate, dtype, tolerance):
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(3, 11, width, dtype=dtype, generator=generator) for _ in range(2))
    actual = results(PASSES[name], x, y, rate)
    with without_kernels():
        expected = results(PASSES[name], x, y, rate)
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", PASSES)
def test_the_number_of_threads_changes_no_bit(name):
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(50, 40, 64, generator=generator) for _ in range(2))
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = results(PASSES[name], x, y, 0.1)
        torch.set_num_threads(2)
        two = results(PASSES[name], x, y, 0.1)
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(left, right) for left, right in zip(one, two, strict=True))


def test_nan_is_not_hidden_and_what_is_dropped_reaches_nothing():
    x = torch.tensor([[1.0, torch.nan, -1.0]])
    assert dropped_relu(x.clone(), 0.0, None).isnan().tolist() == [[False, True, False]]
    assert norm(x, 1e-5).isnan().all()
    places = add_dropped(torch.zeros(1, 1000), torch.ones(1, 1000), 0.3, stream(0, "noise")) == 0
    poisoned = torch.ones(1, 1000).masked_fill(places, torch.nan)
    assert add_dropped(torch.zeros(1, 1000), poisoned, 0.3, stream(0, "noise")).isfinite().all()


def test_a_second_derivative_is_refused_in_words_and_possible_without_kernels():
    x = torch.randn(2, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    with pytest.raises(RuntimeError, match=r"without_kernels\(\)"):
        torch.autograd.grad(norm(x, 1e-5).pow(2).sum(), x, create_graph=True)
    with without_kernels():
        assert torch.autograd.gradgradcheck(lambda each: norm(each, 1e-5), x)
