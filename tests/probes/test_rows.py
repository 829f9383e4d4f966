"""`probe_rows`: the right values in the right rows, whatever the chunks."""

import json
from collections.abc import Callable, Iterable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from semfocus import capture, probes
from semfocus.mechanisms import AttentionTrace, ObservableAttention, TopK
from semfocus.probes import NOISE_SIZES, QUANTITIES, probe_rows
from semfocus.probes.summary import QUANTILES
from semfocus.tasks import TASKS
from tests.probes.cases import bits, find, real_tokens, small_model

LENGTHS = torch.tensor([9, 4, 9, 1, 6, 9])
PADDING = torch.arange(9) < LENGTHS.unsqueeze(1)


def traces_of(model: nn.Module, tokens: Tensor, padding: Tensor | None = None) -> list[AttentionTrace]:
    with capture(model.eval()) as traces, torch.no_grad():
        model(tokens, padding)
    return traces


def expect(row: dict, values: list[float]) -> None:
    finite = [value for value in values if np.isfinite(value)]
    assert row["num"] == len(finite)
    assert row["num_infinite"] == sum(np.isinf(values))
    assert row["num_missing"] == sum(np.isnan(values))
    if finite:
        assert row["mean"] == pytest.approx(np.mean(finite), rel=1e-10, abs=1e-10)
        wanted = np.quantile(finite, [each / 100 for each in QUANTILES])
        assert list(row["quantiles"].values()) == pytest.approx(list(wanted), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("pattern", ["full", "top_k(3)", "banded(3)", "top_k(2)+G2"])
def test_rows_hold_the_real_queries_of_their_layer_and_head(pattern: str) -> None:
    model, tokens = small_model(pattern, num_heads=2), bits()
    num_globals = model.config.num_globals
    rows = probe_rows(model, tokens, PADDING, quantities=["dispersion", "separation", "key_degree"], chunk=4)
    everything: dict[str, list[float]] = {"dispersion": [], "separation": []}
    positions = [[*range(length), *range(9, 9 + num_globals)] for length in LENGTHS.tolist()]
    for trace in traces_of(model, tokens, PADDING):
        for head in range(2):
            for name, pool in everything.items():
                values = getattr(probes, name)(trace)[:, head]
                mine = [float(values[b, i]) for b in range(6) for i in positions[b]]
                expect(find(rows, quantity=name, layer=trace.layer, head=head), mine)
                pool += mine
            kept = trace.kept[:, head]
            loads = [
                float(sum(bool(kept[b, i, j]) for i in positions[b])) for b in range(6) for j in positions[b]
            ]
            expect(find(rows, quantity="key_degree", layer=trace.layer, head=head), loads)
    for name, pool in everything.items():
        expect(find(rows, quantity=name, layer=None, head=None), pool)


def test_counterfactual_rows_stand_beside_the_models_own() -> None:
    model, tokens = small_model("full"), bits()
    rows = probe_rows(model, tokens, quantities=["dispersion"], patterns=["top_k(3)", TopK(3), "banded(5)"])
    named = {(row["pattern"], row["counterfactual"]) for row in rows}
    assert named == {("full", False), ("top_k(3)", True), ("banded(5)", True)}
    for trace in traces_of(model, tokens):
        values = probes.dispersion(probes.counterfactual(trace, TopK(3)))[:, 0].flatten().tolist()
        expect(find(rows, layer=trace.layer, head=0, pattern="top_k(3)"), values)


def test_a_counterfactual_of_the_own_pattern_equals_it() -> None:
    model = small_model("top_k(3)", num_heads=2)
    rows = probe_rows(model, bits(), relevant=bits().bool(), patterns=["top_k(3)"])
    for row in rows:
        if row["counterfactual"]:
            own = find(
                rows, **{**{key: row[key] for key in ("quantity", "layer", "head")}, "counterfactual": False}
            )
            assert {**own, "counterfactual": True} == row


def everything(model: nn.Module, chunk: int | None) -> list[dict]:
    tokens = bits()
    return probe_rows(
        model,
        tokens,
        PADDING,
        labels=tokens[:, 0],
        relevant=TASKS["even_pairs"].relevant(tokens) & PADDING,
        patterns=["full", "bottom_k(2)", "top_p(0.6)"],
        chunk=chunk,
    )


def test_the_size_of_chunks_changes_nothing() -> None:
    model = small_model("top_k(3)", num_heads=2)
    reference = everything(model, None)
    assert {row["quantity"] for row in reference} == set(QUANTITIES)
    for chunk in (1, 4):
        rows = everything(model, chunk)
        assert len(rows) == len(reference)
        for row, expected in zip(rows, reference, strict=True):
            for part in ("mean", "null"):
                assert_close([row.pop(part)], [expected[part]])
            assert_close(row.pop("quantiles").values(), expected["quantiles"].values())
            assert row == {key: expected[key] for key in row}


def assert_close(values: Iterable[float | None], expected: Iterable[float | None]) -> None:
    for value, wanted in zip(values, expected, strict=True):
        assert value == (wanted if wanted is None else pytest.approx(wanted, rel=1e-9, abs=1e-10))


def test_rows_are_plain_json_and_finite() -> None:
    for pattern in ("full", "top_k(3)", "banded(2)+G1"):
        tokens = bits()
        rows = probe_rows(
            small_model(pattern), tokens, PADDING, labels=tokens[:, 0], relevant=tokens.bool() & PADDING
        )
        assert json.loads(json.dumps(rows, allow_nan=False)) == rows
        assert all(row["exact"] for row in rows)


def test_values_that_do_not_exist_are_counted() -> None:
    """One of the sequences has no real token: no query of it counts, and no key can be the most loaded one."""
    model, tokens = small_model("top_k(3)"), bits(3, 7)
    rows = probe_rows(
        model, tokens, real_tokens(), quantities=["dispersion", "separation", "largest_key_load"]
    )
    assert find(rows, quantity="dispersion", layer=0)["num"] == 7 + 4
    separation = find(rows, quantity="separation", layer=0)
    assert (separation["num"], separation["num_infinite"]) == (7 + 4, 0)
    load = find(rows, quantity="largest_key_load", layer=0)
    assert (load["num"], load["num_missing"]) == (2, 1)


def test_k_of_at_least_the_length_is_full_attention() -> None:
    model, tokens = small_model("top_k(50)"), bits()
    rows = probe_rows(
        model, tokens, patterns=["full"], quantities=["dispersion", "separation", "gap_density"]
    )
    for own in rows:
        if not own["counterfactual"]:
            other = find(
                rows, quantity=own["quantity"], layer=own["layer"], head=own["head"], counterfactual=True
            )
            assert {**other, "pattern": "top_k(50)", "counterfactual": False} == own
    assert find(rows, quantity="separation", layer=None, counterfactual=False)["num"] == 0


def test_focus_stands_against_chance() -> None:
    tokens = bits()
    relevant = TASKS["even_pairs"].relevant(tokens)
    rows = probe_rows(
        small_model("full"), tokens, relevant=relevant, quantities=["focus_share"], patterns=["top_k(1)"]
    )
    for row in rows:
        assert row["null"] == pytest.approx(2 / 9)
        if row["pattern"] == "full":
            assert row["mean"] == pytest.approx(2 / 9)
    assert not any(row["quantity"] == "focus_chance" for row in rows)


def test_the_gaussian_null_is_that_of_the_pattern() -> None:
    tokens = bits(40)
    rows = probe_rows(
        small_model("full"),
        tokens,
        quantities=["dispersion_ratio", "largest_key_load"],
        patterns=["top_k(2)"],
    )
    assert find(rows, quantity="dispersion_ratio", pattern="full", layer=None)["null"] == pytest.approx(1.0)
    ratio = find(rows, quantity="dispersion_ratio", pattern="top_k(2)", layer=None)["null"]
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(20_000, 9, generator=generator).sort(-1, descending=True).values
    assert ratio == pytest.approx(
        float(((scores[:, 0] - scores[:, 1]) / (scores[:, 0] - scores[:, -1])).mean()), abs=0.03
    )


def test_mask_agreement_falls_with_noise_and_only_for_patterns_of_scores() -> None:
    names = [f"mask_agreement_{size:g}" for size in NOISE_SIZES]
    model, tokens = small_model("top_k(3)"), bits(12)
    rows = probe_rows(model, tokens, quantities=names, patterns=["banded(3)", "random(3)", "full"])
    own = [find(rows, quantity=name, layer=None, pattern="top_k(3)")["mean"] for name in names]
    assert own == sorted(own, reverse=True)
    assert own[0] > 0.98 > own[-1]
    assert all(row["mean"] == 1.0 for row in rows if row["counterfactual"])
    assert not model.embedding._forward_hooks


def test_noise_has_the_size_that_is_asked_for() -> None:
    model, tokens = small_model(), bits()
    seen = []

    def noise(real: Tensor, size: float) -> Tensor:
        with probes.noise.noisy_embedding(model, size, real, 0, 0):
            return model.embedding(tokens) - plain

    plain = model.embedding(tokens).detach()
    added = noise(PADDING, 0.1).detach()
    for b, length in enumerate(LENGTHS.tolist()):
        seen.append(float(added[b].std() / plain[b, :length].square().mean().sqrt()))
    assert seen == pytest.approx([0.1] * 6, rel=0.3)
    assert np.mean(seen) == pytest.approx(0.1, rel=0.1)
    torch.testing.assert_close(noise(PADDING, 0.2).detach(), 2 * added)


def test_gradient_norms_of_each_group() -> None:
    model, tokens = small_model("top_k(3)"), bits()
    labels = tokens[:, 0]
    names = [name for name in QUANTITIES if "gradient_norm" in name]
    rows = probe_rows(model, tokens, PADDING, labels=labels, quantities=names, chunk=4)
    parameters = dict(model.named_parameters())
    loss = nn.functional.cross_entropy
    single = []
    model.eval()
    for b in range(6):
        value = loss(model(tokens[b : b + 1], PADDING[b : b + 1]), labels[b : b + 1])
        single.append(
            dict(zip(parameters, torch.autograd.grad(value, list(parameters.values())), strict=True))
        )
    groups: dict[str, Callable[[str], bool]] = {
        "embedding": lambda name: name.startswith("embedding"),
        "query_key": lambda name: ".query." in name or ".key." in name,
        "value_out": lambda name: ".value." in name or ".out." in name,
        "mlp": lambda name: ".mlp." in name,
        "readout": lambda name: name.startswith("readout"),
    }
    for group, belongs in groups.items():
        mine = [name for name in parameters if belongs(name)]
        norms = [sum(float(each[name].square().sum()) for name in mine) ** 0.5 for each in single]
        expect(find(rows, quantity=f"gradient_norm_{group}", layer=None), norms)
        mean = {name: sum(each[name] for each in single) / 6 for name in mine}
        norm = sum(float(each.square().sum()) for each in mean.values()) ** 0.5
        assert find(rows, quantity=f"mean_gradient_norm_{group}", layer=None)["mean"] == pytest.approx(norm)
        if group == "mlp":
            part = (
                sum(float(each.square().sum()) for name, each in mean.items() if name.startswith("blocks.1."))
                ** 0.5
            )
            assert find(rows, quantity="mean_gradient_norm_mlp", layer=1)["mean"] == pytest.approx(part)
    assert all(parameter.grad is None for parameter in parameters.values())


def test_the_model_is_as_it_was() -> None:
    model = small_model("top_k(3)", dropout=0.5)
    model.train()
    model.blocks[0].eval()
    modes = [module.training for module in model.modules()]
    one, other = (probe_rows(model, bits(), quantities=["dispersion"]) for _ in range(2))
    assert one == other, "dropout is off"
    assert [module.training for module in model.modules()] == modes
    assert all(not module.listeners for module in model.modules() if isinstance(module, ObservableAttention))


class OwnLayer(ObservableAttention):
    """Somebody else's causal attention, without a dimension for heads."""

    def __init__(self) -> None:
        super().__init__()
        self.pattern = TopK(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.attend(x, x, x, x, self.pattern, causal=True)


def test_a_model_of_ones_own_is_probed_as_far_as_it_is_known() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(2, 4), OwnLayer()).double()
    rows = probe_rows(model, bits(), patterns=["full"])
    assert {row["pattern"] for row in rows} == {"top_k(2)", "full"}
    separation = find(rows, quantity="separation", layer=0, pattern="top_k(2)")
    assert separation["num_infinite"] == 2 * 6, "the first two queries see no more than two keys"
    assert not {"score_norm", "lambda_w_local"} & {row["quantity"] for row in rows}
    with pytest.raises(ValueError, match="lambda_w_local needs attention layers of"):
        probe_rows(model, bits(), quantities=["lambda_w_local"])


def test_attention_maps_are_those_of_the_trace() -> None:
    trace = traces_of(small_model(num_heads=2), bits())[1]
    found = probes.attention_map(trace, 3, 1)
    assert (found.layer, found.sample, found.head) == (1, 3, 1)
    for name in ("scores", "weights", "kept"):
        assert torch.equal(getattr(found, name), getattr(trace, name)[3, 1])
    with pytest.raises(ValueError, match="has 6 of sample, counted from 0; got 6"):
        probes.attention_map(trace, 6)
