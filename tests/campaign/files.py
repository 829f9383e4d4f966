"""Campaign files whose runs take a fraction of a second, and the command in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

TEXT = """
from semfocus.campaign import Stage
from semfocus.measurements import Inside
from semfocus.studies import grid

BASE = {{
    "task": "even_pairs",
    "model": {{"d_model": 8, "d_mlp": 8, "num_blocks": 2}},
    "training": {{"length": 4, "num_train": 20, "num_held_out": 20, "epochs": {epochs}, "batch_size": 10}},
}}


def first():
    return grid(BASE, pattern=["full", "top_k(2)"], seed=list(range({seeds})))


def second():
    return grid(BASE, pattern=["full", "top_k(2)", "top_k(3)"], seed=list(range({seeds})))


STAGES = [
    Stage("first", first, question="Which is first?"{more}),
    Stage("second", second),
]
"""

#: a study in two parts: the pattern that ends with the lower loss is trained on other seeds
SEARCH = """
from semfocus.runs import RunSpec
from semfocus.studies import grid

QUESTION = "Which is better?"
BASE = {
    "task": "even_pairs",
    "model": {"d_model": 8, "d_mlp": 8, "num_blocks": 1},
    "training": {"length": 4, "num_train": 20, "num_held_out": 20, "epochs": 2, "batch_size": 10},
}


def specs():
    return grid(BASE, pattern=["full", "top_k(2)"], seed=[1])


def next_stage(records):
    best = max(records, key=lambda record: record["summary"].get("last_train_accuracy", 0.0))
    return [RunSpec(**{**best["spec"], "seed": seed}) for seed in (7, 8, 9)]
"""


def campaign_file(folder: Path, *, epochs: int = 2, seeds: int = 2, more: str = "") -> Path:
    """Two stages, of which the second has the runs of the first and as many again by half."""
    path = folder / "campaign.py"
    path.write_text(TEXT.format(epochs=epochs, seeds=seeds, more=more), encoding="utf-8")
    return path


def start(*words: object) -> "subprocess.Popen[str]":
    """The command; its workers are in sessions of their own and end with it."""
    return subprocess.Popen(
        [sys.executable, "-m", "semfocus", "campaign", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )
