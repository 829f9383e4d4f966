import math

import pytest
import torch

from semfocus import Banded, Full, TopK, WithGlobals, capture
from semfocus.model import Classifier, ModelConfig


def config(**changes: object) -> ModelConfig:
    values = {"vocab_size": 3, "num_classes": 2, "max_length": 8, "d_model": 8, "d_mlp": 12, "num_blocks": 2}
    return ModelConfig(**(values | changes))


def tokens(batch: int = 3, length: int = 8) -> torch.Tensor:
    return torch.randint(2, (batch, length), generator=torch.Generator().manual_seed(0))


def test_parameter_names_and_shapes_are_those_of_the_contract() -> None:
    model = Classifier(config(num_heads=3))
    shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    block = {
        "attention.query.weight": (24, 8),
        "attention.query.bias": (24,),
        "attention.key.weight": (24, 8),
        "attention.key.bias": (24,),
        "attention.value.weight": (24, 8),
        "attention.value.bias": (24,),
        "attention.out.weight": (8, 24),
        "attention.out.bias": (8,),
        "mlp.expand.weight": (12, 8),
        "mlp.expand.bias": (12,),
        "mlp.contract.weight": (8, 12),
        "mlp.contract.bias": (8,),
    }
    expected = {"embedding.weight": (3, 8), "readout.weight": (2, 8), "readout.bias": (2,)}
    expected |= {f"blocks.{index}.{name}": shape for index in range(2) for name, shape in block.items()}
    assert shapes == expected


def test_joint_projections_have_one_score_and_one_value_matrix_and_no_biases() -> None:
    model = Classifier(config(projections="joint", num_blocks=1))
    names = {name for name, _ in model.named_parameters() if name.startswith("blocks")}
    assert names == {
        "blocks.0.attention.score.weight",
        "blocks.0.attention.value.weight",
        "blocks.0.mlp.expand.weight",
        "blocks.0.mlp.contract.weight",
    }


def test_a_seed_leaves_the_generator_of_others_alone() -> None:
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    seeded = Classifier(config(), seed=5).state_dict()
    assert torch.equal(torch.rand(3), expected)
    again = Classifier(config(), seed=5).state_dict()
    assert all(torch.equal(seeded[name], again[name]) for name in seeded)
    unseeded = [Classifier(config()).readout.weight for _ in range(2)]
    assert not torch.equal(*unseeded), "without a seed it is the generator that decides"


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("projections", ["separate", "joint"])
@pytest.mark.parametrize("activation", ["relu", "gelu", "mish"])
def test_forward_equals_the_paper_written_out(norm: str, projections: str, activation: str) -> None:
    """One block with full attention, in plain formulas."""
    settings = config(
        norm=norm,
        projections=projections,
        activation=activation,
        num_blocks=1,
        dropout=0.0,
        inverse_temperature=2.0,
    )
    model = Classifier(settings).double()
    ids = tokens()
    weights = dict(model.named_parameters())

    def linear(name: str, x: torch.Tensor) -> torch.Tensor:
        bias = weights.get(f"blocks.0.{name}.bias", torch.zeros(1, dtype=x.dtype))
        return x @ weights[f"blocks.0.{name}.weight"].T + bias

    def layer_norm(x: torch.Tensor) -> torch.Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()

    def attend(x: torch.Tensor) -> torch.Tensor:
        if projections == "joint":
            scores = linear("attention.score", x) @ x.transpose(1, 2) * 2.0
            return scores.softmax(-1) @ linear("attention.value", x)
        scores = (
            linear("attention.query", x) @ linear("attention.key", x).transpose(1, 2) * 2.0 / math.sqrt(8)
        )
        return linear("attention.out", scores.softmax(-1) @ linear("attention.value", x))

    def mlp(x: torch.Tensor) -> torch.Tensor:
        hidden = getattr(torch.nn.functional, activation)(linear("mlp.expand", x))
        return linear("mlp.contract", hidden)

    positions = torch.zeros(8, 8)
    for position in range(8):
        for pair in range(4):
            angle = position / 10_000 ** (2 * pair / 8)
            positions[position, 2 * pair], positions[position, 2 * pair + 1] = (
                math.sin(angle),
                math.cos(angle),
            )
    x = weights["embedding.weight"][ids] * math.sqrt(8) + positions
    if norm == "pre":
        x = x + attend(layer_norm(x))
        x = x + mlp(layer_norm(x))
    else:
        x = layer_norm(x + attend(x))
        x = layer_norm(x + mlp(x))
    expected = x.mean(1) @ weights["readout.weight"].T + weights["readout.bias"]
    torch.testing.assert_close(model(ids), expected, rtol=1e-6, atol=1e-6)


def test_heads_are_rows_of_the_projections_one_after_the_other() -> None:
    """Two heads give the sum of two one-head attentions built from their rows."""
    both = Classifier(config(num_heads=2, num_blocks=1, dropout=0.0)).double().blocks[0].attention
    x = torch.randn(2, 5, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    total = both.out.bias.expand(2, 5, 8)
    for head in range(2):
        one = Classifier(config(num_heads=1, num_blocks=1, dropout=0.0)).double().blocks[0].attention
        rows = slice(8 * head, 8 * head + 8)
        with torch.no_grad():
            for name in ("query", "key", "value"):
                getattr(one, name).weight.copy_(getattr(both, name).weight[rows])
                getattr(one, name).bias.copy_(getattr(both, name).bias[rows])
            one.out.weight.copy_(both.out.weight[:, rows])
            one.out.bias.zero_()
        total = total + one(x, None, None)
    torch.testing.assert_close(both(x, None, None), total)


@pytest.mark.parametrize("pattern", ["full", "top_k(3)", "banded(3)", "block_local(3)+G2", "top_p(0.7)"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_padding_changes_nothing(pattern: str, norm: str) -> None:
    model = Classifier(config(pattern=pattern, norm=norm)).eval()
    short = tokens(length=6)
    padded = torch.cat([short, torch.full((3, 2), 2)], dim=1)
    real = torch.arange(8).expand(3, 8) < 6
    torch.testing.assert_close(model(padded, real), model(short))


def test_what_stands_at_a_padded_position_does_not_matter() -> None:
    model = Classifier(config(pattern="top_k(3)")).eval()
    ids, real = tokens(), torch.arange(8).expand(3, 8) < 5
    other = torch.where(real, ids, 1 - ids)
    assert torch.equal(model(ids, real), model(other, real))


def test_global_tokens_are_extra_rows_and_take_part_in_the_mean() -> None:
    model = Classifier(config(pattern=WithGlobals(Banded(3), 2), num_blocks=1, dropout=0.0))
    assert model.embedding.weight.shape == (5, 8)
    ids = tokens()
    embedded = model.embedding(ids)
    assert embedded.shape == (3, 10, 8)
    position = torch.tensor([math.sin(8.0), math.cos(8.0)])  # the first global token stands at max_length
    expected = model.embedding.weight[3, :2] * math.sqrt(8) + position
    torch.testing.assert_close(embedded[0, 8, :2], expected)
    pooled: list[torch.Tensor] = []
    model.readout.register_forward_pre_hook(lambda _, inputs: pooled.append(inputs[0]))
    blocks: list[torch.Tensor] = []
    model.blocks[0].register_forward_hook(lambda _, __, output: blocks.append(output))
    model(ids)
    torch.testing.assert_close(pooled[0], blocks[0].mean(1))


def test_longer_sequences_than_max_length_work() -> None:
    model = Classifier(config(pattern=TopK(3)))
    assert model(tokens(length=50)).shape == (3, 2)


def test_dropout_is_off_in_evaluation_and_follows_the_generator_in_training() -> None:
    model = Classifier(config(dropout=0.5))
    ids = tokens()
    model.eval()
    assert torch.equal(model(ids), model(ids))
    model.train()

    def draw(seed: int) -> torch.Tensor:
        return model(ids, generator=torch.Generator().manual_seed(seed))

    assert torch.equal(draw(0), draw(0))
    assert not torch.equal(draw(0), draw(1))


def test_released_attention_dropout_stays_on_in_evaluation() -> None:
    model = Classifier(config(dropout=0.5, attention_dropout_in_evaluation=True)).eval()
    ids = tokens()
    outputs = [model(ids, generator=torch.Generator().manual_seed(seed)) for seed in (0, 1)]
    assert not torch.equal(*outputs)


def test_released_padding_to_a_multiple_takes_part() -> None:
    """Length 8 padded to 10 with PAD tokens equals feeding those PAD tokens as real ones."""
    released = config(pad_to_multiple=5, padding_takes_part=True)
    model, plain = Classifier(released, seed=1).eval(), Classifier(config(), seed=1).eval()
    ids = tokens()
    padded = torch.cat([ids, torch.full((3, 2), 2)], dim=1)
    torch.testing.assert_close(model(ids), plain(padded))
    masked = Classifier(config(pad_to_multiple=5), seed=1).eval()
    torch.testing.assert_close(masked(ids), plain(ids))


def test_first_norm_eps_concerns_the_first_block_only() -> None:
    model = Classifier(config(first_norm_eps=0.0))
    assert [block.attention_eps for block in model.blocks] == [0.0, 1e-5]
    assert [block.mlp_eps for block in model.blocks] == [1e-5, 1e-5]


def test_initial_weights_of_one_seed_agree_between_patterns() -> None:
    full = Classifier(config(pattern=Full()), seed=7).state_dict()
    with_globals = Classifier(config(pattern=WithGlobals(TopK(2), 1)), seed=7).state_dict()
    for name, tensor in full.items():
        assert torch.equal(tensor, with_globals[name][: len(tensor)]), name
    assert not torch.equal(
        full["readout.weight"], Classifier(config(), seed=8).state_dict()["readout.weight"]
    )


def test_initial_weights_have_the_papers_ranges() -> None:
    state = Classifier(config(d_model=64, d_mlp=32, vocab_size=200), seed=0).state_dict()
    assert state["readout.bias"].abs().max() == 0
    assert 0.095 < state["embedding.weight"].abs().max() <= 0.1
    assert 0.12 < state["blocks.0.attention.key.weight"].abs().max() <= 1 / math.sqrt(64)
    assert 0.17 < state["blocks.0.mlp.contract.weight"].abs().max() <= 1 / math.sqrt(32)


def test_initial_scale_multiplies_one_group_only() -> None:
    plain = Classifier(config(), seed=0).state_dict()
    scaled = Classifier(config(initial_scale={"query_key": 3.0}), seed=0).state_dict()
    for name, tensor in plain.items():
        factor = 3.0 if ".query." in name or ".key." in name else 1.0
        torch.testing.assert_close(scaled[name], factor * tensor)


def test_capture_sees_every_layer_with_its_inputs() -> None:
    model = Classifier(config(pattern=TopK(3), num_heads=2)).eval()
    ids = tokens()
    expected = model(ids)
    with capture(model) as traces:
        torch.testing.assert_close(model(ids), expected)  # the reference runs, which may round differently
    assert [trace.layer for trace in traces] == [0, 1]
    assert [trace.name for trace in traces] == ["blocks.0.attention", "blocks.1.attention"]
    assert traces[0].inputs.shape == (3, 8, 8)
    assert traces[0].scores.shape == traces[0].kept.shape == traces[0].weights.shape == (3, 2, 8, 8)
    assert (traces[0].kept.sum(-1) == 3).all()
    scale = 1 / math.sqrt(8)
    query = model.blocks[0].attention.query(traces[0].inputs)[..., :8]
    key = model.blocks[0].attention.key(traces[0].inputs)[..., :8]
    torch.testing.assert_close(traces[0].scores[:, 0], query @ key.transpose(1, 2) * scale)


def test_wrong_shapes_are_named() -> None:
    model = Classifier(config())
    with pytest.raises(ValueError, match=r"\(3, 8\), \(3, 7\)"):
        model(tokens(), torch.ones(3, 7, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"\(batch, length\)"):
        model(torch.zeros(4, dtype=torch.int64))
