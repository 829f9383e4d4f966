import pytest
import torch
from torch import Tensor

from semfocus import capture
from semfocus.kernels.cpu.library import has_kernels, without_kernels
from semfocus.mechanisms import native
from semfocus.model import Classifier, LanguageModel, ModelConfig, block

PATTERNS = (
    *("full", "banded(5)", "block_local(4)", "top_k(3)", "bottom_k(3)"),
    *("random(3)", "random(3,fixed)", "top_p(0.5)"),
)


def model_of(pattern: str, **changes: object) -> LanguageModel:
    sizes = {
        "vocab_size": 12,
        "num_classes": 11,
        "max_length": 16,
        "d_model": 8,
        "d_mlp": 16,
        "num_blocks": 2,
    }
    config = ModelConfig(**{**sizes, "num_heads": 2, "pattern": pattern, "causal": True} | changes)
    return LanguageModel(config, seed=3).eval()


def logits_of(model: LanguageModel, tokens: Tensor) -> Tensor:
    return model(tokens, generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_later_tokens_change_no_bit_of_earlier_logits(pattern: str, kernels: bool) -> None:
    model = model_of(pattern)
    tokens = torch.randint(11, (3, 16), generator=torch.Generator().manual_seed(1))
    changed = tokens.clone()
    changed[:, 9:] = (changed[:, 9:] + 1) % 11
    if kernels:
        first, second = logits_of(model, tokens), logits_of(model, changed)
    else:
        with without_kernels():
            first, second = logits_of(model, tokens), logits_of(model, changed)
    assert first.shape == (3, 16, 11)
    assert torch.equal(first[:, :9], second[:, :9])
    assert not torch.equal(first[:, 9:], second[:, 9:])


@pytest.mark.parametrize("pattern", PATTERNS)
def test_gradients_reach_no_earlier_logits(pattern: str) -> None:
    """The backward pass is causal too: the loss at the first positions has no gradient in later tokens' embeddings."""
    model = model_of(pattern)
    tokens = torch.arange(11).unsqueeze(0)  # every token once, so rows of the embedding are positions
    logits_of(model, tokens)[:, :5].square().sum().backward()
    moved = model.embedding.weight.grad.abs().sum(1)[:11] > 0
    assert moved.tolist() == [True] * 5 + [False] * 6


@pytest.mark.skipif(not has_kernels(), reason="no compiled kernels")
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(
    "norm", ["pre", "post"]
)  # the fused block is pre-norm, post-norm calls attention itself
def test_kernels_compute_what_the_reference_does(
    pattern: str, norm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(pattern, norm=norm).double()
    tokens = torch.randint(11, (3, 16), generator=torch.Generator().manual_seed(1))
    calls: list[bool] = []
    for module, name in ((block, "fused_block"), (native, "attend")):
        original = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args, run=original: calls.append(True) or run(*args))

    def results() -> tuple[Tensor, ...]:
        model.zero_grad()
        logits = logits_of(model, tokens)
        logits.square().sum().backward()
        return logits.detach(), *(each.grad.clone() for each in model.parameters())

    fast = results()
    assert calls or pattern.startswith("top_p"), "causal calls must not fall back"
    with capture(model) as traces:
        slow = results()
    assert len(traces) == 2
    assert not torch.triu(traces[0].weights, diagonal=1).any()
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, other)


def test_padding_is_not_attended_to() -> None:
    model = model_of("top_k(3)")
    tokens = torch.randint(11, (2, 8), generator=torch.Generator().manual_seed(1))
    real = torch.ones_like(tokens, dtype=torch.bool)
    real[0, :3] = False
    changed = tokens.clone()
    changed[0, :3] = 0
    first, second = model(tokens, real), model(changed, real)
    assert torch.equal(first[0, 3:], second[0, 3:])


def test_parameters_are_those_of_a_classifier() -> None:
    model = model_of("full")
    other = Classifier(model.config, seed=3)
    assert model.state_dict().keys() == other.state_dict().keys()
    assert all(torch.equal(model.state_dict()[name], each) for name, each in other.state_dict().items())


def test_what_cannot_be_causal_is_refused() -> None:
    with pytest.raises(ValueError, match="global tokens"):
        model_of("banded(5)+G1")
    with pytest.raises(ValueError, match="causal=True"):
        model_of("full", causal=False)
    with pytest.raises(ValueError, match="batch, length"):
        model_of("full")(torch.zeros(3, dtype=torch.int64))
