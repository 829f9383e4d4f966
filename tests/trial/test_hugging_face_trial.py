"""Trials of tiny Hugging Face models: a config on a text, a config on rows, weights to continue from, what is
refused.
"""

import json

import pytest
import torch

import semfocus
from semfocus.cli.app import app
from semfocus.integrations.hugging_face import attention as hugging_face_attention
from semfocus.integrations.hugging_face import models as hugging_face_models
from semfocus.subjects.data import read_data
from semfocus.subjects.vocabulary import Vocabulary
from semfocus.tasks import TASKS
from semfocus.trial import TrialSettings, run_trial
from semfocus.trial import trial as trial_module
from semfocus.trial.spec import FULL, SHARPER_FULL
from semfocus.trial.trial import prepare
from tests.trial.plain import held_out_losses

transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'semfocus[hf]'"
)
pytestmark = pytest.mark.hf

SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
LLAMA = SIZES | {"model_type": "llama", "vocab_size": 256, "max_position_embeddings": 32}
BERT = SIZES | {"model_type": "bert", "vocab_size": 8, "max_position_embeddings": 32, "pad_token_id": 0}
SETTINGS = TrialSettings(steps=4, batch_size=8, looks=4, warmup_steps=1, held_out=8)


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text.txt").write_text("".join(f"line {number}: {number % 7}\n" for number in range(300)))
    return tmp_path / "text.txt"


def rows(folder):
    from typer.testing import CliRunner

    target = folder / "rows.jsonl"
    options = ["--num", "40", "--length", "6:12", "--output", str(target)]
    assert CliRunner().invoke(app, ["tasks", "sample", "even_pairs", *options]).exit_code == 0
    return target


def config(folder, values):
    (folder / "config.json").write_text(json.dumps(values))
    return folder / "config.json"


def trial(model, data, folder, **changes):
    options = {"seeds": 1, "settings": SETTINGS, "directory": folder / "out", "executor": "serial"}
    return run_trial(model, data, ["top_k(3)"], device="cpu", **options | changes)


def plainly(result, cls, values, text, context, inputs):
    """The losses of full attention, and those of a loop over a stock model."""
    known = {key: value for key, value in values.items() if key != "model_type"}
    settings = cls.config_class(**known)
    vocabulary = Vocabulary(values["vocab_size"], values.get("pad_token_id"), 32)
    data = read_data(text, vocabulary, context)
    with torch.random.fork_rng():
        expected = held_out_losses(
            lambda: cls(settings),
            lambda model, batch: model(**inputs(batch)).loss,
            data.train,
            data.held_out.rows(slice(0, SETTINGS.held_out)),
            SETTINGS,
        )
    return result.records[FULL][0]["curve"]["held_out_loss"], expected


def test_a_decoder_on_a_text(tmp_path, text):
    result = trial(config(tmp_path, LLAMA), text, tmp_path, context=16)
    found, expected = plainly(
        result,
        transformers.LlamaForCausalLM,
        LLAMA,
        text,
        16,
        lambda batch: {"input_ids": batch.tokens, "labels": batch.tokens},
    )
    assert found == pytest.approx(expected, rel=1e-5)
    assert len(set(expected)) == 5
    # three is the most that is kept; the first two queries have fewer keys
    assert dict(result.inside(result.arms[1], "num_kept"))[4] == 3.0


def test_an_encoder_on_rows_of_a_task(tmp_path):
    result = trial(config(tmp_path, BERT), rows(tmp_path), tmp_path)
    assert f"{TASKS['even_pairs'].num_classes} classes" in result.data
    found, expected = plainly(
        result,
        transformers.BertForSequenceClassification,
        BERT,
        tmp_path / "rows.jsonl",
        None,
        lambda batch: {
            "input_ids": batch.tokens,
            "attention_mask": batch.real.long(),
            "labels": batch.labels,
        },
    )
    assert found == pytest.approx(expected, rel=1e-5)
    num_held_out = 4  # a tenth of the rows
    assert all((num_held_out * result.accuracy(arm)).is_integer() for arm in result.arms)


def test_an_encoder_is_no_language_model(tmp_path, text):
    with pytest.raises(ValueError, match="sees later tokens"):
        trial(config(tmp_path, BERT | {"vocab_size": 256}), text, tmp_path, context=16)


DEEPSEEK_V4 = SIZES | {
    "model_type": "deepseek_v4",
    "vocab_size": 256,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "moe_intermediate_size": 8,
    "n_routed_experts": 2,
    "num_experts_per_tok": 1,
    "q_lora_rank": 8,
    "o_groups": 1,
    "o_lora_rank": 8,
    "index_n_heads": 2,
    "index_head_dim": 8,
    "sliding_window": 5,
    "layer_types": ["compressed_sparse_attention"],
    "mlp_layer_types": ["moe"],
    "initializer_range": 0.3,
}


def prepared(folder, data, patterns, arms=None, values=DEEPSEEK_V4, context=16):
    return prepare(
        config(folder, values),
        data,
        patterns,
        seeds=1,
        settings=SETTINGS,
        context=context,
        continued=False,
        tune=False,
        arms=arms,
        directory=folder / "out",
    )


RIGHT_MASK = hugging_face_attention.semfocus_mask


def without_padding(*arguments, **options):
    return RIGHT_MASK(*arguments, **options | {"attention_mask": None})


def only_the_first_key(*arguments, **options):
    mask = RIGHT_MASK(*arguments, **options)
    return mask & (torch.arange(mask.shape[-1]) < 1)


def one_key_too_many(*arguments, **options):
    mask = RIGHT_MASK(*arguments, **options)
    return mask | torch.nn.functional.pad(mask, (1, 0))[..., :-1]


@pytest.mark.parametrize(
    ("mask", "values"),
    [
        (without_padding, BERT),
        (only_the_first_key, BERT),
        (without_padding, LLAMA),
        (one_key_too_many, LLAMA),
    ],
)
def test_an_arm_with_a_wrong_mask_is_refused(tmp_path, text, monkeypatch, mask, values):
    """At the weights that models begin with, none of these moves a loss by a thousandth."""
    data, context = (text, 16) if values is LLAMA else (rows(tmp_path), None)
    assert prepared(tmp_path, data, ["top_k(3)"], values=values, context=context).num_patterns == 1
    monkeypatch.setattr(hugging_face_attention, "semfocus_mask", mask)
    monkeypatch.setattr(trial_module, "refuse_future", lambda *given: None)
    with pytest.raises(ValueError, match=r"does not give what the original model gives"):
        prepared(tmp_path, data, ["top_k(3)"], values=values, context=context)


@pytest.mark.parametrize("longest", [8, 20])
def test_what_an_arm_is_tested_for(tmp_path, text, monkeypatch, longest):
    """Also where windows are as long as the model allows."""
    reports = []

    def check(*arguments, **inputs):
        reports.append(semfocus.check(*arguments, **inputs))
        return reports[-1]

    monkeypatch.setattr(trial_module, "check", check)
    prepared(
        tmp_path,
        text,
        ["top_k(3)"],
        values=LLAMA | {"max_position_embeddings": longest},
        context=min(longest, 16),
    )
    tested = [part for report in reports for part in report.tested]
    changing = ("later tokens change earlier", "padding on the left changes", "a cache changes")
    assert all(tested.count(f"whether {what} outputs") == 2 for what in changing)
    reports.clear()
    prepared(tmp_path, rows(tmp_path), ["top_k(3)"], values=BERT, context=None)
    assert [("whether padding on the right changes outputs" in report.tested) for report in reports] == [
        False,
        True,
    ] * 2


def test_an_arm_that_sees_later_tokens_is_refused_by_name(tmp_path, text, monkeypatch):
    arms = prepared(tmp_path, text, ["top_k(3)", "random(3)"]).arms
    assert [arm.label for arm in arms] == ["full", "top_k(3)", "random(3)", "sharper full (4)"]
    # A boolean mask opens what this model closes; as it came it is causal.
    monkeypatch.setattr(hugging_face_models, "ADDITIVE_NAME", hugging_face_models.NAME)
    with pytest.raises(ValueError, match=r"sees later tokens with top_k\(3\), though not as it came"):
        prepared(tmp_path, text, ["top_k(3)"])
    with pytest.raises(ValueError, match=r"sees later tokens with sharper full \(4\)"):
        prepared(tmp_path, text, [], arms=[SHARPER_FULL])


def test_models_that_do_not_fit_the_data_are_refused_in_one_line(tmp_path):
    data = rows(tmp_path)
    with pytest.raises(ValueError, match="transformers has no vit model for classifying sequences of tokens"):
        trial(config(tmp_path, SIZES | {"model_type": "vit"}), data, tmp_path)
    # two of the 13 positions lie before the first token
    roberta = BERT | {
        "model_type": "roberta",
        "max_position_embeddings": 13,
        "pad_token_id": 1,
        "type_vocab_size": 1,
    }
    with pytest.raises(ValueError, match="12 tokens, but the model allows 11 positions: use --context 11"):
        trial(config(tmp_path, roberta), data, tmp_path)
    assert trial(config(tmp_path, roberta), data, tmp_path, context=11).final_loss(FULL) > 0


def test_a_pattern_as_wide_as_the_sliding_window_changes_nothing(tmp_path, text):
    mistral = LLAMA | {"model_type": "mistral", "sliding_window": 3, "num_key_value_heads": 2}
    with pytest.raises(ValueError, match="sliding window shows a query no more than 3"):
        trial(config(tmp_path, mistral), text, tmp_path, context=16)


def test_continuing_from_weights_starts_where_they_are(tmp_path, text):
    path = config(tmp_path, LLAMA)
    weights = tmp_path / "weights"
    fresh = transformers.LlamaForCausalLM(
        transformers.LlamaConfig.from_dict(json.loads(path.read_text(encoding="utf-8")))
    )
    fresh.save_pretrained(weights)
    result = trial(weights, text, tmp_path, continued=True, context=16, seeds=2)
    first = [record["curve"]["held_out_loss"][0] for record in result.records[FULL].values()]
    assert first[0] == first[1]  # the same weights whatever the seed
    scratch = trial(weights, text, tmp_path, context=16, seeds=2)
    first = [record["curve"]["held_out_loss"][0] for record in scratch.records[FULL].values()]
    assert first[0] != first[1]
    with pytest.raises(ValueError, match="no weights"):
        trial(path, text, tmp_path, continued=True, context=16)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (LLAMA | {"vocab_size": 100}, "bytes need a vocabulary of 256"),
        ({"model_type": "no such model"}, "knows no model_type"),
        ({"hidden_size": 3}, "is no Hugging Face config"),
    ],
)
def test_configs_that_are_refused(tmp_path, text, values, message):
    with pytest.raises(ValueError, match=message):
        trial(config(tmp_path, values), text, tmp_path, context=16)
    with pytest.raises(ValueError, match="longer than the model allows: 32"):
        trial(config(tmp_path, LLAMA), text, tmp_path, context=64)


def probe(*arguments):
    from typer.testing import CliRunner

    return CliRunner().invoke(app, ["probe", *map(str, arguments)])


def test_probing_a_model_on_a_file(tmp_path):
    from semfocus import apply

    data, folder = rows(tmp_path), tmp_path / "model"
    sizes = {key: value for key, value in BERT.items() if key != "model_type"}
    model = transformers.BertForSequenceClassification(transformers.BertConfig(**sizes))
    model.save_pretrained(folder)
    said = json.loads(probe("--hf", folder, "--data", data, "--patterns", "top_k(2)", "--json").stdout)
    kept = {
        (row["pattern"], row["counterfactual"]): row["quantiles"]["100"]
        for row in said["rows"]
        if row["quantity"] == "num_kept" and row["layer"] is None
    }
    assert kept["full", False] > 5
    assert kept["top_k(2)", True] == 2
    apply(model, "top_k(3)")
    model.save_pretrained(folder)
    said = json.loads(probe("--hf", folder, "--data", data, "--json").stdout)
    assert said["layers"][0]["pattern"] == "top_k(3)"
    shown = probe("--hf", folder, "--data", data)
    assert shown.exit_code == 0, shown.stderr
    assert "effective_keys" in shown.stdout
    page = tmp_path / "page.html"
    shown = probe("--hf", folder, "--data", data, "--patterns", "banded(3)", "--page", page, "--sequence", 1)
    assert shown.exit_code == 0, shown.stderr
    text = page.read_text(encoding="utf-8")
    assert "top_k(3)" in text
    assert "held-out sequence 1, label" in text
    assert text.count('class="picture square"') >= sizes["num_hidden_layers"] * sizes["num_attention_heads"]
    assert "sequences 0 to" in probe("--hf", folder, "--data", data, "--page", page, "--sequence", 999).stderr


def test_probing_says_what_it_needs(tmp_path):
    assert "name a run" in probe().stderr
    assert "there is no model" in probe("--hf", tmp_path / "none", "--data", rows(tmp_path)).stderr
