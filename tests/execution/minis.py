"""Studies that take seconds, and the programs that run them in processes of their own."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from semfocus.runs import RunSpec, Store
from semfocus.studies import grid


def mini_study(num_runs: int = 4, **training: Any) -> list[RunSpec]:
    """Runs of a fraction of a second: two patterns, the more seeds the more runs."""
    return grid(
        {
            "task": "even_pairs",
            "model": {"d_model": 8, "d_mlp": 8, "num_blocks": 1},
            "training": {
                "length": 4,
                "num_train": 20,
                "num_held_out": 20,
                "epochs": 2,
                "batch_size": 10,
                **training,
            },
        },
        pattern=["full", "top_k(2)"],
        seed=list(range(num_runs // 2)),
    )


# No `__main__` guard: nothing of this program runs again in the workers.
PROGRAM = """
import json, os, sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.execution.minis import mini_study
from semfocus.studies import Watcher, run_study

class Name(Watcher):
    def run_started(self, spec, attempt):
        print(spec.digest, flush=True)

options = json.loads(sys.argv[1])
specs, together = mini_study(**options.pop("study")), options.pop("together")
if together > 1:
    here = Path(options["store"], "waiting")
    here.mkdir(parents=True, exist_ok=True)
    (here / str(os.getpid())).touch()
    while len(list(here.iterdir())) < together:
        time.sleep(0.005)
run_study(specs, watcher=Name(), **options)
"""


#: every process of `start_study`: what a failing test leaves running is ended after it
STARTED: "list[subprocess.Popen[str]]" = []


def start_study(
    store: Path, study: dict[str, Any], together: int = 1, **options: Any
) -> "subprocess.Popen[str]":
    """run_study in a process of its own, which prints the runs it starts; `together`: begin when so many are ready."""
    given = json.dumps({"store": str(store), "study": study, "together": together, **options})
    program = PROGRAM.format(root=str(Path(__file__).parents[2]))
    process = subprocess.Popen(
        [sys.executable, "-c", program, given],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    STARTED.append(process)
    return process


def events_of(store: Store, spec: RunSpec) -> "Counter[str]":
    """How often the journal of a run has each event."""
    return Counter(event["event"] for event in store.directory(spec).events())
