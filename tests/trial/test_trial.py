"""Trials of a tiny model: the same seeds for every arm, resuming, what is refused, and the page."""

import hashlib
import json
import math
import os
import re
import subprocess
import sys
import threading
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from semfocus.cli.app import app
from semfocus.cli.trial_result import print_result
from semfocus.execution.progress import Watcher
from semfocus.mechanisms import parse_pattern
from semfocus.randomness import stream
from semfocus.report.pages.trial_page import trial_page
from semfocus.runs.trial_directory import TrialRunDirectory
from semfocus.subjects.batch import Batch, TrialData
from semfocus.subjects.data import read_data
from semfocus.subjects.file import FileSubject
from semfocus.subjects.subject import refuse_data, refuse_future
from semfocus.subjects.table import sequence_column
from semfocus.subjects.vocabulary import Vocabulary
from semfocus.tasks import FileTask
from semfocus.tasks.data.files import SEQUENCE_NAMES, TEXT_NAMES, read_fields
from semfocus.trial import Arm, TrialResult, TrialSettings, run_trial
from semfocus.trial import trial as trial_module
from semfocus.trial.spec import FULL, SHARPER_FULL, TrialRunSpec
from semfocus.trial.training import Training
from semfocus.words import percent
from tests.trial.plain import held_out_losses
from tests.trial.tiny import MODEL, write

SETTINGS = TrialSettings(steps=8, batch_size=8, looks=4, warmup_steps=2, held_out=16, learning_rate=3e-3)


def trial(folder, **changes):
    model, data = write(folder)
    options = {"patterns": ["top_k(3)"], "directory": folder / "out", "seeds": 2, "settings": SETTINGS}
    options["executor"] = "serial"
    return run_trial(model, data, device="cpu", **options | changes)


def losses(result):
    return {
        (arm.label, seed): record["curve"]["held_out_loss"]
        for arm, runs in result.records.items()
        for seed, record in runs.items()
    }


def test_arms_seeds_and_what_is_seen_inside(tmp_path):
    result = trial(tmp_path)
    assert [arm.label for arm in result.arms] == ["full", "top_k(3)", "sharper full (4)"]
    seen = losses(result)
    assert seen["full", 0] != seen["full", 1]
    assert seen["full", 0] != seen["top_k(3)", 0] != seen["sharper full (4)", 0]
    assert len(set(map(len, seen.values()))) == 1
    assert dict(result.inside(result.arms[1], "num_kept")) == {0: 3.0, 2: 3.0, 8: 3.0}
    assert dict(result.inside(FULL, "num_kept"))[8] in (9.0, 11.0)
    sharp, plain = (dict(result.inside(arm, "dispersion"))[0] for arm in (SHARPER_FULL, FULL))
    assert sharp == pytest.approx(4 * plain, rel=1e-3)  # untrained: the same weights, four times the scores
    assert {verdict.finding for verdict in result.verdicts.values()} == {"too few seeds"}


def test_the_same_again_is_read_and_not_trained(tmp_path):
    first = trial(tmp_path)

    class Nothing(Watcher):
        def run_started(self, spec, attempt):
            raise AssertionError(spec.title)

    assert losses(trial(tmp_path, watcher=Nothing())) == losses(first)


def test_torchs_own_random_numbers_stay_where_they_are(tmp_path):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    trial(tmp_path, seeds=1)
    assert torch.equal(torch.rand(2), expected)


@pytest.mark.parametrize("at", [2, pytest.param(6, marks=pytest.mark.slow)])
def test_a_trial_that_was_interrupted_continues_to_the_same_bits(tmp_path, at):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole = trial(tmp_path / "a")

    class Stops(Watcher):
        def epoch_ended(self, spec, look):
            if spec.arm.label == "top_k(3)" and look["step"] == at:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trial(tmp_path / "b", watcher=Stops(), checkpoint_seconds=0.0)
    resumed = []

    class Remembers(Watcher):
        def epoch_ended(self, spec, look):
            resumed.append((spec.title, look["step"]))

    again = trial(tmp_path / "b", watcher=Remembers())
    assert resumed[0] == ("top_k(3), seed 0", at + 2), "the next look after the last checkpoint"
    assert losses(again) == losses(whole)
    assert again.records[again.arms[1]][0]["attempts"] == 2


@pytest.mark.slow
def test_runs_side_by_side_are_the_same_runs(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    started = []

    class Remembers(Watcher):
        def run_started(self, spec, attempt):
            started.append(spec.title)

    there = trial(tmp_path / "b", executor="pool", workers=2, watcher=Remembers())
    assert losses(there) == losses(trial(tmp_path / "a"))
    assert len(started) == 6


def test_a_model_that_fails_in_a_worker_says_why(tmp_path):
    model, data = write(tmp_path)
    model.write_text(
        MODEL.replace(
            "def forward(self, tokens, padding=None):",
            "def forward(self, tokens, padding=None):\n        if self.training: raise ValueError('no training today')",
        )
    )
    with pytest.raises(ValueError, match="no training today"):
        run_trial(
            model, data, ["top_k(3)"], directory=tmp_path / "out", seeds=1, settings=SETTINGS, device="cpu"
        )


KILLED = """
import os, signal, sys
from pathlib import Path
from semfocus.execution.progress import Watcher
from tests.trial.test_trial import trial

class Dies(Watcher):
    def epoch_ended(self, spec, look):
        if spec.arm.label == "top_k(3)" and look["step"] == 4:
            os.kill(os.getpid(), signal.SIGKILL)

trial(Path(sys.argv[1]), watcher=Dies(), checkpoint_seconds=0.0)
"""


@pytest.mark.kill
@pytest.mark.slow
def test_a_process_that_was_killed_is_continued(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    died = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "b")], env=os.environ | {"PYTHONPATH": path}, cwd=root
    )
    assert died.returncode == -9
    again = trial(tmp_path / "b")
    assert losses(again) == losses(trial(tmp_path / "a"))
    assert again.records[again.arms[1]][0]["attempts"] == 2


def test_tuning_uses_other_seeds(tmp_path):
    started = []

    class Remembers(Watcher):
        def run_started(self, spec, attempt):
            started.append((spec.arm, spec.seed, spec.learning_rate))

    result = trial(tmp_path, seeds=1, tune=True, watcher=Remembers())
    tuning = [each for each in started if each[1] >= 1000]
    assert len(tuning) == 3 * 3 * 2
    assert {each[1] for each in started if each not in tuning} == {0}
    for arm, rate in result.rates.items():
        assert (arm, 0, rate) in started


def test_a_run_that_diverges_is_a_result(tmp_path):
    result = trial(tmp_path, arms=[Arm(learning_rate_scale=1e30)])
    (arm,) = result.verdicts
    assert result.num_diverged(arm) == 2
    assert result.verdicts[arm].finding == "diverged"
    assert not any(pair.reached for pair in result.verdicts[arm].pairs)
    assert ">diverged<" in trial_page(result)


def test_full_attention_is_trained_as_anybody_would(tmp_path):
    settings = TrialSettings(steps=4, batch_size=16, looks=4, warmup_steps=2, held_out=16)
    result = trial(tmp_path, seeds=1, settings=settings)
    subject = FileSubject(tmp_path / "tiny.py")
    data = read_data(tmp_path / "data.csv", subject.vocabulary)

    def loss(model, batch):
        return torch.nn.functional.cross_entropy(model(batch.tokens, padding=batch.real), batch.labels)

    with torch.random.fork_rng():
        expected = held_out_losses(
            subject.module.model, loss, data.train, data.held_out.rows(slice(0, 16)), settings
        )
    assert losses(result)["full", 0] == pytest.approx(expected, rel=1e-5)
    assert len(set(expected)) == 5


def made_up(losses, guess, kind="classification"):
    """A trial of two seeds whose runs all have these losses."""
    curve = {"step": SETTINGS.look_steps(), "held_out_loss": losses, "train_loss": [None, *losses[1:]]}
    record = {"run": "r", "state": "done", "reason": None, "curve": curve, "inside": [], "attempts": 1}
    record["seconds_per_step"] = 0.01
    arms = (FULL, Arm(parse_pattern("top_k(3)")))
    records = {arm: dict.fromkeys(range(2), record) for arm in arms}
    rates = dict.fromkeys(arms, 1e-3)
    return TrialResult("m", kind, "d", arms, 1, SETTINGS, rates, records, guess)


def test_what_makes_a_verdict_worth_little_comes_first():
    guessing = made_up([0.9, 0.75, 0.71, 0.71, 0.71], 0.693)
    (warning,) = guessing._warnings()
    assert guessing.sentences()[0] == warning
    assert "0.693" in warning
    assert not made_up([0.9, 0.6, 0.6, 0.6, 0.6], 0.693)._warnings()
    assert not made_up([0.9, 0.75, 0.71, 0.71, 0.71], None)._warnings()
    assert "8 steps" in made_up([4.0, 3.0, 2.0, 1.0, 0.5], 3.0).sentences()[-1], "still falling"
    assert len(made_up([0.7, 0.8, 0.8, 0.8, 0.8], 0.693)._warnings()) == 1, "worse than at the start"


def test_seeds_that_learned_are_counted_where_arms_differ_in_them():
    """A ratio of steps to the lowest common loss does not see that one arm learned and the other did not."""
    stuck, learned = [0.9, 0.7, 0.69, 0.69, 0.69], [0.9, 0.7, 0.5, 0.2, 0.1]
    both = made_up(learned, 0.693)
    full, other = both.arms
    some = {0: made_up(stuck, 0.693).records[full][0], 1: both.records[full][1]}
    result = replace(both, records={full: some, other: both.records[other]})
    (said,) = result._learned()
    assert said in result.sentences()
    assert [each in said for each in ("0.693", "full attention 1/2", "top_k(3) 2/2")] == [True] * 3
    assert both._learned() == replace(result, guess_loss=None)._learned() == []


def test_the_final_loss_is_the_last_and_the_lowest_is_said_where_it_rose():
    result = made_up([4.0, 1.0, 1.0, 1.0, 3.0], None)
    assert result.final_loss(FULL) == 3.0
    assert result.lowest_look(FULL) == 1.0
    assert "lowest 1" in trial_page(result)
    assert "lowest 1" not in trial_page(made_up([4.0, 2.0, 1.0, 1.0, 1.0], None))


def test_the_loss_of_a_guess():
    labels = torch.tensor([0, 0, 0, 1, 1, 1, 1])  # with one more of each: 4 and 5 of 9
    rows = Batch(torch.zeros(7, 3, dtype=torch.long), None, labels)
    data = TrialData("classification", rows, rows.rows(slice(0, 4)), ("a", "b"), "", "")
    assert data.guess_loss == pytest.approx(-(3 * math.log(4 / 9) + math.log(5 / 9)) / 4)


def spec_of(data, seed=0):
    return TrialRunSpec("", "", data.longest, FULL, seed, SETTINGS)


def test_accuracy_stands_beside_that_of_the_most_frequent_label(tmp_path, capsys):
    result = trial(tmp_path, seeds=2)
    subject = FileSubject(tmp_path / "tiny.py")
    data = read_data(tmp_path / "data.csv", subject.vocabulary)
    looked = data.held_out.rows(slice(0, SETTINGS.held_out))
    label = int(data.train.labels.bincount().argmax())
    assert result.guess_accuracy == (looked.labels == label).sum().item() / SETTINGS.held_out
    training = Training.begin(spec_of(data, seed=1), subject, data, torch.device("cpu"))
    training.run(-1, lambda *_: None)
    with torch.no_grad():
        right = (training.model(looked.tokens, looked.real).argmax(1) == looked.labels).sum().item()
    first, second = (result.records[FULL][seed]["held_out_accuracy"] for seed in (0, 1))
    assert second == right / SETTINGS.held_out
    assert result.accuracy(FULL) == (first + second) / 2
    plain = result.as_plain()
    assert [each["held_out_accuracy"] for each in plain["arms"]] == [
        result.accuracy(arm) for arm in result.arms
    ]
    assert plain["guess_accuracy"] == result.guess_accuracy
    print_result(result)
    said = capsys.readouterr().out
    assert f"(always the most frequent label: {percent(result.guess_accuracy)})" in said
    cells = [f'"held-out accuracy">{percent(result.accuracy(arm))}<' for arm in result.arms]
    assert all(percent(result.accuracy(arm)) in said for arm in result.arms)
    assert all(cell in re.sub(r"\s", " ", trial_page(result)) for cell in cells)


def test_runs_that_were_kept_without_accuracy_show_none(tmp_path, capsys):
    result = trial(tmp_path, seeds=2)
    for place in (tmp_path / "out" / "runs").glob("*/record.json"):
        record = json.loads(place.read_text(encoding="utf-8"))
        del record["held_out_accuracy"]
        place.write_text(json.dumps(record))
    again = trial(tmp_path, seeds=2)
    assert losses(again) == losses(result)
    assert not again.has_accuracy
    assert again.as_plain()["guess_accuracy"] is None
    print_result(again)
    assert "held-out accuracy" not in trial_page(again) + capsys.readouterr().out
    longer = trial(tmp_path, seeds=3)  # one seed of three knows it: its mean would be that of another trial
    assert longer.records[FULL][2]["held_out_accuracy"] is not None
    assert longer.accuracy(FULL) is None


def test_a_loss_of_ones_own_says_nothing_about_accuracy(tmp_path):
    write(tmp_path)
    loss = "\n\ndef loss(model, batch):\n    return model(batch.tokens, batch.real).square().mean()\n"
    (tmp_path / "own.py").write_text(MODEL + loss)
    subject = FileSubject(tmp_path / "own.py")
    data = read_data(tmp_path / "data.csv", subject.vocabulary)
    training = Training.begin(spec_of(data), subject, data, torch.device("cpu"))
    assert training.held_out_accuracy() is None


@pytest.mark.parametrize("rate", [1.0, 3.0])
def test_the_table_of_a_trial_fits_into_80_columns(tmp_path, capsys, monkeypatch, rate):
    monkeypatch.setenv("COLUMNS", "80")
    result = trial(tmp_path, seeds=6, settings=SETTINGS.model_copy(update={"steps": 4}))
    arms = result.arms
    print_result(replace(result, rates={arms[0]: 1e-3, arms[1]: 1e-3, arms[2]: rate * 1e-3}))
    said = capsys.readouterr().out
    assert "disper-" in said
    assert (" rate " in said.partition("─")[0]) == (rate != 1.0)
    assert "…" not in said


def command(*arguments):
    return CliRunner().invoke(app, ["trial", *map(str, arguments)])


SMALL = [
    "--steps",
    "4",
    "--looks",
    "4",
    "--batch-size",
    "4",
    "--held-out",
    "8",
    "--quiet",
    "--device",
    "cpu",
    "--executor",
    "serial",
]


def test_the_command_and_its_page(tmp_path):
    model, data = write(tmp_path)
    options = [model, "--data", data, "--patterns", "top_k(3)", "--seeds", 2, "-o", tmp_path / "o", *SMALL]
    said = command(*options)
    assert said.exit_code == 0, said.output
    assert "cannot show a difference" in said.stdout
    page = (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    assert "Would it help this model?" in page
    assert "default-src 'none'" in page, "it needs no network"
    plain = json.loads(command(*options, "--json").stdout)
    assert [each["arm"] for each in plain["arms"]][1] == "top_k(3)"
    assert plain["verdicts"][0]["finding"] == "too few seeds"


def test_torchs_warning_about_its_own_encoder_does_not_disturb(tmp_path):
    model, data = write(tmp_path)
    text = "The PyTorch API of nested tensors is in prototype stage"
    warns = "    import warnings\n    warnings.warn({!r})\n    return Tiny()"
    options = [model, "--data", data, "--patterns", "top_k(3)", "--seeds", 1, "-o", tmp_path / "o", *SMALL]
    for said, expected in ((text, []), ("of my own", ["of my own"])):
        model.write_text(MODEL.replace("    return Tiny()", warns.format(said)))
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("once")
            assert command(*options).exit_code == 0
        assert [str(each.message) for each in heard] == expected


def test_a_run_that_somebody_else_trains_is_waited_for(tmp_path):
    model, data = write(tmp_path)
    options = [model, "--data", data, "--patterns", "top_k(3)", "--seeds", 1, "-o", tmp_path / "o", *SMALL]
    assert command(*options).exit_code == 0
    (first, *_) = (tmp_path / "o" / "runs").iterdir()
    (first / "record.json").unlink()
    held = TrialRunDirectory(first).owned()
    held.__enter__()
    letting_go = threading.Timer(2.0, held.__exit__, (None, None, None))
    letting_go.start()
    said = command(*options)
    letting_go.join()
    assert said.exit_code == 0, said.stderr
    assert TrialRunDirectory(first).record() is not None


@pytest.mark.parametrize(
    ("change", "message", "end"),
    [
        ({"model": "nowhere"}, "there is no model at", ""),
        ({"data": "nowhere.csv"}, "no such data file", ""),
        ({"data": "no_label.csv"}, "no label column", ""),
        ({"data": "long.csv"}, "line 2: 30 tokens, but the model allows 24 positions: use --context 24", ""),
        ({"data": "one.csv"}, "at least 2 different labels", ""),
        ({"patterns": "top_k(11)"}, "no sequence is longer than 11", ""),
        ({"patterns": "full"}, "at least one pattern", ""),
        ({"patterns": "top_q(3)"}, "top_q", ""),
        ({"model": "no_model.py"}, "defines no function model()", ""),
        ({"model": "broken.py"}, "line 3", ""),
        (
            {"model": "syntax.py"},
            "the model file",
            "does not load: SyntaxError: invalid syntax (syntax.py, line 1)",
        ),
        ({"model": "nowhere.py"}, "cannot read the model file", "nowhere.py: No such file or directory"),
        ({"context": "-3"}, "--context must be 2 tokens or more, got -3", ""),
        ({"looks": "2"}, "looks must be greater than or equal to 4, got 2", ""),
        ({"context": "0"}, "--context must be 2 tokens or more, got 0", ""),
        ({"data": "split.csv"}, "line 3: split must be train or held_out, got 'dev'", ""),
        ({"data": "half_split.csv"}, "line 3: no split, although other rows have one", ""),
        ({"data": "measured.csv"}, "30 different labels in 30 rows", ""),
        ({"patterns": "banded(3)+G1"}, "the last positions are global, but rows differ in length", ""),
        ({"model": "own_loss.py"}, "AttributeError: 'Batch' object has no attribute 'label' (", "line 26)"),
        ({"model": "small.py"}, "ids up to 2): IndexError: index out of range in self", ""),
    ],
)
def test_bad_input_is_one_line_that_says_what_to_do(tmp_path, change, message, end):
    model, data = write(tmp_path)
    (tmp_path / "no_label.csv").write_text("sequence\na b\n")
    (tmp_path / "long.csv").write_text("sequence,label\n" + "a " * 30 + ",x\nb,y\n")
    (tmp_path / "one.csv").write_text("sequence,label\na b,x\nb,x\n")
    splits = "sequence,label,split\na b,x,train\na a,y,{}\nb a,x,held_out\n"
    (tmp_path / "split.csv").write_text(splits.format("dev"))
    (tmp_path / "half_split.csv").write_text(splits.format(""))
    (tmp_path / "measured.csv").write_text(
        "sequence,label\n" + "".join(f"a b,{each / 7}\n" for each in range(30))
    )
    own = MODEL + "\n\ndef loss(model, batch):\n    return batch.label.sum()\n"
    (tmp_path / "own_loss.py").write_text(own)
    (tmp_path / "small.py").write_text(
        MODEL.replace("vocab_size, ", "_, ").replace("Embedding(8", "Embedding(2")
    )
    (tmp_path / "no_model.py").write_text("x = 1\n")
    (tmp_path / "syntax.py").write_text("def model(:\n")
    (tmp_path / "broken.py").write_text("def model():\n    x = 1\n    return x / 0\n")
    chosen = {"model": model.name, "data": data.name, "patterns": "top_k(3)"} | change
    said = command(
        tmp_path / chosen["model"], "--data", tmp_path / chosen["data"], "--patterns", chosen["patterns"],
        "-o", tmp_path / "o", *SMALL, *(word for name in ("context", "looks") if name in chosen for word in (f"--{name}", chosen[name])),
    )  # fmt: skip
    assert said.exit_code == 2
    assert message in said.stderr
    assert said.stderr.endswith(end + "\n")
    assert said.stderr.count("\n") == 1
    assert not (tmp_path / "o").exists()


def test_what_is_said_of_rows_that_were_cut(tmp_path):
    (tmp_path / "rows.csv").write_text("sequence,label\n" + "a b c d,x\na b,y\n" * 5)
    data = read_data(tmp_path / "rows.csv", Vocabulary(), 3)
    assert data.longest == 3
    assert data.description.startswith("10 rows, 5 of them cut, of up to 3 tokens")


@pytest.mark.parametrize("name", SEQUENCE_NAMES)
def test_trials_and_tasks_know_the_same_columns(tmp_path, name):
    path = tmp_path / "rows.csv"
    path.write_text(f"{name},label\n" + "1 2 1,x\n2 1 2,y\n" * 10)
    as_task, as_trial = FileTask(path), read_data(path, Vocabulary())
    assert as_task.tokens.shape == (20, 3)  # words between spaces
    assert as_trial.longest == (5 if name in TEXT_NAMES else 3)  # or bytes, spaces too


@pytest.mark.parametrize(
    ("header", "hint"),
    [
        ("text;label", "cells must be separated by commas (.csv) or tabs (.tsv), not by semicolons"),
        ("txet,label", "found txet, label (did you mean 'text'?)"),
        ("word,label", "found word, label"),
    ],
)
def test_a_column_that_is_not_found_says_what_may_be_wrong(tmp_path, header, hint):
    path = tmp_path / "rows.csv"
    path.write_text(f"{header}\n" + header.replace("label", "x") + "\n")
    for read in (FileTask, lambda file: sequence_column(file, list(read_fields(file)))):
        with pytest.raises(ValueError, match=re.escape(hint) + "$"):
            read(path)


def test_a_folder_of_texts_is_one_text(tmp_path):
    (tmp_path / "texts").mkdir()
    for name in "ab":
        (tmp_path / "texts" / f"{name}.txt").write_text(name * 40)
    data = read_data(tmp_path / "texts", Vocabulary(), 4)
    assert data.kind == "text"
    assert data.train.tokens[0].tolist() == [ord("a")] * 4
    assert data.held_out.tokens[-1, 0] == ord("b")


CAUSAL = """
import torch
from torch import nn

vocab_size = 256


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(256, 8)
        layer = nn.TransformerEncoderLayer(8, 1, 16, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.readout = nn.Linear(8, 256)

    def forward(self, tokens{argument}):
        mask = torch.ones(tokens.shape[1], tokens.shape[1]).triu(1).bool() if {causal} else None
        return self.readout(self.encoder(self.embedding(tokens), mask=mask))


def model():
    return Net()
"""


@pytest.mark.parametrize("causal", [True, False])
def test_a_model_that_sees_later_tokens_is_found_out_whatever_the_text(tmp_path, causal):
    (tmp_path / "net.py").write_text(CAUSAL.format(argument="", causal=causal))
    (tmp_path / "text.txt").write_text("=" * 400)  # the same token everywhere
    subject = FileSubject(tmp_path / "net.py")
    data = read_data(tmp_path / "text.txt", subject.vocabulary, 16)
    if causal:
        refuse_future(subject, subject.build(0), data.train)
    else:
        with pytest.raises(ValueError, match="sees later tokens"):
            refuse_future(subject, subject.build(0), data.train)


def test_a_loss_of_ones_own_may_call_the_model_as_it_likes(tmp_path):
    loss = "\n\ndef loss(model, batch):\n    return model(batch.tokens, None).mean()\n"
    (tmp_path / "net.py").write_text(CAUSAL.format(argument=", real", causal=True) + loss)
    (tmp_path / "text.txt").write_text("abcdefgh" * 50)
    subject = FileSubject(tmp_path / "net.py")
    data = read_data(tmp_path / "text.txt", subject.vocabulary, 16)
    refuse_data(subject, subject.build(0), data.train)
    refuse_future(subject, subject.build(0), data.train)
    assert not subject.is_cross_entropy


def test_without_transformers_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    said = command(tmp_path, "--data", write(tmp_path)[1], *SMALL)
    assert said.exit_code == 2
    assert "semfocus[hf]" in said.stderr


@pytest.mark.slow
def test_a_real_null_and_real_planted_differences_until_decided(tmp_path):
    """Full attention again with other seeds is no difference; half the learning rate is slower, twice is faster."""
    settings = TrialSettings(
        steps=120, batch_size=16, looks=20, warmup_steps=5, held_out=64, learning_rate=2e-3
    )
    again, slowed, sped_up = (
        trial(tmp_path, arms=[arm], seeds=None, settings=settings, until_decided=True)
        for arm in (Arm(seed_shift=500), Arm(learning_rate_scale=0.5), Arm(learning_rate_scale=2.0))
    )
    assert len(again.records[FULL]) in (7, 12)
    assert again.decision().kind != "switch"
    assert len(slowed.records[FULL]) == len(sped_up.records[FULL]) == 7
    assert slowed.decision().text.startswith("Keep full attention")
    assert "is slower" in slowed.decision().text
    assert slowed.of_patterns[0].steps.value > 1.2
    assert sped_up.decision().kind == "switch"
    assert sped_up.of_patterns[0].steps.value < 0.8


def test_five_seeds_more_if_nothing_is_decided_and_they_could_help(tmp_path, monkeypatch):
    rows = ["b b b,rare" if row % 5 == 0 else "a a a,often" for row in range(100)]
    (tmp_path / "rare.csv").write_text("\n".join(["sequence,label", *rows]) + "\n", encoding="utf-8")
    options = {"directory": tmp_path / "out", "until_decided": True, "executor": "serial", "device": "cpu"}

    def seeds_of(rate, is_futile, scale=1.0):
        arm = Arm(learning_rate_scale=scale, seed_shift=500 * (scale == 1.0))
        monkeypatch.setattr(trial_module, "is_futile", lambda *given: is_futile)
        settings = TrialSettings(
            steps=4 if rate < 1e-6 else 16,
            batch_size=8,
            looks=4,
            warmup_steps=1,
            held_out=8,
            learning_rate=rate,
        )
        result = run_trial(
            write(tmp_path)[0], tmp_path / "rare.csv", arms=[arm], settings=settings, **options
        )
        return len(result.records[FULL]), result.decision().kind

    assert seeds_of(1e-9, is_futile=True) == (7, "undecided")  # nothing is learned
    assert seeds_of(1e-9, is_futile=False) == (12, "undecided")
    assert seeds_of(2e-2, is_futile=False, scale=1e-9) == (7, "keep")


def test_a_model_that_would_be_switched_in_part_is_refused_before_training(tmp_path):
    model, data = write(tmp_path)
    hidden = (
        "getattr(nn.functional, 'scaled_dot_' + 'product_attention')(x, x, x)"  # which reading does not see
    )
    text = model.read_text(encoding="utf-8").replace(
        "return self.readout(self.encoder(self.embedding(tokens), src_key_padding_mask=dropped).mean(1))",
        "x = self.encoder(self.embedding(tokens), src_key_padding_mask=dropped)\n"
        f"        return self.readout({hidden}.mean(1))",
    )
    assert hidden in text
    model.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"with top_k\(3\): .*Tiny \(tiny.py:\d+\) .*is not switched"):
        run_trial(model, data, ["top_k(3)"], directory=tmp_path / "out", seeds=2, settings=SETTINGS)
    assert not (tmp_path / "out").exists()


def test_held_out_rows_have_every_label_in_its_share(tmp_path):
    rows = [f"a b,{'rare' if row % 10 == 0 else 'often'}" for row in range(300)]
    (tmp_path / "data.csv").write_text("\n".join(["sequence,label", *rows]) + "\n")
    data = read_data(tmp_path / "data.csv", Vocabulary(8, 0, 24), None)
    rare = data.classes.index("rare")
    for part, num in ((data.held_out, 3), (data.train, 27), (data.held_out.rows(slice(0, 10)), 1)):
        assert int((part.labels == rare).sum()) == num
    again = read_data(tmp_path / "data.csv", Vocabulary(8, 0, 24), None)
    assert torch.equal(again.held_out.tokens, data.held_out.tokens)
    assert torch.equal(again.held_out.labels, data.held_out.labels)


def test_a_trial_of_version_0_1_continues_with_the_rows_that_it_held_out(tmp_path):
    """It drew them without regard to labels; the digest of such data is that of the file."""
    path = tmp_path / "data.csv"
    rows = [f"a b,{'rare' if row % 10 == 0 else 'often'}" for row in range(300)]
    path.write_text("\n".join(["sequence,label", *rows]) + "\n", encoding="utf-8")
    plain = hashlib.sha256(path.read_bytes()).hexdigest()
    new = read_data(path, Vocabulary(8, 0, 24))
    old = read_data(path, Vocabulary(8, 0, 24), known={plain})
    order = torch.randperm(300, generator=stream(0, "split"))
    labels = torch.tensor([old.classes.index("rare" if row % 10 == 0 else "often") for row in range(300)])
    assert (old.digest, new.digest) == (plain, hashlib.sha256(f"{plain} by label".encode()).hexdigest())
    assert torch.equal(old.held_out.labels, labels[order[:30]])
    assert not torch.equal(old.held_out.labels, new.held_out.labels)
    assert "as in version 0.1" in old.description
    assert "0.1" not in new.description
    assert read_data(path, Vocabulary(8, 0, 24), known={plain, new.digest}).digest == new.digest


def test_the_runs_in_a_folder_say_how_its_data_were_split(tmp_path):
    model, data = write(tmp_path)
    plain = hashlib.sha256(data.read_bytes()).hexdigest()
    run = tmp_path / "out" / "runs" / "0123"
    run.mkdir(parents=True)
    (run / "spec.json").write_text(json.dumps({"data": plain}), encoding="utf-8")
    (tmp_path / "out" / "runs" / "damaged").mkdir()
    (tmp_path / "out" / "runs" / "damaged" / "spec.json").write_text("{", encoding="utf-8")
    result = run_trial(
        model, data, ["top_k(3)"], directory=tmp_path / "out", seeds=1, settings=SETTINGS, executor="serial"
    )
    assert {record["spec"]["data"] for records in result.records.values() for record in records.values()} == {
        plain
    }
