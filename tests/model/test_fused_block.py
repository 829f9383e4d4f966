"""The fused block against the plain one: outputs, all gradients, the same random numbers."""

import itertools

import pytest
import torch

from semfocus import capture
from semfocus.kernels.cpu.library import load_library, without_kernels
from semfocus.model import Classifier, ModelConfig, block
from semfocus.model.block import Block
from semfocus.randomness import stream

pytestmark = pytest.mark.skipif(
    load_library() is None, reason="the kernels were not compiled (no C++ compiler)"
)

PATTERNS = (
    "full",
    "top_k(3)",
    "bottom_k(2)",
    "banded(4)",
    "block_local(3)",
    "random(2)",
    "banded(4)+G1",
    "random(2,fixed)",
)


def config(**changes):
    return ModelConfig(
        **{"vocab_size": 5, "num_classes": 3, "max_length": 11, "d_model": 8, "d_mlp": 12} | changes
    )


def results(layer, x, mask):
    x = x.clone().requires_grad_()
    output = layer(x, mask, stream(0, "noise"))
    upstream = torch.randn(output.shape, dtype=x.dtype, generator=torch.Generator().manual_seed(1))
    return [output, *torch.autograd.grad(output, [x, *layer.parameters()], upstream)]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_equals_the_plain_block(pattern, heads, dropout):
    layer = Block(
        config(pattern=pattern, num_heads=heads, dropout=dropout, inverse_temperature=2.0), is_first=True
    )
    layer.double()
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(4, 11, 8, dtype=torch.float64, generator=generator)
    padding = torch.rand(4, 1, 1, 11, generator=generator) > 0.3
    for mask, training in itertools.product((None, padding), (True, False)):
        layer.train(training)
        actual = results(layer, x, mask)
        with without_kernels():
            expected = results(layer, x, mask)
        for right, ours in zip(expected, actual, strict=True):
            assert (right - ours).abs().max() <= 1e-12 * right.abs().max().clamp(
                min=0.1
            )  # the key bias has no gradient
        with torch.no_grad():
            assert torch.equal(layer(x, mask, stream(0, "noise")), actual[0])


def test_a_model_learns_the_same_with_and_without_kernels():
    """Ten steps in float64: losses agree to rounding, so nothing is drawn or scaled differently anywhere."""
    losses = []
    for plain in (False, True):
        model = Classifier(config(pattern="top_k(3)", dropout=0.1), seed=0).double()
        optimiser = torch.optim.SGD(model.parameters(), lr=0.5)
        tokens = torch.randint(4, (16, 11), generator=torch.Generator().manual_seed(0))
        labels = tokens.sum(1) % 3
        for step in range(10):
            noise = stream(0, "noise", step)
            if plain:
                with without_kernels():
                    loss = torch.nn.functional.cross_entropy(model(tokens, generator=noise), labels)
                    optimiser.zero_grad()
                    loss.backward()
            else:
                loss = torch.nn.functional.cross_entropy(model(tokens, generator=noise), labels)
                optimiser.zero_grad()
                loss.backward()
            optimiser.step()
            losses.append(loss.item())
    assert losses[10:] == pytest.approx(losses[:10], rel=1e-10)
    assert losses[9] < losses[0]


@pytest.mark.parametrize(
    ("changes", "fused"),
    [
        ({}, True),
        ({"pattern": "top_k(3)"}, True),
        ({"pattern": "top_p(0.5)"}, False),
        ({"pattern": "top_k(3)+G1"}, False),
        ({"norm": "post"}, False),
        ({"activation": "gelu"}, False),
        ({"projections": "joint"}, False),
    ],
)
def test_what_is_fused(changes, fused, monkeypatch):
    calls = []
    fast = block.fused_block
    monkeypatch.setattr(block, "fused_block", lambda *inputs: calls.append(1) or fast(*inputs))
    model = Classifier(config(**changes))
    tokens = torch.zeros(2, 11, dtype=torch.int64)
    model(tokens).sum().backward()
    assert len(calls) == (model.config.num_blocks if fused else 0)
    calls.clear()
    with capture(model) as traces, torch.no_grad():
        model(tokens)
    assert len(traces) == model.config.num_blocks
    assert not calls


def test_a_second_derivative_is_refused_in_words():
    layer = Block(config(pattern="top_k(3)"), is_first=True)
    x = torch.randn(1, 11, 8, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"without_kernels\(\)"):
        torch.autograd.grad(layer(x, None, None).sum(), x, create_graph=True)


def test_it_steps_aside_for_what_it_cannot_read():
    """Hooks, other types, other layouts: PyTorch's own layers decide, with their own errors."""
    layer = Block(config(pattern="top_k(3)"), is_first=True)
    x = torch.randn(2, 11, 8)
    assert layer._can_be_fused(x, None)
    assert not layer._can_be_fused(x.double(), None)
    assert not layer._can_be_fused(x, torch.ones(2, 1, 1, 11))
    with torch.autocast("cpu", torch.bfloat16):
        assert not layer._can_be_fused(x, None)
        assert layer(x, None, None).isfinite().all()
    with pytest.raises(RuntimeError):
        layer(x.double(), None, None)
    heard = []
    hook = layer.mlp.expand.register_forward_hook(lambda *inputs: heard.append(1))
    layer(x, None, None)
    assert heard == [1]
    hook.remove()
    assert layer._can_be_fused(x, None)
    layer.attention.query.weight = torch.nn.Parameter(torch.randn(8, 8).t())
    assert not layer._can_be_fused(x, None)


def test_a_backward_pass_runs_where_its_forward_pass_did():
    layer = Block(config(pattern="top_k(3)"), is_first=True)
    x = torch.randn(1, 11, 8, requires_grad=True)
    output = layer(x, None, None).sum()
    with without_kernels():
        output.backward()
    assert x.grad is not None
