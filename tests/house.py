"""The size of the house in numbers: `python tests/house.py` prints them, tests/test_house.py holds some of them.

    python tests/house.py [--json]

A command *passes* a file if a function of it is called in the process of the command; importing does not count. A
*return into cli* is a function of `cli/` that a file outside of it calls.
"""

import ast
import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import semfocus

SOURCE = Path(semfocus.__file__).parent

TRAINED = ["train", "even_pairs", "-q", "-s", "training.epochs=1", "-s", "training.num_train=20"]
TRAINED += ["-s", "training.num_held_out=20", "-s", "model.d_model=8", "-s", "model.d_mlp=8"]
QUICK = ["study", "quick", "--seeds", "1", "-s", "training.epochs=1"]


@dataclass
class Passed:
    """The files of semfocus whose functions were called, and who called into cli from outside."""

    files: set[str] = field(default_factory=set)
    returns: set[tuple[str, str]] = field(default_factory=set)

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        place = _place(frame)
        if event != "call" or place is None or frame.f_code.co_name == "<module>":
            return
        caller = _caller(frame)
        if caller is not None and caller.f_code.co_name == "<module>":
            return  # while a module is imported
        self.files.add(place)
        outside = None if caller is None else _place(caller)
        if place.startswith("cli/") and outside is not None and not outside.startswith("cli/"):
            self.returns.add((outside, place))


def _place(frame: FrameType) -> str | None:
    path = Path(frame.f_code.co_filename)
    return path.relative_to(SOURCE).as_posix() if path.is_relative_to(SOURCE) else None


def _caller(frame: FrameType) -> FrameType | None:
    """The nearest frame of semfocus below."""
    back = frame.f_back
    while back is not None and _place(back) is None:
        back = back.f_back
    return back


@contextmanager
def passing() -> Iterator[Passed]:
    """Notes what is called inside the block, in this thread."""
    found = Passed()
    sys.setprofile(found.note)
    try:
        yield found
    finally:
        sys.setprofile(None)


def passed_by(*arguments: str, before: Callable[[], list[str]] = list) -> Passed:
    """What a command passes, in an empty folder; `before` makes what it needs and returns more arguments."""
    from typer.testing import CliRunner

    from semfocus.cli.app import app

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        words = [*arguments, *before()]
        with passing() as found:
            result = CliRunner().invoke(app, words)
    if result.exit_code != 0:
        raise RuntimeError(f"{' '.join(words)}: {result.output}{result.stderr}") from result.exception
    return found


def passed_twice(*arguments: str) -> tuple[Passed, Passed]:
    """What a study passes without its report; and with it, once the runs are there."""
    with tempfile.TemporaryDirectory() as store:
        words = [*arguments, "--store", store]
        return passed_by(*words, "--no-report"), passed_by(*words)


def passed_by_attention() -> Passed:
    import torch

    query = torch.randn(2, 8, 4)
    semfocus.attention(query, query, query, semfocus.TopK(3))  # loads what is loaded once
    with passing() as found:
        semfocus.attention(query, query, query, semfocus.TopK(3))
    return found


def a_trained_run() -> list[str]:
    from typer.testing import CliRunner

    from semfocus.cli.app import app

    assert CliRunner().invoke(app, TRAINED).exit_code == 0
    return [next(path.name for path in Path("runs").iterdir() if path.is_dir())]


MODEL = """
import torch
from torch import nn

vocab_size, max_length, pad_id = 4, 12, 0


class Mine(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.readout = nn.Linear(8, 2)

    def forward(self, tokens):
        x = self.embedding(tokens)
        return self.readout(self.attention(x, x, x)[0].mean(1))


def model():
    return Mine()
"""


def a_model_and_data() -> list[str]:
    Path("mine.py").write_text(MODEL, encoding="utf-8")
    rows = [
        {"sequence": " ".join("abcabcabc"[place % 3 :][:6]), "label": "xy"[place % 2]} for place in range(60)
    ]
    Path("data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return ["mine.py", "--data", "data.jsonl"]


def passed() -> dict[str, Passed]:
    trial = ["trial", "--patterns", "top_k(3)", "--seeds", "1", "--steps", "4", "--looks", "4", "-q"]
    return {
        "study quick --no-report": passed_by(*QUICK, "--no-report"),
        "study quick": passed_by(*QUICK),
        "attention(...)": passed_by_attention(),
        "probe RUN": passed_by("probe", before=a_trained_run),
        "trial": passed_by(*trial, before=a_model_and_data),
    }


def modules() -> dict[str, Path]:
    """Every module by its dotted name."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def importers() -> dict[str, set[str]]:
    """For every module, the others that import it or a name of it."""
    known = modules()
    found: dict[str, set[str]] = defaultdict(set)
    for name, path in known.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            targets: list[str] = []
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                targets = [f"{node.module}.{alias.name}" for alias in node.names]
                targets = [each if each in known else node.module for each in targets]
            for target in targets:
                if target in known and target != name:
                    found[target].add(name)
    return found


def numbers() -> dict[str, int]:
    """What the house is judged by."""
    files = modules()
    stems = Counter(path.stem for path in files.values() if path.stem != "__init__")
    by_one = [name for name, who in importers().items() if len(who) == 1]
    found = {
        "files": len(files),
        "lines": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files.values()),
        "modules with a single importer": len(by_one),
        "module names that occur twice or more": sum(count > 1 for count in stems.values()),
    }
    ways = passed()
    found |= {f"files passed by {name}": len(way.files) for name, way in ways.items()}
    found |= {"returns into cli by study quick": len(ways["study quick"].returns)}
    return found


if __name__ == "__main__":
    values = numbers()
    if "--json" in sys.argv:
        print(json.dumps(values, indent=1))
    else:
        for key, value in values.items():
            print(f"{key:<45} {value:>7,}")
