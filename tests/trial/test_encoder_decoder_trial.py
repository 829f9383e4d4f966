"""Trials of tiny encoder-decoders: pairs of texts, rows with labels, and what is refused."""

import json
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F

from semfocus import capture
from semfocus.integrations.hugging_face import attention as hugging_face_attention
from semfocus.subjects.batch import NO_TARGET
from semfocus.trial import TrialSettings, run_trial
from semfocus.trial import trial as trial_module
from semfocus.trial.jobs import opened
from semfocus.trial.spec import FULL, TrialRunSpec
from semfocus.trial.training import Training
from semfocus.trial.trial import prepare
from tests.trial.plain import held_out_losses

transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'semfocus[hf]'"
)
pytestmark = pytest.mark.hf

T5 = {"model_type": "t5", "vocab_size": 260, "d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 1}
T5 |= {"num_heads": 2, "is_encoder_decoder": True}
BART = {"model_type": "bart", "vocab_size": 260, "d_model": 16, "max_position_embeddings": 32}
BART |= {f"{side}_layers": 1 for side in ("encoder", "decoder")}
BART |= {f"{side}_attention_heads": 2 for side in ("encoder", "decoder")}
BART |= {f"{side}_ffn_dim": 24 for side in ("encoder", "decoder")}
MODELS = pytest.mark.parametrize("values", [T5, BART], ids=["t5", "bart"])
SETTINGS = TrialSettings(steps=4, batch_size=8, looks=4, warmup_steps=1, held_out=8)


def config(folder, values):
    (folder / "config.json").write_text(json.dumps(values), encoding="utf-8")
    return folder / "config.json"


def pairs(folder, num=60):
    rows = [{"text": "abcdefg"[: 3 + row % 5], "target": "gfedcba"[4 - row % 4 :]} for row in range(num)]
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return folder / "pairs.jsonl"


def labelled(folder):
    rows = [f"{' '.join('ab'[row % 2] * (4 + row % 3))},{row % 2}" for row in range(60)]
    (folder / "rows.csv").write_text("\n".join(["sequence,label", *rows]) + "\n", encoding="utf-8")
    return folder / "rows.csv"


def prepared(folder, values, data):
    return prepare(
        config(folder, values),
        data,
        ["top_k(2)"],
        seeds=1,
        settings=SETTINGS,
        context=None,
        continued=False,
        tune=False,
        directory=folder / "out",
    )


def trial(folder, values, data):
    options = {"seeds": 1, "settings": SETTINGS, "directory": folder / "out", "executor": "serial"}
    return run_trial(config(folder, values), data, ["top_k(2)"], device="cpu", **options)


def fresh(subject, classifies):
    """A stock model of the same config, by the name of its class."""
    name = {"t5": "T5", "bart": "Bart"}[subject.config.model_type]
    ending = "ForSequenceClassification" if classifies else "ForConditionalGeneration"
    return getattr(transformers, name + ending)(subject.config)


@MODELS
def test_pairs_are_trained_as_anybody_would_with_the_loss_of_a_target_token(tmp_path, values):
    data = pairs(tmp_path)
    result = trial(tmp_path, values, data)
    assert "60 pairs of up to 8 and 7 tokens (bytes), 6 pairs held out" in result.data
    subject, found = opened(str(config(tmp_path, values)), str(data), str(tmp_path / "none"), None, False)

    def loss(model, batch):
        """The stock model makes the decoder's tokens of the labels by itself; the mean is written out."""
        mask = torch.ones_like(batch.tokens) if batch.real is None else batch.real.long()
        logits = model(input_ids=batch.tokens, attention_mask=mask, labels=batch.targets).logits
        each = F.cross_entropy(logits.mT, batch.targets, reduction="none", ignore_index=NO_TARGET)
        return each.sum() / (batch.targets != NO_TARGET).sum()

    assert int((found.train.targets == NO_TARGET).sum()) > 0
    expected = held_out_losses(
        lambda: fresh(subject, classifies=False), loss, found.train, found.held_out, SETTINGS
    )
    assert result.records[FULL][0]["curve"]["held_out_loss"] == pytest.approx(expected, rel=1e-5)
    assert result.records[result.arms[1]][0]["curve"]["held_out_loss"] != pytest.approx(expected, rel=1e-5)


def test_a_look_counts_tokens_of_targets_not_rows(tmp_path):
    """In batches of one row, short targets must not count as much as long ones."""
    found = prepared(tmp_path, T5, pairs(tmp_path))
    losses = []
    for batch_size in (1, 8):
        settings = SETTINGS.model_copy(update={"batch_size": batch_size})
        spec = TrialRunSpec(found.subject.digest, found.data.digest, found.data.longest, FULL, 0, settings)
        training = Training.begin(spec, found.subject, found.data, torch.device("cpu"))
        for weights in training.model.parameters():
            weights.data.mul_(3)  # so that losses of rows differ
        losses.append(training.held_out_loss())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


@MODELS
def test_a_classifier_reads_rows_that_end_as_it_wants(tmp_path, values):
    data = labelled(tmp_path)
    result = trial(tmp_path, values, data)
    subject, found = opened(str(config(tmp_path, values)), str(data), str(tmp_path / "none"), None, False)
    ends = (found.train.tokens == subject.config.eos_token_id).sum(1)
    assert ends.tolist() == [1] * len(ends)
    expected = held_out_losses(
        lambda: fresh(subject, classifies=True),
        lambda model, batch: (
            model(input_ids=batch.tokens, attention_mask=batch.real.long(), labels=batch.labels).loss
        ),
        found.train,
        found.held_out,
        SETTINGS,
    )
    assert result.records[FULL][0]["curve"]["held_out_loss"] == pytest.approx(expected, rel=1e-5)
    assert result.has_accuracy


@MODELS
def test_the_pattern_is_in_encoder_decoder_and_between_them(tmp_path, values):
    found = prepared(tmp_path, values, pairs(tmp_path))
    spec = SimpleNamespace(seed=0, arm=found.arms[1])
    model = trial_module.build(spec, found.subject)
    with capture(model) as traces, torch.no_grad():
        found.subject.loss(model.eval(), found.data.train.rows(slice(0, 4)))
    assert len(traces) == 3
    assert all(int(trace.kept.sum(-1).max()) == 2 for trace in traces)


@MODELS
def test_a_decoder_that_sees_what_it_should_write_is_refused(tmp_path, values, monkeypatch):
    right = hugging_face_attention.semfocus_mask
    reports = []

    def check(*arguments, **inputs):
        import semfocus

        reports.append(semfocus.check(*arguments, **inputs))
        return reports[-1]

    monkeypatch.setattr(trial_module, "check", check)
    prepared(tmp_path, values, pairs(tmp_path))
    assert all("whether later tokens change earlier outputs" in report.tested for report in reports)
    monkeypatch.setattr(
        hugging_face_attention, "semfocus_mask", lambda *given, **named: right(*given, **named) | True
    )
    with pytest.raises(ValueError, match="it sees the future"):
        prepared(tmp_path, values, pairs(tmp_path))


@pytest.mark.parametrize(
    ("values", "rows", "message"),
    [
        (T5, None, "t5 is an encoder-decoder, .*: expected rows with a text and a target .*, got a text$"),
        (BART, None, r'got a text; for its decoder alone, set "architectures": \["BartForCausalLM"\]'),
        (T5, '{"text": "a"}\n', "no label column"),
        (T5, '{"text": "a", "target": ""}\n', "line 1: target is empty"),
        (T5, '{"input_ids": [5, 1, 5], "target": [7]}\n', "line 1: the token 1 stands inside input_ids"),
        (T5 | {"vocab_size": 257}, '{"text": "a", "target": "b"}\n', "bytes need a vocabulary of 258"),
        (BART, json.dumps({"text": "a" * 40, "target": "b"}), "line 1: 41 tokens, .* allows 32 positions"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(tmp_path, values, rows, message):
    data = tmp_path / ("text.txt" if rows is None else "rows.jsonl")
    data.write_text("some text " * 300 if rows is None else rows, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as error:
        prepared(tmp_path, values, data)
    assert "\n" not in str(error.value)


def test_a_decoder_alone_is_tried_if_the_config_says_so(tmp_path):
    (tmp_path / "text.txt").write_text("some text " * 300, encoding="utf-8")
    found = prepared(tmp_path, BART | {"architectures": ["BartForCausalLM"]}, tmp_path / "text.txt")
    assert type(found.subject.build(0)).__name__ == "BartForCausalLM"
