"""What happens inside trained models, as one HTML page that needs nothing but itself."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from semfocus import __version__
from semfocus.counts import count_of
from semfocus.durable import write_text
from semfocus.report.along_view import along_panels, along_sentences
from semfocus.report.map_figure import weight_legend
from semfocus.report.palette import inks
from semfocus.report.probe_view import PART_NAMES, answers, map_rows, series_groups
from semfocus.report.probed import Probed, ProbedRun, run_labels
from semfocus.report.templating import environment, style_and_script
from semfocus.report.wording import UNKNOWN
from semfocus.runs.record import TARGET_ACCURACY

TITLE = "What happens inside these models?"


def write_probe_page(probed: Probed, path: str | os.PathLike[str], *, title: str = TITLE) -> Path:
    """Write the page and return its path."""
    return write_text(path, probe_page(probed, title=title))


def probe_page(probed: Probed, *, title: str = TITLE) -> str:
    """The page as text."""
    labels = run_labels(probed.runs)
    groups = series_groups(labels, probed.runs)
    chosen = inks({**labels, **groups})  # the runs first: theirs are the plain shades of each hue
    rows = [row for run in probed.runs for row in run.rows]
    parts = [part for part in ("held_out", "train") if any(row["data"] == part for row in rows)]
    along_parts = {row["data"] for run in probed.runs for row in run.along}
    along_part = "held_out" if "held_out" in along_parts else "train"
    return (
        environment()
        .get_template("probes")
        .render(
            title=title,
            version=__version__,
            made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            **style_and_script(chosen.values()),
            runs=[_facts(label, run) for label, run in zip(labels, probed.runs, strict=True)],
            legend=[(label, group, chosen[label], label not in labels) for label, group in groups.items()],
            run_legend=[(label, group, chosen[label], False) for label, group in labels.items()],
            inks=chosen,
            parts=[
                (PART_NAMES[part], _samples(rows, part), answers(probed, list(labels), part, chosen))
                for part in parts
            ],
            along=along_panels(probed, list(labels), along_part, chosen, TARGET_ACCURACY),
            along_part=PART_NAMES[along_part],
            along_sentences=along_sentences(probed, list(labels), along_part, TARGET_ACCURACY),
            weight_legend=weight_legend(),
            target=TARGET_ACCURACY,
            along_missing=[label for label, run in zip(labels, probed.runs, strict=True) if not run.along],
            maps=map_rows(probed, list(labels), chosen),
            sequences=[(label, run.maps) for label, run in zip(labels, probed.runs, strict=True) if run.maps],
            quantities=[
                each
                for each in probed.quantities.values()
                if any(row["quantity"] == each.name for run in probed.runs for row in (*run.rows, *run.along))
            ],
            command=probed.command,
        )
    )


def _samples(rows: list[Mapping[str, Any]], part: str) -> str:
    found = sorted({row["samples"] for row in rows if row["data"] == part})
    most = count_of(max(found, default=0), "sequence")
    return f"{found[0]} to {most}" if len(found) > 1 else most


def _facts(label: str, run: ProbedRun) -> dict[str, Any]:
    """The line of a run in the table at the top."""
    curve = run.record.get("curve") or {}
    epochs = curve.get("epoch", [])
    at = epochs.index(run.epoch) if run.epoch in epochs else None
    spec = run.record["spec"]
    return {
        "label": label,
        "run": run.record.get("run"),
        "task": spec.get("task"),
        "seed": spec.get("seed", UNKNOWN),
        "epoch": UNKNOWN if run.epoch is None else run.epoch,
        "train": None if at is None else curve["train_accuracy"][at],
        "held_out": None if at is None else curve["held_out_accuracy"][at],
        "problems": run.problems,
    }
