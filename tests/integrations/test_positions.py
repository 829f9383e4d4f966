"""Patterns that count positions: right where a sequence attends to itself, refused where positions mean nothing."""

import copy

import pytest
import torch
from torch import nn

import semfocus
from semfocus import Banded, BlockLocal, Full, Random, TopK, WithGlobals, apply, capture
from semfocus.integrations.mask_conversion import allowed_and_bias

POSITIONAL = [Banded(3), BlockLocal(3), Random(2, fixed=True), WithGlobals(TopK(2), 1)]
causal = nn.Transformer.generate_square_subsequent_mask


def decoder():
    torch.manual_seed(0)
    layer = nn.TransformerDecoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    return nn.TransformerDecoder(layer, 2).double().eval()


def draw(length, seed):
    return torch.randn(2, length, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("pattern", POSITIONAL, ids=str)
def test_the_attention_of_a_decoder_to_its_memory_has_no_positions(pattern):
    model = decoder()
    with pytest.raises(ValueError, match=r"layers.0.multihead_attn .* to another: give layers=\[0, 2\]"):
        apply(model, pattern)
    assert type(model.layers[0].self_attn) is nn.MultiheadAttention


@pytest.mark.parametrize(("pattern", "layers"), [(TopK(2), None), (Banded(3), [0, 2])], ids=str)
def test_later_targets_leave_a_decoder_of_torch_as_it_was(pattern, layers):
    model = decoder()
    apply(model, pattern, layers)
    target, memory = draw(7, 1), draw(5, 2)
    whole, part = (
        model(target[:, :length], memory, tgt_mask=causal(length, dtype=torch.float64)) for length in (7, 4)
    )
    torch.testing.assert_close(whole[:, :4], part, atol=1e-12, rtol=0)


def test_top_k_in_a_decoder_of_torch_by_hand_and_its_gradients():
    model = decoder()
    stock = copy.deepcopy(model)
    apply(model, TopK(2))
    target, memory = draw(6, 1), draw(5, 2)
    with capture(model) as traces:
        captured = model(target, memory, tgt_mask=causal(6, dtype=torch.float64))
    assert [trace.scores.shape[-1] for trace in traces] == [6, 5, 6, 5]
    assert all(int(trace.kept.sum(-1).max()) == 2 for trace in traces)
    output = model(target, memory, tgt_mask=causal(6, dtype=torch.float64))
    torch.testing.assert_close(output, captured)
    # The stock model with everything else masked away is the same function, with the same gradients.
    masks = [
        torch.zeros(trace.kept.shape, dtype=torch.float64).masked_fill(~trace.kept, -torch.inf).flatten(0, 1)
        for trace in traces
    ]
    x = target
    for layer, (own, cross) in zip(stock.layers, zip(masks[::2], masks[1::2], strict=True), strict=True):
        x = layer(x, memory, tgt_mask=own, memory_mask=cross)
    torch.testing.assert_close(output, x)
    found, expected = (
        torch.autograd.grad(each.square().sum(), list(of.parameters()))
        for each, of in ((output, model), (x, stock))
    )
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_a_whole_transformer_of_torch():
    torch.manual_seed(0)
    stock = nn.Transformer(16, 4, 1, 1, 32, dropout=0.0, batch_first=True).double().eval()
    ours = copy.deepcopy(stock)
    source, target = draw(5, 1), draw(6, 2)
    assert len(apply(ours, Full())) == 3
    outputs = [each(source, target, tgt_mask=causal(6, dtype=torch.float64)) for each in (stock, ours)]
    torch.testing.assert_close(outputs[1], outputs[0])
    apply(ours, TopK(2))
    with capture(ours) as traces:
        ours(source, target, tgt_mask=causal(6, dtype=torch.float64))
    assert [int(trace.kept.sum(-1).max()) for trace in traces] == [2, 2, 2]


@pytest.mark.parametrize("pattern", POSITIONAL, ids=str)
def test_other_lengths_of_queries_and_keys_have_no_positions_in_common(pattern):
    layer = semfocus.MultiheadAttention(16, 4, batch_first=True, pattern=pattern).double()
    x = draw(5, 1)
    layer(x, x, draw(5, 2))
    layer(x.transpose(0, 1).transpose(0, 1), x, x)
    with pytest.raises(ValueError, match="which may be two sequences"):
        layer(x, draw(5, 2), draw(5, 2))
    with pytest.raises(ValueError, match="5 queries over 7 keys have none in common"):
        layer(draw(5, 1), draw(7, 2), draw(7, 2))
    with pytest.raises(ValueError, match="puts keys after the last position"):
        semfocus.MultiheadAttention(16, 4, add_zero_attn=True, pattern=pattern)


LEFT = torch.tensor([[False] * 6, [True] * 2 + [False] * 4])


@pytest.mark.parametrize("as_float", [False, True])
def test_padding_must_not_move_what_is_counted(as_float):
    x = draw(6, 1)
    for pattern, padding, message in (
        (BlockLocal(3), LEFT, "counts positions from the first key"),
        (Random(2, fixed=True), LEFT, "counts positions from the first key"),
        (WithGlobals(BlockLocal(2), 1), LEFT, "counts positions from the first key"),
        (WithGlobals(TopK(2), 1), LEFT.flip(1), "the last positions, which are padding"),
        (BlockLocal(3), LEFT.flip(1), None),
        (WithGlobals(TopK(2), 1), LEFT, None),
        (Banded(3), LEFT, None),
    ):
        layer = semfocus.MultiheadAttention(16, 4, batch_first=True, pattern=pattern).double()
        mask = (
            torch.zeros(2, 6, dtype=torch.float64).masked_fill(padding, -torch.inf) if as_float else padding
        )
        if message is not None:
            with pytest.raises(ValueError, match=message):
                layer(x, x, x, key_padding_mask=mask)
            continue
        output = layer(x, x, x, key_padding_mask=mask)[0][1:, ~padding[1]]
        alone = x[1:, ~padding[1]]
        torch.testing.assert_close(output, layer(alone, alone, alone)[0])


@pytest.mark.parametrize("pattern", [Banded(3), BlockLocal(3), TopK(4)], ids=str)
@pytest.mark.parametrize("value", [-torch.inf, torch.finfo(torch.float64).min, -1e9, -1e4])
def test_a_large_negative_number_forbids(pattern, value):
    layer = semfocus.MultiheadAttention(16, 4, batch_first=True, pattern=pattern).double()
    x, forbidden = draw(6, 1), torch.ones(6, 6, dtype=torch.bool).triu(1)
    mask = torch.zeros(6, 6, dtype=torch.float64).masked_fill(forbidden, value)
    expected = layer(x, x, x, attn_mask=forbidden)
    for found, wanted in zip(layer(x, x, x, attn_mask=mask), expected, strict=True):
        torch.testing.assert_close(found, wanted)


def test_what_is_a_bias_stays_one():
    mask = torch.tensor([[-1e9, -1e9 + 5], [-999.0, 0.0], [-1001.0, 0.0]], dtype=torch.float64)
    allowed, bias = allowed_and_bias(mask)
    assert allowed.tolist() == [[True, True], [True, True], [False, True]]
    assert bias.tolist() == [[-1e9, -1e9 + 5], [-999.0, 0.0], [0.0, 0.0]]
    learned = torch.zeros(2, 2, requires_grad=True)
    assert allowed_and_bias(learned)[1] is not None
    half = torch.tensor([[torch.finfo(torch.float16).min] * 2], dtype=torch.float16)
    assert not allowed_and_bias(half)[0].any()
