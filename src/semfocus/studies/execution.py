"""Running a list of specs, one after the other."""

from collections.abc import Callable, Sequence

from semfocus.runs import RunSpec, Store
from semfocus.runs.record import Record
from semfocus.training import Observer, run


def run_study(
    specs: Sequence[RunSpec],
    store: Store,
    *,
    observe: Callable[[RunSpec], Sequence[Observer]] = lambda spec: (),
    device: str = "auto",
    threads: int = 1,
) -> list[Record]:
    """The records of all specs, in their order; runs that have ended are read, others are continued."""
    return [run(spec, store, observers=observe(spec), device=device, threads=threads) for spec in specs]
