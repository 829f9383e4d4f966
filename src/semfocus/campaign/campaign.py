"""All stages of a campaign: which runs they have, which of them are known, and working through them."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from semfocus.campaign.stage import ENDED, OpenStage, Stage, open_stage
from semfocus.campaign.work import StageWork
from semfocus.execution.executor import Conditions, ExecutorName
from semfocus.measurements.interior import rows_noted_along
from semfocus.notation import did_you_mean
from semfocus.report.export import archive, folders_of_tables, read_export
from semfocus.runs import RunSpec, Store, load_recipe, open_store
from semfocus.runs.plan import Plan
from semfocus.runs.recipe_file import defines_classes
from semfocus.runs.record import Record, read_record
from semfocus.studies.selection import without_repeats


def open_campaign(
    path: Path,
    store: Store | str | Path | None = None,
    *,
    results: Sequence[Path] = (),
    export: Path | None = None,
) -> "Campaign":
    """The campaign of a Python file that defines `STAGES`, a list of `Stage`."""
    module, _ = load_recipe(path, "campaign file")
    stages = getattr(module, "STAGES", None)
    if not isinstance(stages, list | tuple) or not all(isinstance(each, Stage) for each in stages):
        raise ValueError(f"{path} must define STAGES, a list of semfocus.campaign.Stage")
    own = path if defines_classes(module) else None
    return Campaign(stages, store, results=results, export=export, file=path, recipe_file=own)


class Campaign:
    """`open_campaign(path, "runs", results=[...], export=...).run()`; the same call continues.

    results: folders of exports whose runs are not trained again. export: the folder to which runs that have ended are
    added, a folder per stage; what it holds counts as a result too. A run of several stages belongs to the first.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        store: Store | str | Path | None = None,
        *,
        results: Sequence[Path] = (),
        export: Path | None = None,
        file: Path | None = None,
        recipe_file: Path | None = None,
    ) -> None:
        self.store = store if isinstance(store, Store) else open_store(store)
        self.export_folder = export
        self._folders = [*results, *([export] if export is not None and export.is_dir() else [])]
        names = [stage.name for stage in stages]
        if not names:
            raise ValueError("a campaign needs at least one stage")
        for name in names:
            if not name or Path(name).name != name or names.count(name) > 1:
                raise ValueError(f"stages need different names that can be folders, got {name!r}")
        self.stages = [open_stage(stage, self.store, file, recipe_file) for stage in stages]

    @cached_property
    def exported(self) -> dict[str, Record]:
        """The runs of all exports, by name."""
        folders = [each for each in self._folders if _has_tables(each)]
        return {record.run: record for record in read_export(folders)} if folders else {}

    def stage(self, name: str) -> OpenStage:
        found = {each.name: each for each in self.stages}
        if name not in found:
            raise ValueError(f"no stage {name!r}{did_you_mean(name, found)}; known: {', '.join(found)}")
        return found[name]

    def is_known(self, spec: RunSpec) -> bool:
        """Whether a run need not be trained: it has ended in the store, or an export has what all its stages need."""
        return self.store.directory(spec).has_ended or self.is_exported(spec)

    def is_exported(self, spec: RunSpec) -> bool:
        record = self.exported.get(spec.digest)
        if record is None or record.state not in ENDED or not record.curve:
            return False
        return self._needs.get(spec.digest, set()) <= _names_in(record)

    @cached_property
    def _needs(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for stage in self.stages:
            for spec in stage.study.specs:
                found.setdefault(spec.digest, set()).update(stage.stage.needs)
        return found

    def record(self, spec: RunSpec) -> Record:
        """Of a run that is known; what is in the store comes first."""
        directory = self.store.directory(spec)
        return read_record(directory) if directory.has_ended else self.exported[spec.digest]

    def specs(self, stage: OpenStage) -> list[RunSpec]:
        """The runs of a stage that can be named: those of a second part follow from the results of the first."""
        first = stage.study.specs
        if not stage.has_two_parts or not all(self.is_known(spec) for spec in first):
            return first
        found = [self.record(spec) for spec in first]
        if any(record.state not in ENDED for record in found):
            return first
        return without_repeats([*first, *stage.study._following(found)])

    def own_specs(self) -> Iterator[tuple[OpenStage, list[RunSpec]]]:
        """Every stage with those of its runs that belong to no earlier one."""
        seen: set[str] = set()
        for stage in self.stages:
            own = [spec for spec in self.specs(stage) if spec.digest not in seen]
            seen |= {spec.digest for spec in own}
            yield stage, own

    def specs_of(self, only: str | None = None) -> Iterator[tuple[OpenStage, list[RunSpec]]]:
        """Every stage with its own runs; one alone with all that it trains, those of earlier stages too."""
        if only is None:
            return self.own_specs()
        stage = self.stage(only)
        return iter([(stage, self.specs(stage))])

    def run(
        self,
        *,
        only: str | None = None,
        executor: ExecutorName = "pool",
        workers: int | None = None,
        device: str = "auto",
        quiet: bool = False,
        measure: bool = True,
        export_seconds: float = 600.0,
        say: Callable[[str], None] = lambda line: None,
    ) -> list[str]:
        """Train, measure and export stage after stage; a line for everything that failed.

        Without `measure` it only trains; a call with it catches up. `say` hears of every stage. Ctrl-C saves
        all runs and exports what has ended; the same call continues.
        """
        failed: list[str] = []
        how = Conditions(executor, workers, device, quiet=quiet)
        stages = self.stages if only is None else [self.stage(only)]
        for number, stage in enumerate(stages, start=1):
            work = StageWork(self, stage, how, export_seconds)
            say(f"stage {number} of {len(stages)}: {stage.name}, {work.words()}")
            try:
                failed += work.train()
                failed += work.measure() if measure else []
            finally:  # what was interrupted has runs that ended
                work.export()
        return failed

    def export(self, stage: OpenStage, plans: Sequence[Plan] = ()) -> None:
        """Add the runs of a stage that have ended in the store to the tables, each to the folder of the first
        stage that has it.
        """
        if self.export_folder is None:
            return
        wanted = {spec.digest for spec in self.specs(stage)}
        for owner, specs in self.own_specs():
            directories = [self.store.directory(spec) for spec in specs if spec.digest in wanted]
            records = [read_record(each) for each in directories if each.has_ended]
            ended = [record for record in records if record.state in ENDED]
            if ended:
                archive(ended, self.export_folder / owner.name, plans if owner is stage else ())


def _names_in(record: Record) -> set[str]:
    """What a stage may need of an exported run."""
    layers = any(row.get("layer") is not None for row in rows_noted_along(record))
    return {*record.curve, *record.measurements, *(["layers"] if layers else [])}


def _has_tables(folder: Path) -> bool:
    """A folder of exports may still be empty; one that is not there is a mistake."""
    if not folder.exists():
        raise ValueError(f"there is no folder {folder}")
    try:
        return bool(folders_of_tables(folder))
    except ValueError:
        return False
