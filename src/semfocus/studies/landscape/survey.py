"""Computing landscapes: the rows that are missing, on any executor, each kept as soon as it is there."""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from semfocus.runs.landscape_directory import LandscapeDirectory
from semfocus.runs.landscape_spec import GridSpec, HessianSpec
from semfocus.studies.drive import drive
from semfocus.studies.execution import make_executor
from semfocus.studies.job import Message
from semfocus.studies.landscape.part import Part

#: hears how many points are done and how many there are in all
Watch = Callable[[int, int], None]


def survey(
    places: Sequence[LandscapeDirectory],
    *,
    executor: str = "pool",
    workers: int | None = None,
    device: str = "auto",
    threads: int = 1,
    attempts: int = 3,
    recipe_file: Path | None = None,
    watch: Watch = lambda done, total: None,
) -> None:
    """Compute what the landscapes lack. After Ctrl-C or a kill the same call continues, and gives the same bits.

    A part that fails is tried again, `attempts` times in all; then the error says why.
    """
    if executor not in ("serial", "pool", "ray"):
        raise ValueError(f"executor must be serial, pool or ray, got {executor!r}")
    recipe = None if recipe_file is None else str(recipe_file.absolute())
    with ExitStack() as owned:
        for place in places:
            owned.enter_context(place.owned())
        work = Survey(places, device, threads, attempts, recipe, watch)
        if not work.waiting:
            return
        drive(work, make_executor(executor, work.hear, workers, threads))


class Survey:
    """What is still to do, and what was heard; everything that must survive is in the landscapes' directories."""

    def __init__(
        self,
        places: Sequence[LandscapeDirectory],
        device: str,
        threads: int,
        attempts: int,
        recipe_file: str | None,
        watch: Watch,
    ) -> None:
        self.places = {place.name: place for place in places}
        self.attempts = attempts
        self.watch = watch
        self.tries: Counter[str] = Counter()
        self.stopping = False
        self.unfinished: dict[str, Part] = {}
        self.total = self.done = 0
        for place in self.places.values():
            spec, missing = place.spec(), _missing(place)
            for row in missing:
                name = f"{place.name}/{'hessian' if row is None else row}"
                where = str(place.path.absolute())
                self.unfinished[name] = Part(name, where, row, device, threads, recipe_file)
            if isinstance(spec, GridSpec):
                self.total += spec.points**2
                self.done += spec.points * (spec.points - len(missing))
            elif missing:
                self.total += spec.most_products
        self.waiting = deque(self.unfinished)
        self.under_way: Counter[str] = Counter()

    def next_job(self) -> Part:
        name = self.waiting.popleft()
        self.tries[name] += 1
        return self.unfinished[name]

    def hear(self, name: str, message: Message) -> None:
        """What an executor tells."""
        if self.stopping:
            return
        if message["event"] == "point":
            self.under_way[name] += 1
        elif message["event"] == "ended":
            self._keep(self.unfinished.pop(name), message)
        elif message["event"] == "failed":
            self.under_way.pop(name, None)
            if not message["again"] or self.tries[name] >= self.attempts:
                raise ValueError(f"landscape {name}: {message['reason']}")
            self.waiting.append(name)
        self.watch(self.done + sum(self.under_way.values()), self.total)

    def _keep(self, part: Part, message: Message) -> None:
        place = self.places[part.run.split("/")[0]]
        spec = place.spec()
        if part.row is not None:
            place.add_row(part.row, message["losses"], message["numerics"])
            self.done += len(message["losses"])
        else:
            assert isinstance(spec, HessianSpec)
            place.add_eigenvalues(message["values"], message["numerics"])
            self.done += spec.most_products  # it may have needed fewer
        self.under_way.pop(part.run, None)


def _missing(place: LandscapeDirectory) -> list[int | None]:
    if isinstance(place.spec(), GridSpec):
        return list(place.missing_rows())
    return [] if place.eigenvalues() is not None else [None]
