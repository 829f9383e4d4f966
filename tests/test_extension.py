"""What docs/architecture.md promises to those who add something, done as it says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from semfocus import Study
from semfocus.campaign import open_campaign
from semfocus.report.export import FORMATS, export, read_export
from semfocus.runs import RunSpec, Store
from semfocus.training.trained_run import load_run
from semfocus.words import number
from tests.test_layers import LEVELS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "semfocus"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
#: the file of one's own that the page shows
(MINE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def section(title: str) -> str:
    """The text under a heading of the page."""
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE, encoding="utf-8")
    return path


def weight_norm(spec: RunSpec, store: Store) -> float:
    """By another way than the measurement's: all weights in one row."""
    weights = load_run(store.directory(spec)).model.parameters()
    return float(torch.cat([weight.detach().flatten() for weight in weights]).norm())


def test_a_file_with_a_pattern_a_task_and_a_measurement_is_a_study(mine: Path, store: Store) -> None:
    result = Study(mine, store).run(executor="pool", workers=1, quiet=True)

    assert result.problems == {}
    assert [record.state for record in result.records] == ["done"] * 4
    assert {record.spec["task"] for record in result.records} == {"first_bit"}
    assert {record.spec["pattern"] for record in result.records} == {"full", "every_other(2)"}
    assert [finding.contrast for finding in result.findings] == [("every_other(2)", "full")]
    for spec, record in zip(result.specs, result.records, strict=True):
        (row,) = record.measurements["weight_norm"]
        assert row == {"power": 2, "norm": pytest.approx(weight_norm(spec, store), rel=1e-5)}

    page, text = (
        result.report(mine.with_name(name)).read_text(encoding="utf-8") for name in ("a.html", "a.md")
    )
    assert "Also measured: weight_norm</h2>" in page
    assert "## Also measured: weight\\_norm" in text
    (row,) = result.records[0].measurements["weight_norm"]
    assert all(number(row["norm"]) in shown for shown in (page, text))
    for kind in FORMATS:
        export(result.records, mine.parent / kind, kind)
        read = {record.run: record.measured("weight_norm") for record in read_export(mine.parent / kind)}
        assert read == {record.run: record.measured("weight_norm") for record in result.records}

    again = Study(mine, store).run(executor="serial", quiet=True)  # nothing is missing any more
    assert [record.measurements["weight_norm"] for record in again.records] == [
        record.measurements["weight_norm"] for record in result.records
    ]


def test_the_pattern_keeps_what_it_says(mine: Path, store: Store) -> None:
    """A query at an odd key's place never sees it: the output does not depend on it."""
    from semfocus import attention

    spec = next(each for each in Study(mine, store).specs if each.pattern == "every_other(2)")
    query, key, value = torch.randn(3, 1, 6, 4, generator=torch.Generator().manual_seed(0)).unbind(0)
    _, info = attention(query, key, value, pattern=spec.pattern_value, return_info=True)
    assert info.kept.expand(1, 6, 6).tolist() == [[[True, False, True, False, True, False]] * 6]


def test_a_recipe_file_may_hold_specs_and_nothing_else(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "plain.py"
    path.write_text(
        "from semfocus.studies import grid\n"
        "def specs():\n"
        "    small = {'length': 6, 'num_train': 20, 'num_held_out': 10, 'epochs': 1}\n"
        "    return grid({'task': 'parity', 'training': small}, seed=[3, 4])\n",
        encoding="utf-8",
    )
    result = Study(str(path), store).run(executor="serial", quiet=True)
    assert [(record.spec["seed"], record.state) for record in result.records] == [(3, "done"), (4, "done")]
    assert result.study.name == "plain"


def test_a_list_of_specs_is_a_study(store: Store) -> None:
    small = {"length": 6, "num_train": 20, "num_held_out": 10, "epochs": 1}
    specs = [RunSpec(task="parity", pattern=pattern, training=small) for pattern in ("full", "top_k(2)")]
    result = Study(specs, store).run(executor="serial", quiet=True)
    assert [record.run for record in result.records] == [spec.digest for spec in specs]
    assert [record.state for record in result.records] == ["done", "done"]
    assert len(store.directories()) == 2


def test_a_campaign_may_have_a_study_file_among_its_stages(mine: Path, store: Store) -> None:
    path = mine.with_name("campaign.py")
    stages = f"[Stage('mine', {str(mine)!r}, seeds=1), Stage('quick', 'quick', seeds=1)]"
    path.write_text(f"from semfocus.campaign import Stage\nSTAGES = {stages}\n", encoding="utf-8")
    opened = open_campaign(path, store, export=mine.parent / "tables")
    assert opened.run(only="mine", executor="serial", quiet=True) == []
    records = read_export(mine.parent / "tables" / "mine")
    assert {record.spec["pattern"] for record in records} == {"full", "every_other(2)"}
    assert all(record.measured("weight_norm") for record in records)


class Package:
    """A copy of the package, to be changed as the page says."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.source = root / "semfocus"
        shutil.copytree(SOURCE, self.source, ignore=shutil.ignore_patterns("__pycache__"))

    def write(self, name: str, text: str) -> None:
        assert not (self.source / name).exists()
        (self.source / name).write_text(text, encoding="utf-8")

    def insert(self, name: str, after: str, text: str) -> None:
        """Put a line after the first one that begins so."""
        lines = (self.source / name).read_text(encoding="utf-8").splitlines()
        place = next(index for index, line in enumerate(lines) if line.startswith(after))
        lines.insert(place + 1, text)
        (self.source / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def run(self, program: str) -> list[str]:
        environment = {**os.environ, "PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()


PATTERN = '''

@dataclass(frozen=True)
class SecondBest(Pattern):
    """Keeps all but the best key."""

    name = "second_best"
    family = "input-dependent"

    def keep(self, scores: Tensor, allowed: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return allowed & ~keep_largest(scores, allowed.expand_as(scores), 1)
'''
TASK = '''"""last_bit: what is the last bit?"""

from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.tasks.task import Task, at_least


@dataclass(frozen=True)
class LastBit(Task):
    """Label: the last bit."""

    name = "last_bit"
    symbols = ("0", "1")
    num_classes = 2
    chance_accuracy = 0.5

    def allows_length(self, length: int) -> str | None:
        return at_least(1, length)

    def draw(self, num: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        tokens = torch.randint(2, (num, length), generator=generator)
        return tokens, tokens[:, -1]

    def label_row(self, row: list[int]) -> int:
        return row[-1]
'''
QUANTITY = '''"""The largest weight of a query."""

from torch import Tensor

from semfocus.mechanisms import AttentionTrace


def largest_weight(trace: AttentionTrace) -> Tensor:
    """(batch, heads, L)"""
    return trace.weights.amax(-1)
'''
MEASUREMENT = '''"""NumWeights: how many weights a run has trained."""

from dataclasses import dataclass
from typing import Any, ClassVar

from semfocus.measurements.measurement import Measurement


@dataclass(frozen=True)
class NumWeights(Measurement):
    """`MEASURE = [NumWeights()]`"""

    name: ClassVar[str] = "num_weights"
    problem: ClassVar[str] = "could not be counted"

    def missing(self, directory: Any, device: str, threads: int) -> list[str]:
        return [] if directory.kept(self.name) else ["all"]

    def compute(self, directory: Any, part: Any, *, device: str, threads: int, notify: Any) -> int:
        from semfocus.training.trained_run import load_run

        return sum(weight.numel() for weight in load_run(directory).model.parameters())

    def keep(self, directory: Any, part: Any, found: int) -> None:
        directory.keep(self.name, [{"num": found}])
'''
CLAIM = '''

def _no_run_failed(summaries: Sequence["TaskSummary"]) -> Ruling:
    """Of all runs, in whatever comparison."""
    runs = [run for each in summaries for runs in each.comparison.arms.values() for run in runs]
    failed = sum(run["state"] != "done" for run in runs)
    return Ruling("contradicted" if failed else "supported", [Evidence(f"{failed} of {len(runs)} failed", "")])


NO_RUN_FAILED = Claim(
    "no_run_failed",
    "Every run ends as it should.",
    None,
    SOURCE,
    "last_bits",
    "no run failed",
    "a run failed",
    _no_run_failed,
)
'''
RECIPE = '''"""last_bits: is the last bit learned?"""

from semfocus.runs import RunSpec
from semfocus.studies import grid

QUESTION = "Is the last bit learned?"
FIGURE = "ours"


def specs() -> list[RunSpec]:
    """Two seeds."""
    return grid({"task": "last_bit"}, seed=[0, 1])
'''
FIGURE = '''"""Held-out accuracy at the end of training, a dot per run."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from semfocus.report.figures.figure import Figure, Look, Panel, tidy
from semfocus.report.figures.vega_lite import Spec, column, layers, mark
from semfocus.report.palette import Ink


def last_accuracy_frame(summaries: Sequence[Any]) -> pl.DataFrame:
    """A row per run."""
    arms = [arm for summary in summaries for arm in summary.arms]
    rows = [
        {"arm": arm.label, "group": arm.group, "seed": seed, "accuracy": accuracy}
        for arm in arms
        for seed, accuracy in zip(arm.ended_seeds, arm.last_held_out, strict=True)
    ]
    return tidy(rows, {"arm": str, "group": str, "seed": int, "accuracy": float})


def _panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    def draw(data: Spec, look: Look, index: int) -> Spec:
        across = column("accuracy:Q", title="held-out accuracy")
        dots = {"x": across, "y": column("arm:N"), "color": look.colours(list(inks))}
        return layers(data, mark("point", dots))

    return [Panel("Last held-out accuracy", frame, draw)]


LAST_ACCURACY = Figure("last_accuracy", "Last held-out accuracy", last_accuracy_frame, _panels)
'''
PROGRAM = """
import tempfile
import torch
import semfocus
from semfocus import SecondBest, attention, parse_pattern
from semfocus.analysis.claims import judge_all
from semfocus.analysis.summaries import analyse
from semfocus.measurements import NumWeights
from semfocus.model import Classifier, ModelConfig
from semfocus.probes import QUANTITIES, probe_rows
from semfocus.runs.arms import arm_of
from semfocus.studies import RunSpec, run_study
from semfocus.runs import open_store
from semfocus.tasks import TASKS

print(semfocus.__file__)
print(parse_pattern("second_best") == SecondBest(), arm_of({"pattern": "second_best"}).group)
query, key = torch.ones(1, 1), torch.tensor([[1.0], [3.0], [2.0]])
print(attention(query, key, key, pattern=SecondBest(), return_info=True)[1].kept.tolist())
tokens, labels = TASKS["last_bit"].sample(9, 5, torch.Generator().manual_seed(0))
print(TASKS["last_bit"].label(tokens).equal(labels), TASKS["last_bit"].chance_accuracy)

torch.manual_seed(0)
model = Classifier(ModelConfig(vocab_size=3, num_classes=2, max_length=5, d_model=4, d_mlp=4, num_blocks=1))
(row, *_) = probe_rows(model, tokens, quantities=["largest_weight"])
with semfocus.capture(model.eval()) as traces:
    model(tokens)
expected = traces[0].weights.max(dim=-1).values.double().mean()
print(row["num"], abs(row["mean"] - float(expected)) < 1e-6, QUANTITIES["largest_weight"].unit)

small = {"length": 5, "num_train": 20, "num_held_out": 10, "epochs": 1}
with tempfile.TemporaryDirectory() as folder:
    spec = RunSpec(task="last_bit", pattern="second_best", training=small)
    (record,) = run_study([spec], folder, executor="serial")
    NumWeights().complete(record.directory)
    print(record.state, record.measurements["num_weights"] == [{"num": record["num_parameters"]}])
    picture = semfocus.Study([spec], folder).run(executor="serial", quiet=True).figure("last_accuracy")
    shown = [record.curve["held_out_accuracy"][-1]]
    (judged,) = [each for each in judge_all(analyse([record])) if each.name == "no_run_failed"]
    print(judged.verdict, judged.numbers[-1])
    print(picture.frame["accuracy"].to_list() == shown, "second_best" in picture.svg(), picture.written("pdf")[:4])
    study = semfocus.Study("last_bits", folder)
    print(study.question, len(study.specs), study.specs[0].task)
"""


@pytest.mark.slow
def test_what_the_page_says_can_be_added_joins_the_package(tmp_path: Path) -> None:
    package = Package(tmp_path)

    name = "mechanisms/input_dependent.py"
    text = (package.source / name).read_text(encoding="utf-8") + PATTERN
    needed = "from semfocus.mechanisms.pattern import Pattern, keep_largest\n"
    (package.source / name).write_text(
        text.replace("\nimport torch\n", f"\nimport torch\n{needed}", 1), "utf-8"
    )
    line = "from semfocus.mechanisms.input_dependent import SecondBest"
    package.insert("mechanisms/catalog.py", "from semfocus.mechanisms.input_dependent", line)
    package.insert("mechanisms/catalog.py", "PATTERNS", "    SecondBest.name: SecondBest, **{")
    package.insert("mechanisms/catalog.py", "    cls.name: cls for", "    }")
    package.insert("mechanisms/__init__.py", "from semfocus.mechanisms.input_dependent", line)
    package.insert("runs/arms.py", "_GROUP_OF_PATTERN", '    "second_best": "input-dependent",')
    package.insert("__init__.py", "__all__", '    "SecondBest",')

    package.write("tasks/last_bit.py", TASK)
    package.insert(
        "tasks/catalog.py", "from semfocus.tasks.file_task", "from semfocus.tasks.last_bit import LastBit"
    )
    package.insert("tasks/catalog.py", "        ListOps,", "        LastBit,")

    package.write("probes/quantities/largest_weight.py", QUANTITY)
    words = '    _of_scores("largest_weight", "Largest attention weight of a query.", "mass"),'
    package.insert("probes/names.py", "_SCORES", words)
    line = "from semfocus.probes.quantities.largest_weight import largest_weight"
    package.insert("probes/measures.py", "from semfocus.probes.names", line)
    package.insert(
        "probes/measures.py", "_MEASURES", '    "largest_weight": lambda v: largest_weight(v.trace),'
    )

    package.write("measurements/num_weights.py", MEASUREMENT)
    line = "from semfocus.measurements.num_weights import NumWeights as NumWeights"
    package.insert("measurements/__init__.py", "from semfocus.measurements.measurement", line)

    package.write("report/figures/last_accuracy.py", FIGURE)
    line = "from semfocus.report.figures.last_accuracy import LAST_ACCURACY"
    package.insert("report/figures/__init__.py", "from semfocus.report.figures.layers", line)
    line = 'STUDY_FIGURES["last_accuracy"] = LAST_ACCURACY'
    package.insert("report/figures/__init__.py", "STUDY_FIGURES", line)

    name = "analysis/claims/limits.py"
    text = (package.source / name).read_text(encoding="utf-8") + CLAIM
    needed = "from semfocus.analysis.claims.claim import Evidence\n"
    first = "from semfocus.analysis.claims.claim import"
    (package.source / name).write_text(text.replace(first, needed + first, 1), "utf-8")
    package.insert("analysis/claims/__init__.py", "CLAIMS", "    limits.NO_RUN_FAILED,")

    room = "recipes/beyond" if (package.source / "recipes" / "beyond").is_dir() else "recipes"
    package.write(f"{room}/last_bits.py", RECIPE)
    line = f"from semfocus.{room.replace('/', '.')} import last_bits"
    package.insert("recipes/__init__.py", "from semfocus.runs import", line)
    package.insert("recipes/__init__.py", "RECIPES", '    "last_bits": last_bits,')

    assert package.run(PROGRAM) == [
        str(package.source / "__init__.py"),
        "True input-dependent",
        "[[True, False, True]]",
        "True 0.5",
        "45 True mass",
        "done True",
        "supported scaled-down setting: 0 of 1 failed",
        "True True b'%PDF'",
        "Is the last bit learned? 2 last_bit",
    ]


def rows_of_the_package() -> dict[str, str]:
    """What to add -> what to touch, of the second table."""
    table = section("To add something").split("| to add | touch | tests |")[1].split("\n\n")[0]
    cells = [line.split(" | ") for line in table.splitlines() if line.startswith("| a ")]
    return {row[0].removeprefix("| "): row[1] + row[2] for row in cells}


def test_the_page_names_places_that_are_there() -> None:
    rows = rows_of_the_package()
    assert len(rows) >= 4
    for what, places in rows.items():
        for name in re.findall(r"`([\w/]+(?:\.py|/))`", places):
            where = ROOT / name if name.startswith("tests/") else SOURCE / name
            assert where.exists(), f"{what}: {name}"


def test_the_tree_of_the_page_is_the_tree() -> None:
    table = section("The tree")
    named = {
        name
        for line in table.splitlines()
        if line.startswith("| ")
        for name in re.findall(r"`(\w+(?:\.py|/))`", line.split("|")[2])
    }
    there = {f"{path.name}/" for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    there |= {path.name for path in SOURCE.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert named == there


def test_the_levels_of_the_page_are_those_of_the_layer_test() -> None:
    found = {}
    for level, names in re.findall(r"^\| (\d+) \| (.*?) \|", section("The tree"), re.MULTILINE):
        for name in re.findall(r"`(\w+)", names):
            found[name] = int(level)
    expected = {name: int(level) for name, level in LEVELS.items() if name != "__main__"}
    assert {name: found.get(name) for name in expected} == expected
