"""Probes of models that are not of ours: gradient norms by the names of parameters, and what is left out is said."""

import json

import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from semfocus import Full, apply
from semfocus.cli.app import app
from semfocus.probes import QUANTITIES, probe_rows
from semfocus.probes.quantities.gradient_norms import parts_of
from tests.integrations.tiny_models import build, tokens, transformers

pytestmark = pytest.mark.hf
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


def loss(model, part):
    return model(part.tokens, labels=part.tokens).loss * len(part)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_gradient_norms_are_those_of_the_models_own_loss(name):
    model = build(name).double()
    apply(model, Full())
    names = [each for each in QUANTITIES if "gradient_norm" in each]
    rows = probe_rows(model, tokens(), quantities=names, loss=loss)
    found = {
        row["quantity"]: row["mean"] for row in rows if row["layer"] is None and row["quantity"] in names
    }
    parameters = dict(model.named_parameters())
    gradients = dict(
        zip(
            parameters,
            torch.autograd.grad(model(tokens(), labels=tokens()).loss, list(parameters.values())),
            strict=True,
        )
    )
    if name == "llama":
        of_queries = [each for name, each in gradients.items() if "q_proj" in name or "k_proj" in name]
    else:  # (32, 96): query, key, value side by side
        of_queries = [each[..., :64] for name, each in gradients.items() if "c_attn" in name]
    norm = sum(float(each.square().sum()) for each in of_queries) ** 0.5
    assert found["mean_gradient_norm_query_key"] == pytest.approx(norm)
    of_mlp = [each for name, each in gradients.items() if ".mlp." in name]
    norm = sum(float(each.square().sum()) for each in of_mlp) ** 0.5
    assert found["mean_gradient_norm_mlp"] == pytest.approx(norm)
    layers = {row["layer"] for row in rows if row["quantity"] == "gradient_norm_value_out"}
    assert layers == {None, 0, 1}


PARTS = {
    "bert": {
        "bert.embeddings.word_embeddings.weight": [("embedding", None)],
        "bert.encoder.layer.1.attention.self.key.bias": [("query_key", 1)],
        "bert.encoder.layer.1.attention.output.dense.weight": [("value_out", 1)],
        "bert.encoder.layer.1.attention.output.LayerNorm.weight": [],
        "bert.encoder.layer.0.intermediate.dense.weight": [("mlp", 0)],
        "classifier.weight": [("readout", None)],
    },
    "gpt2": {
        "transformer.h.1.attn.c_attn.weight": [("query_key", 1), ("value_out", 1)],
        "transformer.h.0.mlp.c_proj.weight": [("mlp", 0)],
        "transformer.wpe.weight": [("embedding", None)],
    },
}


@pytest.mark.parametrize("name", PARTS)
def test_parameters_are_told_apart_by_their_names(name):
    model = build(name)
    apply(model, Full())
    found = parts_of(model)
    assert found.keys() == {name for name, _ in model.named_parameters()}
    for parameter, expected in PARTS[name].items():
        assert [(part.group, part.layer) for part in found[parameter]] == expected, parameter


def test_an_encoder_of_torch_and_a_matrix_that_is_not_known():
    model = nn.ModuleDict(
        {
            "0": nn.Embedding(5, 8),
            "encoder": nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2),
            "out": nn.Linear(8, 3),
        }
    )
    apply(model, Full())
    found = parts_of(model)
    assert [part.group for part in found["encoder.layers.1.self_attn.in_proj_weight"]] == [
        "query_key",
        "value_out",
    ]
    assert [(part.group, part.layer) for part in found["encoder.layers.1.linear1.weight"]] == [("mlp", 1)]
    assert [(part.group, part.layer) for part in found["out.bias"]] == [("readout", None)]
    model.encoder.layers[1].self_attn.register_parameter("mixing", nn.Parameter(torch.ones(2, 2)))
    assert {part.group for parts in parts_of(model).values() for part in parts} == {
        "embedding",
        "mlp",
        "readout",
    }


def probe(*arguments):
    return CliRunner().invoke(app, ["probe", *map(str, arguments)])


@pytest.fixture
def data(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("sequence,label\n" + "".join(f"{'a b ' * (1 + i % 4)},{i % 2}\n" for i in range(40)))
    return file


@pytest.fixture
def folder(tmp_path):
    sizes = SIZES | {"vocab_size": 8, "max_position_embeddings": 32, "pad_token_id": 0}
    transformers.BertForSequenceClassification(transformers.BertConfig(**sizes)).save_pretrained(tmp_path)
    return tmp_path


def test_the_command_measures_or_says_why_not(folder, data):
    done = probe("--hf", folder, "--data", data, "--samples", 4, "--json")
    assert done.exit_code == 0, done.stderr
    said = json.loads(done.stdout)
    measured = {row["quantity"]: row for row in said["rows"] if row["layer"] is None}
    left_out = {name for names in said["left_out"].values() for name in names}
    assert measured.keys() | left_out == QUANTITIES.keys()
    assert measured.keys().isdisjoint(left_out)
    assert all(measured[name]["mean"] > 0 for name in QUANTITIES if "gradient_norm" in name)
    shown = probe("--hf", folder, "--data", data, "--samples", 4).stdout
    assert "dispersion: Highest minus lowest kept score" in shown
    assert "not measured: focus_mass, focus_share, focus_chance: the data does not say" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--hf DIR needs --data FILE"),
        (["--epoch", "best"], "goes without runs, --epoch, --every and --recipe"),
        (["--data", "rows.csv", "--patterns", "top_k(200)"], "that is full attention"),
    ],
)
def test_the_command_says_what_it_needs(folder, data, options, message, monkeypatch):
    monkeypatch.chdir(folder)
    done = probe("--hf", folder, *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
