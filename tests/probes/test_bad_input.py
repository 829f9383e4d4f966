"""What cannot be probed is refused with a clear word."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from semfocus import probes
from semfocus.mechanisms import AttentionTrace, Full, TopK, attention
from semfocus.probes import probe_rows
from tests.mechanisms.cases import inputs
from tests.probes.cases import bits, small_model, trace_of

PER_TRACE = (
    "dispersion",
    "dispersion_ratio",
    "separation",
    "separation_ratio",
    "num_kept",
    "key_degree",
    "key_load",
    "received_mass",
    "retained_mass",
    "entropy",
    "effective_keys",
    "participation",
    "norm_11",
    "norm_22",
    "norm_frobenius",
    "token_norm",
)


@pytest.mark.parametrize("name", PER_TRACE)
@pytest.mark.parametrize(("score", "what"), [(math.nan, "NaN"), (math.inf, r"\+inf")])
def test_scores_that_are_not_numbers_name_their_layer(name: str, score: float, what: str) -> None:
    trace, _ = trace_of(TopK(2), "everything", 1)
    scores = trace.scores.clone()
    scores[1, 0, 2, 3] = score
    with pytest.raises(ValueError, match=rf"layer 2 \(blocks\.2\.attention\): scores are {what}"):
        getattr(probes, name)(replace(trace, scores=scores))


def test_a_model_with_nan_scores_names_the_layer() -> None:
    model = small_model()
    model.blocks[0].register_forward_hook(lambda module, inputs, output: output * math.nan)
    with pytest.raises(ValueError, match=r"layer 1 \(blocks\.1\.attention\): scores are NaN"):
        probe_rows(model, bits(), quantities=["dispersion"])


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize(
    "name",
    [
        "embedding.weight",
        "blocks.1.attention.value.weight",
        "blocks.1.attention.out.bias",
        "blocks.1.mlp.contract.weight",
        "readout.bias",
    ],
)
def test_parameters_that_are_not_numbers_are_named(name: str, value: float) -> None:
    """Else gradients and norms would come out as values that do not exist, or fail inside a decomposition."""
    model = small_model()
    with torch.no_grad():
        model.get_parameter(name).view(-1)[0] = value
    with pytest.raises(ValueError, match=rf"parameter {name} has values that are NaN or infinite"):
        probe_rows(model, bits(), labels=torch.zeros(6, dtype=torch.long))


@pytest.mark.parametrize("kind", ["gradient_norm", "mean_gradient_norm"])
def test_a_gradient_that_is_no_number_is_named(kind: str) -> None:
    """Parameters and scores are numbers, and yet the loss is not."""
    with pytest.raises(ValueError, match=r"the gradient of embedding.weight is NaN; the loss .* is nan"):
        probe_rows(
            small_model(),
            bits(),
            labels=torch.zeros(6, dtype=torch.long),
            quantities=[f"{kind}_readout"],
            loss=lambda model, part: model(part.tokens).sum() * math.nan,
        )


def test_a_nan_that_no_query_may_see_harms_nothing() -> None:
    query, key, value = inputs()
    key[..., -1, :] = math.nan
    mask = torch.arange(6) < 5
    _, info = attention(query, key, value, TopK(2), mask=mask, return_info=True)
    trace = AttentionTrace(0, "", query, info.scores, info.kept, info.weights)
    assert probes.dispersion(trace).isfinite().all()
    assert probes.retained_mass(trace).isfinite().all()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((bits(0),), {}, r"nothing to probe: the data set is empty, its tokens are \(0, 9\)"),
        ((bits(2, 0),), {}, "nothing to probe"),
        (
            (bits(), torch.zeros(6, 9, dtype=torch.bool)),
            {},
            "nothing to probe: all tokens of the 6 sequences are padding",
        ),
        ((bits()[0],), {}, r"tokens must be \(sequences, length\)"),
        ((bits(), torch.ones(6, 8, dtype=torch.bool)), {}, r"padding must be bool.*\(6, 9\).*\(6, 8\)"),
        ((bits(),), {"relevant": bits()}, r"relevant must be bool.*torch.int64"),
        ((bits(),), {"labels": torch.zeros(5)}, r"labels must be \(6,\)"),
        ((bits(),), {"quantities": ["dispersal"]}, "unknown quantity 'dispersal'.*dispersion"),
        ((bits(),), {"quantities": []}, "no quantity was asked for"),
        ((bits(),), {"quantities": ["focus_mass"]}, "focus_mass needs relevant="),
        ((bits(),), {"quantities": ["gradient_norm_mlp"]}, "gradient_norm_mlp needs labels="),
        ((bits(),), {"chunk": 0}, "chunk must be at least 1, got 0"),
        ((bits(),), {"patterns": ["topk(5)"]}, "topk"),
        ((bits(),), {"patterns": ["top_k(2)+G1"]}, "end in 1 global token; these end in 0"),
    ],
)
def test_probe_rows_refuses(arguments: tuple[Any, ...], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        probe_rows(small_model(), *arguments, **options)


def test_positions_refuse_a_model_with_global_tokens() -> None:
    with pytest.raises(ValueError, match=r"use banded\(3\)\+G1"):
        probe_rows(small_model("full+G1"), bits(), patterns=["banded(3)"])


def test_a_model_without_our_attention_is_refused() -> None:
    with pytest.raises(ValueError, match="no attention by semfocus"):
        probe_rows(nn.Embedding(2, 3), bits(), quantities=["dispersion"])


def test_traces_of_different_sequences_do_not_agree_or_disagree() -> None:
    one, _ = trace_of(Full(), "everything", 1)
    other, _ = trace_of(Full(), "everything", 2)
    with pytest.raises(ValueError, match="two traces of the same sequences"):
        probes.mask_agreement(one, other)
