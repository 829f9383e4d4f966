"""Full attention as sharp as top-k, and top-k as spread out as full attention: what exactly is matched."""

import pytest
import torch

from semfocus import capture
from semfocus.kernels.cpu.library import without_kernels
from semfocus.mechanisms import BottomK, Full, TopK, TopP
from semfocus.model import Classifier, LanguageModel, ModelConfig
from semfocus.model.block import Block
from semfocus.model.matching import LARGEST_FACTOR, dispersion_factors, entropy_factors
from semfocus.model.self_attention import SelfAttention

LENGTH, WIDTH, K = 12, 6, 3


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def normal(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=seeded(seed)).to(dtype)


def everything(scores):
    return torch.ones_like(scores, dtype=torch.bool)


def padded(scores):
    """Rows of a batch with 1 to all of the keys."""
    number = torch.arange(scores.shape[0]).view(-1, 1, 1, 1) % scores.shape[-1] + 1
    return (torch.arange(scores.shape[-1]) < number).expand(scores.shape)


def causal(scores):
    return everything(scores).tril()


def effective(scores, keys):
    """exp(entropy) of the softmax over these keys, in float64, by the definition."""
    weights = scores.double().masked_fill(~keys, -torch.inf).softmax(-1)
    return (-(weights * weights.clamp(min=1e-300).log()).sum(-1)).exp()


SCORES = {
    "as untrained": 0.2 * normal(25, 2, 16, 16),
    "long": 0.3 * normal(2, 1, 100, 300, seed=1),
    "peaked": 5.0 * normal(25, 1, 16, 16, seed=2),
    "very peaked": 100.0 * normal(25, 1, 16, 16, seed=3),
    "nearly uniform": 7.0 + 0.01 * normal(25, 1, 16, 16, seed=4),
    "heavy tails": 0.1 * normal(25, 1, 16, 16, seed=5) ** 5,
    "float64": 0.2 * normal(25, 1, 16, 16, seed=6, dtype=torch.float64),
    "a bit of each": torch.tensor([0.01, 0.2, 1.0, 20.0]).view(4, 1, 1, 1) * normal(4, 2, 40, 40, seed=7),
}


@pytest.mark.parametrize("allow", [everything, padded, causal])
@pytest.mark.parametrize("pattern", [TopK(5), TopK(1), TopK(15), TopP(0.5), BottomK(5)], ids=str)
@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES.keys())
def test_full_attention_gets_the_effective_number_of_keys_of_another_pattern(scores, pattern, allow):
    if allow is causal:
        scores = scores[..., :16, :16]
    allowed = allow(scores)
    kept = pattern.keep(scores, allowed)
    factors = entropy_factors(scores, allowed, kept)
    assert factors.shape == (*scores.shape[:-1], 1)
    assert factors.dtype == scores.dtype
    wanted, own = effective(scores, kept), effective(factors.double() * scores.double(), allowed)
    limited = (factors == LARGEST_FACTOR).squeeze(-1)
    assert ((wanted - own).abs() <= (3e-6 * wanted).clamp(min=1e-4))[~limited].all()
    assert (limited & (wanted > 1.01)).double().mean() < 0.05  # one key alone is often out of reach
    assert (own >= wanted)[limited].all()  # not sharp enough, and never too sharp
    if not isinstance(pattern, BottomK):  # its keys are not the heaviest, so full attention may be sharper
        assert (factors >= 1).all()
    alike = (kept == allowed).all(-1)
    assert (factors.squeeze(-1)[alike] == 1).all()
    assert alike.any() == (allow is not everything)


def test_what_cannot_be_matched_has_a_factor_of_1():
    scores = normal(6, 8)
    scores[0] = 3.0  # constant
    scores[1, 4] = torch.nan
    scores[2, 4] = torch.inf
    allowed = everything(scores)
    allowed[3] = False
    allowed[4, 2:] = False  # fewer than k
    scores[5] = torch.tensor([2.0, 2.0, 2.0, 2.0, -torch.inf, 1.0, 1.0, 1.0])
    kept = TopK(3).keep(scores, allowed)
    assert entropy_factors(scores, allowed, kept).flatten().tolist() == [1.0] * 6
    dispersions = dispersion_factors(scores, allowed, kept, allowed).flatten()
    assert dispersions.tolist() == [1.0] * 6


def test_ties_among_the_best_keys_are_as_sharp_as_they_can_be():
    """Four equal best keys of which top-k keeps three: full attention can have no less than four."""
    scores = torch.tensor([[1.0, 1.0, 1.0, 1.0, 0.0, 0.0], [2.0, 1.0, 1.0, 1.0, 1.0, 0.0]])
    allowed = everything(scores)
    kept = TopK(3).keep(scores, allowed)
    tied, reachable = entropy_factors(scores, allowed, kept).flatten().tolist()
    assert tied == LARGEST_FACTOR
    assert reachable < LARGEST_FACTOR
    own = effective(torch.tensor([[tied], [reachable]]) * scores, allowed)
    assert own.tolist() == pytest.approx([4.0, float(effective(scores, kept)[1])], abs=1e-4)


def test_by_hand():
    """Two keys of which top-1 keeps one: as sharp as the limit allows; three at 0, -t, -t against two of them."""
    scores = torch.tensor([[0.0, -1.0]], dtype=torch.float64)
    kept = torch.tensor([[True, False]])
    factor = float(entropy_factors(scores, everything(scores), kept))
    assert 9 < factor < 20  # an entropy below the tolerance of 5e-5 (1 + 11) e^-11 is
    scores = torch.tensor([[0.0, -1.0, -1.0]], dtype=torch.float64)
    kept = torch.tensor([[True, True, False]])
    target = float(effective(scores, kept))
    assert target == pytest.approx(1.7899, abs=1e-4)  # of the masses 0.7311, 0.2689
    factor = float(entropy_factors(scores, everything(scores), kept))
    mass = 1 / (1 + 2 * torch.tensor(-factor).exp())
    rest = (1 - mass) / 2
    entropy = -(mass * mass.log() + 2 * rest * rest.log())
    assert float(entropy.exp()) == pytest.approx(target, abs=1e-4)


def test_the_factor_of_a_row_does_not_depend_on_the_others():
    scores = SCORES["as untrained"]
    allowed = everything(scores)
    kept = TopK(5).keep(scores, allowed)
    whole = entropy_factors(scores, allowed, kept)
    part = entropy_factors(scores[3:4], allowed[3:4], kept[3:4])
    torch.testing.assert_close(part, whole[3:4], rtol=1e-5, atol=0)


@pytest.mark.parametrize("allow", [everything, padded, causal])
@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES.keys())
def test_kept_scores_get_the_dispersion_of_all(scores, allow):
    if allow is causal:
        scores = scores[..., :16, :16]
    allowed = allow(scores)
    kept = TopK(5).keep(scores, allowed)
    factors = dispersion_factors(scores, allowed, kept, Full().keep(scores, allowed)).double().squeeze(-1)

    def spread(keys):
        largest = scores.double().masked_fill(~keys, -torch.inf).amax(-1)
        return largest - scores.double().masked_fill(~keys, torch.inf).amin(-1)

    matched = factors < LARGEST_FACTOR
    torch.testing.assert_close(
        (factors * spread(kept))[matched], spread(allowed)[matched], rtol=1e-5, atol=1e-6
    )
    assert matched.double().mean() > 0.9  # heavy tails have a crowd of nearly equal scores
    assert (factors >= 1).all()
    assert (factors[(kept == allowed).all(-1)] == 1).all()


def test_one_kept_key_has_no_dispersion_and_nearly_equal_ones_a_limited_factor():
    scores = torch.tensor([[1.0, 1.0 - 1e-6, -5.0]], dtype=torch.float64)
    allowed = everything(scores)
    for k, factor in ((1, 1.0), (2, LARGEST_FACTOR), (3, 1.0)):
        kept = TopK(k).keep(scores, allowed)
        assert float(dispersion_factors(scores, allowed, kept, allowed)) == factor


def config(**changes):
    sizes = {"vocab_size": 5, "num_classes": 3, "max_length": LENGTH, "d_model": WIDTH, "d_mlp": 8}
    return ModelConfig(**sizes | {"dropout": 0.0, "num_blocks": 2} | changes)


MATCHED = [
    {"match_entropy": f"top_k({K})"},
    {"match_entropy": f"top_k({K})", "inverse_temperature": 4.0, "num_heads": 2},
    {"pattern": f"top_k({K})", "match_dispersion": "full"},
    {"pattern": f"top_k({K})", "match_dispersion": "full", "num_heads": 2, "causal": True},
    {"match_entropy": f"top_k({K})", "causal": True, "num_heads": 2},
    {"match_entropy": f"top_k({K})", "match_keeps_gradient": True, "num_heads": 2},
    {"pattern": f"top_k({K})", "match_dispersion": "full", "match_keeps_gradient": True},
]


def layer_of(changes):
    torch.manual_seed(0)
    return SelfAttention(config(**changes)).double()


def padding():
    mask = torch.ones(3, 1, 1, LENGTH, dtype=torch.bool)
    mask[1, ..., 7:] = False
    return mask


def raw_scores(layer, x, mask):
    """What the layer would compare without any factor: (batch, heads, L, L), -inf where not allowed."""
    heads = layer.config.num_heads
    query, key = (each(x).unflatten(2, (heads, WIDTH)).transpose(1, 2) for each in (layer.query, layer.key))
    scores = query @ key.transpose(-2, -1) * layer.config.inverse_temperature / WIDTH**0.5
    allowed = torch.ones(LENGTH, LENGTH, dtype=torch.bool)
    allowed = allowed.tril() if layer.config.causal else allowed
    return scores.masked_fill(~(allowed if mask is None else allowed & mask), -torch.inf)


def by_bisection(scores, target):
    """Independent of the solver: 200 halvings in float64."""
    low, high = torch.full_like(target, 1e-3), torch.full_like(target, 1e3)
    allowed = scores > -torch.inf
    for _ in range(200):
        middle = (low + high) / 2
        flat = effective(middle.unsqueeze(-1) * scores.masked_fill(~allowed, 0.0), allowed) > target
        low, high = torch.where(flat, middle, low), torch.where(flat, high, middle)
    return low


@pytest.mark.parametrize("changes", MATCHED, ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_a_layer_follows_the_formula_with_the_factor_as_a_constant(changes, masked):
    layer, mask = layer_of(changes), padding() if masked else None
    x = normal(3, LENGTH, WIDTH, seed=1, dtype=torch.float64).requires_grad_()
    scores = raw_scores(layer, x, mask)
    allowed, plain = scores > -torch.inf, scores.detach()
    kept = TopK(K).keep(plain, allowed)
    if layer.config.match_entropy:
        factor = by_bisection(plain, effective(plain, kept)).masked_fill((kept == allowed).all(-1), 1.0)
        kept = allowed
    else:
        whole = plain.amax(-1) - plain.masked_fill(~allowed, torch.inf).amin(-1)
        own = plain.amax(-1) - plain.masked_fill(~kept, torch.inf).amin(-1)
        factor = torch.where(own > 0, whole / own, 1.0)
    assert factor.max() > 1.5
    visible = scores.masked_fill(~kept, 0.0)
    sharper = factor.unsqueeze(-1) * visible
    if layer.config.match_keeps_gradient:  # the same numbers, with the gradient of the plain scores
        sharper = visible + (sharper - visible).detach()
    weights = sharper.masked_fill(~kept, -torch.inf).softmax(-1)
    heads = layer.config.num_heads
    mixed = weights @ layer.value(x).unflatten(2, (heads, WIDTH)).transpose(1, 2)
    expected = layer.out(mixed.transpose(1, 2).flatten(2))
    actual = layer(x, mask, None)
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
    up = normal(*actual.shape, seed=2, dtype=torch.float64)
    found = [torch.autograd.grad(each, [x, *layer.parameters()], up) for each in (actual, expected)]
    for ours, right in zip(*found, strict=True):
        torch.testing.assert_close(ours, right, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("changes", MATCHED, ids=str)
def test_a_trace_shows_the_scores_that_the_softmax_saw(changes):
    torch.manual_seed(0)
    model = (LanguageModel if changes.get("causal") else Classifier)(config(**changes), seed=0)
    tokens = torch.randint(4, (5, LENGTH), generator=seeded())
    real = torch.ones_like(tokens, dtype=torch.bool)
    real[2, 7:] = False
    with capture(model) as traces, torch.no_grad():
        seen = model(tokens, real)
        torch.testing.assert_close(seen, model(tokens, real))
        for block, each in zip(model.blocks, traces, strict=False):
            plain = raw_scores(block.attention, each.inputs, real[:, None, None, :])
            allowed = each.scores > -torch.inf
            assert torch.equal(allowed, plain > -torch.inf)
            kept = TopK(K).keep(plain, allowed)
            if model.config.match_entropy:
                assert (each.kept == allowed).all()
                own, wanted = effective(each.scores, allowed), effective(plain, kept)
                limited = (each.scores / plain)[..., 0].abs() > 0.9 * LARGEST_FACTOR
                assert limited.double().mean() < 0.05
            else:
                assert (each.kept.sum(-1) == allowed.sum(-1).clamp(max=K)).all()
                own = each.scores.amax(-1) - each.scores.masked_fill(~each.kept, torch.inf).amin(-1)
                wanted = plain.amax(-1) - plain.masked_fill(~allowed, torch.inf).amin(-1)
                limited = wanted == 0
            torch.testing.assert_close(own[~limited], wanted[~limited].to(own.dtype), rtol=1e-4, atol=1e-4)
            visible = each.scores.masked_fill(~each.kept, -torch.inf)
            torch.testing.assert_close(each.weights, visible.softmax(-1))


@pytest.mark.parametrize("changes", [*MATCHED[:3], *MATCHED[5:]], ids=str)
def test_the_kernels_and_pytorch_agree_and_the_fused_block_steps_aside(changes):
    layer = Block(config(**changes), is_first=True).double()
    x = normal(3, LENGTH, WIDTH, seed=1, dtype=torch.float64).requires_grad_()
    with torch.no_grad():
        assert not layer._can_be_fused(x, None)
    up = normal(3, LENGTH, WIDTH, seed=2, dtype=torch.float64)
    ours = torch.autograd.grad(layer(x, None, None), [x, *layer.parameters()], up)
    with without_kernels():
        right = torch.autograd.grad(layer(x, None, None), [x, *layer.parameters()], up)
    for each, expected in zip(ours, right, strict=True):
        torch.testing.assert_close(each, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"match_entropy": "top_k(5)", "pattern": "top_k(3)"}, "sharpens full attention, got pattern top_k"),
        ({"match_entropy": "full"}, "match_entropy=full is what pattern full has already"),
        ({"match_entropy": "top_k(5)", "projections": "joint"}, "needs projections='separate'"),
        ({"match_entropy": "top_k(5)", "score_clip": 1.0}, "got score_clip=1"),
        ({"match_entropy": "top_k(5)+G1"}, r"does not go with global tokens, got top_k\(5\)\+G1"),
        ({"match_entropy": "random(5)"}, r"chooses the same keys again, got random\(5\)"),
        ({"match_entropy": "tip_k(5)"}, "did you mean 'top_k'"),
        ({"match_dispersion": "top_k(5)"}, "leaves keys out, got pattern full"),
        ({"match_dispersion": "full", "pattern": "banded(3)+G1"}, r"global tokens, got banded\(3\)\+G1"),
        ({"match_dispersion": "full", "pattern": "random(3)"}, r"same keys again, got random\(3\)"),
        ({"match_keeps_gradient": True}, "needs match_entropy or match_dispersion"),
        (
            {"match_keeps_gradient": True, "match_entropy": "top_k(5)", "score_gradient": 2.0},
            "got score_gradient=2",
        ),
        (
            {"match_dispersion": "full", "match_entropy": "top_k(5)", "pattern": "top_k(3)"},
            "choose one",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(changes, message):
    with pytest.raises(ValueError, match=message) as caught:
        config(**changes)
    assert len(caught.value.errors()) == 1
    assert "\n" not in caught.value.errors()[0]["msg"]
