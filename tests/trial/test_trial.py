"""Trials of a tiny model: the same seeds for every arm, resuming, what is refused, and the page."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from semfocus.cli.app import app
from semfocus.trial import Arm, TrialSettings, run_trial
from semfocus.trial.arm import FULL, SHARPER_FULL
from semfocus.trial.watcher import TrialWatcher
from tests.trial.tiny import write

SETTINGS = TrialSettings(steps=8, batch_size=8, looks=4, warmup_steps=2, held_out=16, learning_rate=3e-3)


def trial(folder, **changes):
    model, data = write(folder)
    options = {"patterns": ["top_k(3)"], "directory": folder / "out", "seeds": 2, "settings": SETTINGS}
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
    assert "2 seeds cannot show a difference" in result.sentences()[0]


def test_the_same_again_is_read_and_not_trained(tmp_path):
    first = trial(tmp_path)

    class Nothing(TrialWatcher):
        def run_started(self, spec, first_step):
            raise AssertionError(spec.title)

    assert losses(trial(tmp_path, watcher=Nothing())) == losses(first)


def test_torchs_own_random_numbers_stay_where_they_are(tmp_path):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    trial(tmp_path, seeds=1)
    assert torch.equal(torch.rand(2), expected)


@pytest.mark.parametrize("at", [3, 7])
def test_a_trial_that_was_interrupted_continues_to_the_same_bits(tmp_path, at):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole = trial(tmp_path / "a")

    class Stops(TrialWatcher):
        def step_ended(self, spec, step):
            if spec.arm.label == "top_k(3)" and step == at:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trial(tmp_path / "b", watcher=Stops(), checkpoint_seconds=0.0)
    resumed = []

    class Remembers(TrialWatcher):
        def run_started(self, spec, first_step):
            resumed.append((spec.title, first_step))

    again = trial(tmp_path / "b", watcher=Remembers())
    assert resumed[0] == ("top_k(3), seed 0", 2 * ((at - 1) // 2))
    assert losses(again) == losses(whole)
    assert again.records[again.arms[1]][0]["attempts"] == 2


KILLED = """
import os, signal, sys
from pathlib import Path
from semfocus.trial.watcher import TrialWatcher
from tests.trial.test_trial import trial

class Dies(TrialWatcher):
    def step_ended(self, spec, step):
        if spec.arm.label == "top_k(3)" and step == 5:
            os.kill(os.getpid(), signal.SIGKILL)

trial(Path(sys.argv[1]), watcher=Dies(), checkpoint_seconds=0.0)
"""


@pytest.mark.kill
def test_a_process_that_was_killed_is_continued(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), str(root / "tests"), os.environ.get("PYTHONPATH", "")])
    died = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "b")], env=os.environ | {"PYTHONPATH": path}, cwd=root
    )
    assert died.returncode == -9
    again = trial(tmp_path / "b")
    assert losses(again) == losses(trial(tmp_path / "a"))
    assert again.records[again.arms[1]][0]["attempts"] == 2


def test_tuning_uses_other_seeds(tmp_path):
    started = []

    class Remembers(TrialWatcher):
        def run_started(self, spec, first_step):
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
    assert any("2 of 2 runs" in sentence for sentence in result.sentences())
    assert not any(pair.reached for pair in result.verdicts[arm].pairs)


def command(*arguments):
    return CliRunner().invoke(app, ["trial", *map(str, arguments)])


SMALL = ["--steps", "4", "--looks", "4", "--batch-size", "4", "--held-out", "8", "--quiet", "--device", "cpu"]


def test_the_command_and_its_page(tmp_path):
    model, data = write(tmp_path)
    options = [model, "--data", data, "--patterns", "top_k(3)", "--seeds", 2, "-o", tmp_path / "o", *SMALL]
    said = command(*options)
    assert said.exit_code == 0, said.output
    assert "cannot show a difference" in said.stdout
    page = (tmp_path / "o" / "report.html").read_text()
    assert "Would it help this model?" in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    plain = json.loads(command(*options, "--json").stdout)
    assert [each["arm"] for each in plain["arms"]][1] == "top_k(3)"
    assert plain["verdicts"][0]["finding"] == "too few seeds"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "nowhere"}, "there is no model at"),
        ({"data": "nowhere.csv"}, "no such data file"),
        ({"data": "no_label.csv"}, "no label column"),
        ({"data": "long.csv"}, "line 2: 30 tokens, but the model allows 24 positions: say --context 24"),
        ({"data": "one.csv"}, "at least 2 different labels"),
        ({"patterns": "top_k(11)"}, "no sequence is longer than 11"),
        ({"patterns": "full"}, "at least one pattern"),
        ({"patterns": "top_q(3)"}, "top_q"),
        ({"model": "no_model.py"}, "defines no function model()"),
        ({"model": "broken.py"}, "line 3"),
    ],
)
def test_bad_input_is_one_line_that_says_what_to_do(tmp_path, change, message):
    model, data = write(tmp_path)
    (tmp_path / "no_label.csv").write_text("sequence\na b\n")
    (tmp_path / "long.csv").write_text("sequence,label\n" + "a " * 30 + ",x\nb,y\n")
    (tmp_path / "one.csv").write_text("sequence,label\na b,x\nb,x\n")
    (tmp_path / "no_model.py").write_text("x = 1\n")
    (tmp_path / "broken.py").write_text("def model():\n    x = 1\n    return x / 0\n")
    chosen = {"model": model.name, "data": data.name, "patterns": "top_k(3)"} | change
    said = command(
        tmp_path / chosen["model"], "--data", tmp_path / chosen["data"], "--patterns", chosen["patterns"],
        "-o", tmp_path / "o", *SMALL,
    )  # fmt: skip
    assert said.exit_code == 2
    assert message in said.stderr
    assert said.stderr.count("\n") == 1
    assert not (tmp_path / "o").exists()


def test_without_transformers_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    said = command(tmp_path, "--data", write(tmp_path)[1], *SMALL)
    assert said.exit_code == 2
    assert "semfocus[hf]" in said.stderr


@pytest.mark.slow
def test_a_real_null_and_a_real_planted_difference(tmp_path):
    """Full attention again with other seeds is no difference; at half the learning rate it is slower."""
    settings = TrialSettings(
        steps=120, batch_size=16, looks=20, warmup_steps=5, held_out=64, learning_rate=2e-3
    )
    arms = [Arm(seed_shift=500), Arm(learning_rate_scale=0.5)]
    result = trial(tmp_path, arms=arms, seeds=7, settings=settings)
    again, slowed = (result.verdicts[arm] for arm in arms)
    assert again.finding == "no evidence"
    assert slowed.finding == "slower"
    assert slowed.steps.value > 1.2
