"""Sixteen processes on one store, four of them killed: every record is written once, and is the one it must be.

The runs are made up, so that thousands take seconds; their directories, locks, journals, checkpoints and records are
the real ones. Every run is wanted by two processes, and some by all at the same moment.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from semfocus.runs import RunBusy, RunDirectory, RunSpec, open_store, result_digest
from semfocus.runs.checkpoints import Checkpoint, load_newest, save_checkpoint
from semfocus.runs.directory import epoch_rows
from semfocus.runs.record import as_columns, read_record, summarise
from tests.faults.kept import Effort, Kept, Part, Row
from tests.faults.matrix import in_memory
from tests.faults.victims import is_alive, is_saving, kill, stop

PROCESSES, KILLED = 16, (1, 5, 9, 13)
EPOCHS = 2
#: runs that all processes want first
HOT = 16


def specs(num: int) -> list[RunSpec]:
    training = {"length": 4, "num_train": 8, "num_held_out": 8, "epochs": EPOCHS}
    model = {"d_model": 4, "d_mlp": 4, "num_blocks": 1}
    return [
        RunSpec(task="even_pairs", pattern="full", seed=seed, model=model, training=training)
        for seed in range(num)
    ]


def made_up(seed: int, epoch: int) -> dict[str, Any]:
    """The row of an epoch, and the seconds that two processes would not have in common."""
    value = random.Random(f"{seed} {epoch}").random()
    names = ("train_loss", "train_accuracy", "held_out_loss", "held_out_accuracy", "learning_rate")
    seconds = {"train_seconds": time.monotonic(), "evaluation_seconds": 0.0}
    return {"epoch": epoch, **dict.fromkeys(names, value), **seconds}


def visit(spec: RunSpec, directory: RunDirectory) -> str:
    """Read, continue or begin a run: `read`, `wrote`, or `busy` if another process has it."""
    if directory.record() is not None:
        return "read"
    directory.create(spec.model_dump(mode="json"))
    try:
        with directory.owned():
            if directory.record() is not None:
                return "read"
            directory.remove_leftovers()
            _continue(spec, directory)
    except RunBusy:
        return "busy"
    return "wrote"


def _continue(spec: RunSpec, directory: RunDirectory) -> None:
    found, problems = load_newest(directory.checkpoints, "last")
    after = -1 if found is None else found.epoch
    directory.note("attempt", resumed_after=after, problems=problems)
    state = torch.tensor([spec.seed]) if found is None else found.groups["model"]["state"]
    for epoch in range(after + 1, EPOCHS + 1):
        directory.note("epoch", **made_up(spec.seed, epoch))
        state = state * 3 + epoch
        save_checkpoint(directory.checkpoints, "last", Checkpoint(epoch, {"model": {"state": state}}), keep=2)
    directory.write_record(record_of(spec, directory, int(state)))


def record_of(spec: RunSpec, directory: RunDirectory, state: int) -> dict[str, Any]:
    rows = epoch_rows(directory.events())
    values = {"run": directory.name, "spec": spec.model_dump(mode="json"), "state": "done", "weights": state}
    return values | {"curve": as_columns(rows), "summary": summarise(rows, spec.task)}


def digest_of(spec: RunSpec) -> str:
    """Of the record that its run must have."""
    rows, state = [], spec.seed
    for epoch in range(EPOCHS + 1):
        rows.append(made_up(spec.seed, epoch))
        state = state * 3 + epoch
    values = {"run": spec.digest, "spec": spec.model_dump(mode="json"), "state": "done", "weights": state}
    return result_digest(values | {"curve": as_columns(rows), "summary": summarise(rows, spec.task)})


def work(wanted: list[RunSpec], store: Path, heard: Path) -> None:
    """Until all that one process wants is there; what it saw goes into a file of its own."""
    with open(heard, "a", encoding="utf-8") as file:
        while wanted:
            busy = []
            for spec in wanted:
                directory = RunDirectory(store / spec.digest)
                how = visit(spec, directory)
                seen = "" if how == "busy" else (directory.path / "record.json").read_text(encoding="utf-8")
                file.write(json.dumps([how, spec.digest, hash_of(seen)]) + "\n")
                file.flush()
                if how == "busy":
                    busy.append(spec)
            wanted = busy
            time.sleep(0.01 if busy else 0)


def hash_of(text: str) -> str:
    return f"{random.Random(text).getrandbits(64):x}"


def _begin(wanted: list[RunSpec], store: Path, heard: Path, go: Path) -> int:
    child = os.fork()
    if child == 0:
        try:
            with open(heard.with_suffix(".err"), "w") as errors:
                os.dup2(errors.fileno(), 2)
            while not go.exists():
                time.sleep(0.001)
            work(wanted, store, heard)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(1)
    return child


def a_round(num: int, records: int, folder: Path) -> Row:
    """`records` of each process; what was counted, and what is wrong."""
    started, draw = time.monotonic(), random.Random(num)
    store, all_specs = folder / "runs", specs(PROCESSES * records + HOT)
    store.mkdir()
    hot, own = all_specs[:HOT], [all_specs[HOT + at :: PROCESSES] for at in range(PROCESSES)]
    children = []
    for at in range(PROCESSES):
        wanted = [*own[at], *own[(at + 1) % PROCESSES]]
        draw.shuffle(wanted)
        children.append(_begin([*hot, *wanted], store, folder / f"{at}.jsonl", folder / "go"))
    (folder / "go").touch()
    inside = _kill_some({children[at]: (folder / f"{at}.jsonl", draw.randrange(records)) for at in KILLED})
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    problems = []
    for at, code in enumerate(codes):
        if code != (-signal.SIGKILL if at in KILLED else 0):
            said = (folder / f"{at}.err").read_text(encoding="utf-8")
            problems.append(f"process {at} ended with {code}: {said[-600:]}")
    counts, more = _look(all_specs, store, folder)
    row = {"part": "crowd", "round": num, "records": len(all_specs), "killed": len(KILLED), "inside": inside}
    seconds = time.monotonic() - started
    return {
        **row,
        **counts,
        "problems": [f"round {num}: {each}" for each in problems + more],
        "seconds": seconds,
    }


def _kill_some(doomed: dict[int, tuple[Path, int]]) -> int:
    """Kill each process when it has seen so many runs and saves something; how many were saving then."""
    found, since = 0, dict[int, float]()
    while doomed:
        for pid, (heard, after) in list(doomed.items()):
            if not is_alive(pid):  # it failed
                del doomed[pid]
            elif heard.exists() and heard.read_bytes().count(b"\n") >= HOT + after:
                since.setdefault(pid, time.monotonic())
                if is_saving(pid) or time.monotonic() > since[pid] + 1:
                    stop(pid)
                    found += is_saving(pid)
                    kill(pid)
                    del doomed[pid]
        time.sleep(0.0005)
    return found


def _heard(folder: Path) -> Iterator[tuple[str, str, str]]:
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            how, run, seen = json.loads(line)
            yield how, run, seen


def _look(all_specs: list[RunSpec], store: Path, folder: Path) -> tuple[dict[str, int], list[str]]:
    """How often what was done, and what is wrong in a store at the end of a round."""
    problems = []
    open_store(store).remove_leftovers()
    half = [path.name for path in store.rglob("*.partial")]
    if half:
        problems.append(f"half written: {half[:3]}")
    attempts = 0
    seen = {spec.digest: set[str]() for spec in all_specs}
    how_often = Counter(how for how, _, _ in _heard(folder))
    written = Counter(run for how, run, _ in _heard(folder) if how == "wrote")
    for how, run, what in _heard(folder):
        if how != "busy":
            seen[run].add(what)
    for spec in all_specs:
        directory = RunDirectory(store / spec.digest)
        record = read_record(directory)
        if result_digest(record) != digest_of(spec):
            problems.append(f"{spec.digest} has another record: {record.state} {record.reason}")
        if not directory.has_ended:
            continue
        now = hash_of((directory.path / "record.json").read_text(encoding="utf-8"))
        if seen[spec.digest] != {now}:
            problems.append(f"the record of {spec.digest} has changed")
        attempts += sum(event["event"] == "attempt" for event in directory.events())
    problems += [f"{run} was written {number} times" for run, number in written.items() if number > 1]
    if {path.name for path in store.iterdir()} != seen.keys():
        problems.append("there are other runs")
    return {**{how: how_often[how] for how in ("read", "wrote", "busy")}, "attempts": attempts}, problems


def rounds(kept: Kept, effort: Effort) -> None:
    """Those that are missing of ten with 500 records of each process, or one with 50."""
    num, records = (10, 500) if effort.is_long else (1, 50)
    done = {row["round"] for row in kept.rows("crowd") if row["records"] > PROCESSES * records}
    for each in set(range(num)) - done:
        with in_memory() as folder:
            kept.add(a_round(each, records, folder))


def _table(rows: list[Row]) -> str:
    columns = ("records", "wrote", "read", "busy", "attempts", "killed", "inside")
    lines = [f"{'crowd':<8}" + "".join(f"{name:>10}" for name in columns) + "  bad  seconds"]
    for row in rows:
        numbers = "".join(f"{row[name]:>10}" for name in columns)
        lines.append(f"{row['round']:<8}{numbers}  {len(row['problems']):>3}  {row['seconds']:>7.0f}")
    return "\n".join(lines)


PART = Part("crowd", rounds, _table)
