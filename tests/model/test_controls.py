"""The controls that separate causes: a factor on the gradient of the scores, and scores within limits."""

import math

import pytest
import torch

from semfocus import capture
from semfocus.kernels.cpu.library import without_kernels
from semfocus.mechanisms import TopK
from semfocus.model import Classifier, ModelConfig
from semfocus.model.block import Block
from semfocus.model.self_attention import JointSelfAttention, SelfAttention, with_gradient_times

LENGTH, WIDTH = 7, 6


def config(**changes):
    sizes = {"vocab_size": 5, "num_classes": 3, "max_length": LENGTH, "d_model": WIDTH, "d_mlp": 8}
    return ModelConfig(**sizes | {"dropout": 0.0, "num_blocks": 2} | changes)


def layer_of(projections, **changes):
    torch.manual_seed(0)
    kind = JointSelfAttention if projections == "joint" else SelfAttention
    return kind(config(projections=projections, **changes)).double()


def numbers(*shape, seed=1):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def dense(layer, x, mask, scores_of):
    """The formula written out, for one head; `scores_of` makes of the raw products what the softmax sees."""
    config = layer.config
    if config.projections == "joint":
        query, key, value = layer.score(x), x, layer.value(x)
        scale = config.inverse_temperature
    else:
        query, key, value = layer.query(x), layer.key(x), layer.value(x)
        scale = config.inverse_temperature / math.sqrt(config.d_model)
    scores = scores_of(query @ key.transpose(1, 2) * scale)
    if mask is not None:
        scores = scores.masked_fill(~mask.squeeze(1), -torch.inf)
    kept = torch.ones_like(scores, dtype=torch.bool)
    if isinstance(config.pattern, TopK):
        kept = torch.zeros_like(kept).scatter(-1, scores.topk(config.pattern.k, dim=-1).indices, True)
    weights = scores.masked_fill(~kept, -torch.inf).softmax(-1)
    mixed = weights @ value
    return mixed if config.projections == "joint" else layer.out(mixed)


def gradients(output, layer, x):
    return torch.autograd.grad(output, [x, *layer.parameters()], numbers(*output.shape, seed=2))


def padding():
    mask = torch.ones(3, 1, 1, LENGTH, dtype=torch.bool)
    mask[1, ..., 4:] = False
    return mask


@pytest.mark.parametrize("projections", ["separate", "joint"])
@pytest.mark.parametrize("pattern", ["full", "top_k(3)"])
@pytest.mark.parametrize("masked", [False, True])
class TestOneHead:
    def test_clipped_scores_follow_the_dense_formula(self, projections, pattern, masked):
        clip = 0.5
        layer = layer_of(projections, pattern=pattern, score_clip=clip)
        x = numbers(3, LENGTH, WIDTH).requires_grad_()
        mask = padding() if masked else None
        actual = layer(x, mask, None)
        expected = dense(layer, x, mask, lambda scores: clip * torch.tanh(scores / clip))
        torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-14)
        plain = dense(layer, x, mask, lambda scores: scores)
        assert (plain - expected).abs().max() > 1e-3  # the clip matters here
        found = gradients(actual, layer, x), gradients(expected, layer, x)
        for ours, right in zip(*found, strict=True):
            torch.testing.assert_close(ours, right, rtol=1e-10, atol=1e-13)

    def test_the_gradient_of_the_scores_is_divided_and_nothing_else(self, projections, pattern, masked):
        """Against a formula in which the scores themselves, not queries and keys, carry the factor."""
        layer = layer_of(projections, pattern=pattern, inverse_temperature=10.0, score_gradient=0.1)
        x = numbers(3, LENGTH, WIDTH).requires_grad_()
        mask = padding() if masked else None

        def divided(scores):
            scores = scores.clone()
            scores.register_hook(lambda gradient: gradient * 0.1)
            return scores

        actual, expected = layer(x, mask, None), dense(layer, x, mask, divided)
        torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-14)
        found = gradients(actual, layer, x), gradients(expected, layer, x)
        for ours, right in zip(*found, strict=True):
            torch.testing.assert_close(ours, right, rtol=1e-10, atol=1e-13)
        whole = gradients(dense(layer, x, mask, lambda scores: scores), layer, x)
        names = ["x", *(name for name, _ in layer.named_parameters())]
        for name, ours, right in zip(names, found[0], whole, strict=True):
            if name.startswith(("query", "score")):
                torch.testing.assert_close(ours, 0.1 * right, rtol=1e-10, atol=1e-13)
            elif name.startswith(("value", "out")):
                torch.testing.assert_close(ours, right, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("pattern", ["full", "top_k(3)", "banded(3)"])
def test_the_forward_pass_is_the_same_bit_for_bit(heads, pattern):
    sizes = {"pattern": pattern, "num_heads": heads, "dropout": 0.1, "inverse_temperature": 10.0}
    plain, control = (Classifier(config(**sizes, score_gradient=factor), seed=0) for factor in (1.0, 0.1))
    tokens = torch.randint(4, (5, LENGTH), generator=torch.Generator().manual_seed(0))
    with without_kernels():  # training on PyTorch's operations, where neither is fused
        both = [model(tokens, generator=torch.Generator().manual_seed(3)) for model in (plain, control)]
    assert torch.equal(*both)
    with torch.no_grad():  # evaluation, where both are
        assert torch.equal(plain.eval()(tokens), control.eval()(tokens))
    torch.testing.assert_close(*both)


def test_the_kernels_and_pytorch_divide_alike():
    layer = Block(config(score_gradient=0.25, num_heads=2, inverse_temperature=4.0), is_first=True).double()
    x = numbers(3, LENGTH, WIDTH).requires_grad_()
    ours = gradients(layer(x, None, None), layer, x)
    with without_kernels():
        right = gradients(layer(x, None, None), layer, x)
    for each, expected in zip(ours, right, strict=True):
        torch.testing.assert_close(each, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("changes", [{"score_gradient": 0.5}, {"score_clip": 1.0}])
def test_the_fused_block_steps_aside(changes):
    x = torch.randn(2, LENGTH, WIDTH)
    control = Block(config(**changes), is_first=True)
    assert not control._can_be_fused(x, None)
    with torch.no_grad():  # without a gradient there is nothing to divide
        fused = control._can_be_fused(x, None)
        assert fused == ("score_gradient" in changes and Block(config(), True)._can_be_fused(x, None))


@pytest.mark.parametrize("pattern", ["full", "top_k(3)"])
@pytest.mark.parametrize("projections", ["separate", "joint"])
def test_a_trace_shows_the_scores_that_the_softmax_saw(pattern, projections):
    clip = 0.3
    model = Classifier(
        config(pattern=pattern, projections=projections, score_clip=clip, inverse_temperature=50.0), seed=0
    )
    tokens = torch.randint(4, (5, LENGTH), generator=torch.Generator().manual_seed(0))
    real = torch.ones_like(tokens, dtype=torch.bool)
    real[2, 4:] = False
    with capture(model) as traces:
        seen = model(tokens, real)
    assert torch.equal(seen, model(tokens, real))
    assert len(traces) == 2
    for each in traces:
        allowed = each.scores > -torch.inf
        assert torch.equal(allowed, real[:, None, None, :].expand_as(allowed))
        assert each.scores[allowed].abs().max() <= clip
        assert each.scores[allowed].abs().max() > 0.9 * clip  # so much sharper, they reach the limit
        assert (each.scores < clip).any()
        visible = each.scores.masked_fill(~each.kept, -torch.inf)
        torch.testing.assert_close(each.weights, visible.softmax(-1))


def test_scores_far_beyond_the_limit_keep_the_dispersion_within_twice_the_clip():
    layer = layer_of("separate", score_clip=1.5)
    with capture(layer) as (traces), torch.no_grad():
        layer(1e6 * numbers(1, LENGTH, WIDTH), None, None)
    scores = traces[0].scores
    assert (scores.amax(-1) - scores.amin(-1)).max() <= 3.0
    assert scores.isfinite().all()


def test_a_gradient_twice_and_by_transforms():
    x = numbers(4).requires_grad_()

    def cubed(x):
        return (with_gradient_times(x, 0.5) ** 3).sum()

    (first,) = torch.autograd.grad(cubed(x), x, create_graph=True)
    torch.testing.assert_close(first, 1.5 * x**2)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second, 1.5 * x)  # each way back takes its own half
    torch.testing.assert_close(torch.func.grad(cubed)(x.detach()), 1.5 * x.detach() ** 2)
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(cubed))(x.detach()[:, None])[:, 0], first)
