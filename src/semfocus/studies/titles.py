"""A run in a few words: its task, its arm, its seed, and whatever else tells the runs of one study apart."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from semfocus.runs.task_title import task_title
from semfocus.studies.arms import EARLIER, WITHIN_A_COMPARISON, arm_of
from semfocus.studies.setting import flat

#: texts that say nothing to a reader
_DIGESTS = ("recipe", "data")


def varying_keys(specs: Iterable[Mapping[str, Any]]) -> list[str]:
    """The flat keys, in order, of which these specs have several values; task, arm and seed are named anyway."""
    values = [flat(spec) for spec in specs]
    keys = {key for each in values for key in each if not key.startswith(EARLIER)}
    keys -= {*WITHIN_A_COMPARISON, *_DIGESTS}
    # a field that a spec does not write is at its default, which is another value than one that is written
    return sorted(key for key in keys if len({str(each.get(key)) for each in values}) > 1)


def run_title(spec: Mapping[str, Any], keys: Collection[str] = (), tasks: Collection[str] = ()) -> str:
    """`even_pairs full ×4 num_blocks=2 seed 7`; `tasks`: of all runs of the study.

    >>> run_title({"task": "parity", "pattern": "full", "seed": 7, "model": {"num_blocks": 2}}, ["model.num_blocks"])
    'parity full num_blocks=2 seed 7'
    """
    values = flat(spec)
    own = [f"{key.split('.', 1)[-1]}={values[key]}" for key in keys if key in values]
    return " ".join(
        [task_title(spec.get("task"), tasks), arm_of(spec).label, *own, f"seed {spec.get('seed')}"]
    )
