"""What a reader should know beside the numbers of a comparison: runs that are missing, early or elsewhere."""

from semfocus.counts import count_of
from semfocus.studies.arms import Comparison, Record

_WORDS = {
    "diverged": "diverged (counted as never reaching the target unless it was reached before; no last accuracy)",
    "failed": "failed (counted up to the last epoch)",
    "interrupted": "interrupted (counted up to the last epoch)",
    "unfinished": "not ended yet (counted up to the last epoch)",
    "running": "not ended yet (counted up to the last epoch)",
}


def notes_on(comparison: Comparison, baseline: str) -> list[str]:
    """One sentence a note."""
    return [
        *_states(comparison),
        *_missing_seeds(comparison, baseline),
        *_early_stop(comparison),
        *_machines(comparison),
    ]


def _states(comparison: Comparison) -> list[str]:
    notes = []
    for label, records in comparison.arms.items():
        for state, words in _WORDS.items():
            seeds = _seeds([record for record in records if record.get("state") == state])
            if seeds:
                notes.append(
                    f"{label}: {len(seeds)} of {count_of(len(records), 'run')} {words}: {_listed(seeds)}."
                )
    return notes


def _missing_seeds(comparison: Comparison, baseline: str) -> list[str]:
    if baseline not in comparison.arms:
        return [f"There is no run of {baseline}, so no speedup."]
    base = set(_seeds(comparison.arms[baseline]))
    notes = []
    for label, records in comparison.arms.items():
        unpaired = sorted(set(_seeds(records)) ^ base)
        if unpaired:
            notes.append(
                f"{label} and {baseline} do not share {_listed(unpaired)}: left out of the speedup, not of the medians."
            )
    return notes


def _early_stop(comparison: Comparison) -> list[str]:
    stop = comparison.setting.get("training.stop_at")
    if stop is None:
        return []
    return [
        f"Runs stopped at {100 * float(stop):g} % training accuracy: last held-out accuracy, gap and 100 % are those of that epoch."
    ]


def _machines(comparison: Comparison) -> list[str]:
    hosts = {
        str((record.get("environment") or {}).get("host"))
        for records in comparison.arms.values()
        for record in records
        if record.get("environment")
    }
    return [f"Seconds were measured on {len(hosts)} machines: compare epochs."] if len(hosts) > 1 else []


def _seeds(records: list[Record]) -> list[int]:
    return [record["spec"]["seed"] for record in records]


def _listed(seeds: list[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
