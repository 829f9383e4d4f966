"""A study as a value: a recipe and a store, run to its result."""

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

from semfocus.analysis.plans import Analysis
from semfocus.analysis.statistics.sequential import LOOKS
from semfocus.execution.executor import Conditions
from semfocus.measurements import Inside, Landscape, Measurement
from semfocus.notation import did_you_mean, split_list
from semfocus.recipes.source import Source, checked_specs, open_source
from semfocus.runs import RunSpec, Store, load_recipe, open_store
from semfocus.runs.arms import arm_of, run_title, varying_keys
from semfocus.runs.paper_settings import PAPER_SEEDS
from semfocus.runs.plan import Plan, write_plan
from semfocus.runs.record import Record
from semfocus.studies.execution import train_runs
from semfocus.studies.selection import read_contrasts, with_patterns, with_seeds, with_settings, with_tasks
from semfocus.words import count_of, listed

if TYPE_CHECKING:
    import polars

    from semfocus.analysis.findings import Finding
    from semfocus.analysis.summaries import TaskSummary
    from semfocus.analysis.why.mediators import Mediation
    from semfocus.execution.progress import Watcher
    from semfocus.measurements.landscape.surface import Surface
    from semfocus.report.figures import Picture

__all__ = ["SearchFailed", "Study", "StudyResult"]

#: of specs that name none
_NO_SEED = RunSpec.model_fields["seed"].default


class SearchFailed(RuntimeError):
    """Runs of the first stage did not succeed, so that what follows from them is not known."""

    def __init__(self, records: Sequence[Record], total: int) -> None:
        super().__init__(f"{len(records)} of {count_of(total, 'run')} of the search did not succeed")
        self.records = list(records)


class Study:
    """`Study("quick", store="runs").run(workers=2)`: stages, training, measurements, analysis.

    recipe: a recipe's name, the path of a Python file that defines `specs()`, or a list of `RunSpec`.
    store: directory of the runs (default: `runs`, or SEMFOCUS_STORE). What is there is read, not repeated.
    seeds, patterns, tasks, settings: choose among the recipe's runs, or others, as the options of `semfocus study` do:
    `seeds=3` (the paper's first three) or a list, `patterns="full; top_k(5)"`, `settings={"training.epochs": 50}`.
    contrasts: pairs of arms that the study is about, `[("top_k(5)", "full")]`, the first of them primary (default: the
    recipe's `CONTRASTS`). recipe_file: a file with patterns and tasks of one's own; command: what a report
    names to run it again.
    """

    def __init__(
        self,
        recipe: str | os.PathLike[str] | Sequence[RunSpec],
        store: Store | str | os.PathLike[str] | None = None,
        *,
        recipe_file: str | os.PathLike[str] | None = None,
        seeds: Sequence[int] | int | None = None,
        patterns: Sequence[str] | str | None = None,
        tasks: Sequence[str] | str | None = None,
        settings: Mapping[str, Any] | None = None,
        contrasts: Sequence[Sequence[str]] | None = None,
        command: str | None = None,
    ) -> None:
        seeds = list(PAPER_SEEDS[:seeds]) if isinstance(seeds, int) else seeds
        patterns = split_list(patterns, "patterns") if isinstance(patterns, str) else patterns
        tasks = split_list(tasks, "tasks") if isinstance(tasks, str) else tasks
        self.store = store if isinstance(store, Store) else open_store(store)
        self.source = _source_of(recipe, recipe_file)
        self.seeds = seeds
        self.command = command or _command(recipe, self.store, seeds, patterns, tasks, settings, contrasts)
        own = specs = self.source.specs()
        if tasks is not None:
            specs = with_tasks(specs, tasks)
        if patterns is not None:
            specs = with_patterns(specs, patterns)
        if settings:
            specs = with_settings(specs, settings)
        if seeds is not None and self.source.next_stage is None:
            specs = with_seeds(specs, seeds)
        #: the runs, of a study in two stages those of the search
        self.specs: list[RunSpec] = self.source.marked(specs)
        self._refuse_seeds_of_the_search()
        #: by their labels, the first is primary
        self.contrasts: list[tuple[str, str]] = self._contrasts(contrasts, own if patterns is None else ())

    def __repr__(self) -> str:
        return f"<Study {self.source.name}: {count_of(len(self.specs), 'run')} in {self.store.path}>"

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def question(self) -> str:
        return self.source.question

    @property
    def measurements(self) -> list[Measurement]:
        """What is measured in the runs after training."""
        return self.source.measurements

    def _contrasts(
        self, given: Sequence[Sequence[str]] | None, own: Sequence[RunSpec]
    ) -> list[tuple[str, str]]:
        """Those asked for, which must have runs; or the recipe's, which must have runs among its `own`, as
        far as they were chosen.
        """
        found = read_contrasts(self.source.contrasts if given is None else given)
        chosen = _arms(self.specs)
        arms = chosen if given is not None else _arms(own)
        for contrast in found if arms else ():
            for label in contrast:
                if label not in arms:
                    raise ValueError(
                        f"contrast {' vs '.join(contrast)}: the study has no runs of {label!r}; arms: {', '.join(arms)}"
                    )
        return [each for each in found if {*each} <= {*chosen}]

    def run(
        self,
        *,
        executor: Literal["serial", "pool", "ray"] = "pool",
        workers: int | None = None,
        device: str = "auto",
        threads: int = 1,
        log: Literal["tensorboard"] | None = None,
        probe_every: int | None = None,
        quiet: bool = False,
        watcher: "Watcher | None" = None,
        until_decided: bool = False,
    ) -> "StudyResult":
        """Train what is missing, then measure what the recipe asks for.

        Progress is shown on standard error or in the notebook, unless `quiet`; a `watcher` hears of every epoch.
        The same call continues after an interruption, and reads what is there.
        """
        how = Conditions(executor, workers, device, threads, quiet=quiet, watcher=watcher)
        trained = self.train(how, log=log, probe_every=probe_every, until_decided=until_decided)
        return trained.measured()

    def train(
        self,
        how: Conditions,
        *,
        log: Literal["tensorboard"] | None = None,
        probe_every: int | None = None,
        until_decided: bool = False,
    ) -> "StudyResult":
        """Train what is missing, in one stage or two; nothing is measured yet.

        `until_decided`: six seeds first, and ten only if the primary contrast is not decided by then.
        """
        # Measuring while a run trains is cheap; afterwards it means to train it again.
        every = next((each.every for each in self.measurements if isinstance(each, Inside)), None)
        train = partial(self._train, how=how, log=log, probe_every=probe_every or every)
        if until_decided:
            return self._train_until_decided(train, how)
        specs, plans = self.specs, []
        if self.source.next_stage is not None:
            plans.append(self._planned(f"{self.name}_search", specs))
            specs = self._following(train(specs))
        plans.append(self._planned(self.name, specs))
        records = train(specs)
        return StudyResult(self, specs, records, how, plans)

    @property
    def looks(self) -> list[list[RunSpec]]:
        """The runs at each look of `until_decided`, those of the looks before among them."""
        return [with_seeds(self.specs, PAPER_SEEDS[: look.seeds]) for look in LOOKS]

    def refuse_undecidable(self) -> None:
        """Say why `until_decided` cannot work, if it cannot."""
        if self.seeds is not None:
            raise ValueError("--until-decided adds seeds as it needs them: leave --seeds out")
        if self.source.next_stage is not None:
            raise ValueError(f"--until-decided: {self.name} has two stages, whose seeds are its own")
        seeds = {spec.seed for spec in self.specs}
        if not seeds <= {*PAPER_SEEDS} and seeds != {_NO_SEED}:
            raise ValueError(
                f"--until-decided adds seeds as it needs them, but {self.name} fixes its own: {listed(map(str, sorted(seeds)))}"
            )
        if not self.contrasts:
            raise ValueError(
                "--until-decided needs to know what is to be decided: CONTRASTS in the recipe, or --contrasts 'top_k(5) vs full'"
            )

    def _train_until_decided(
        self, train: Callable[[Sequence[RunSpec]], list[Record]], how: Conditions
    ) -> "StudyResult":
        """Seeds in looks; what is known is read, so that the same call continues, and ends where it ended before."""
        self.refuse_undecidable()
        plans: list[Plan] = []
        for specs in self.looks:
            plans.append(self._planned(self.name, specs, looks=True))
            result = StudyResult(self, specs, train(specs), how, plans)
            if result.is_decided:
                break
        return result

    @property
    def plan(self) -> Plan:
        """What is to be run, and what held against what; of a study in two stages, the search."""
        return Plan(
            name=self.name,
            question=self.question,
            command=self.command,
            runs=[spec.digest for spec in self.specs],
            own_settings=list(self.source.own_settings),
            contrasts=[list(each) for each in self.contrasts],
        )

    def _planned(self, name: str, specs: Sequence[RunSpec], looks: bool = False) -> Plan:
        """The plan, written before the first run: `semfocus status` then knows what is to come."""
        plan = replace(
            self.plan,
            name=name,
            runs=[spec.digest for spec in specs],
            looks=[look.seeds for look in LOOKS] if looks else [],
        )
        return write_plan(self.store, plan)

    def _following(self, found: Sequence[Record]) -> list[RunSpec]:
        """The runs of the second stage, which follow from those of the search."""
        unusable = [record for record in found if record.state not in ("done", "diverged")]
        if unusable:  # a choice among the others would not be the one that was asked for
            raise SearchFailed(unusable, len(found))
        next_stage = self.source.next_stage
        assert next_stage is not None
        make = lambda: next_stage(found)  # noqa: E731
        title = f"{self.name}, second stage"
        following = self.source.marked(checked_specs(make, title, self.source.study_file))
        return following if self.seeds is None else with_seeds(following, self.seeds)

    def _train(
        self,
        specs: Sequence[RunSpec],
        how: Conditions,
        log: Literal["tensorboard"] | None,
        probe_every: int | None,
    ) -> list[Record]:
        from semfocus.execution.display import described_runs, display

        shown = nullcontext(how.watcher) if how.watcher else display(described_runs(specs), quiet=how.quiet)
        with shown as watcher:
            own = replace(how, recipe_file=self.recipe_file(specs), watcher=watcher)
            return train_runs(specs, self.store, own, log=log, probe_every=probe_every)

    def _refuse_seeds_of_the_search(self) -> None:
        if self.source.next_stage is None or self.seeds is None:
            return
        both = {spec.seed for spec in self.specs} & set(self.seeds)
        if both:
            raise ValueError(f"--seeds: {sorted(both)} are the seeds of the search; report on others")

    def recipe_file(self, specs: Sequence[RunSpec]) -> Path | None:
        """The user's file, if a run or a measurement needs it."""
        own = any(type(each).__module__.split(".")[0] != "semfocus" for each in self.measurements)
        return self.source.file if own or any(spec.recipe for spec in specs) else None


@dataclass(frozen=True)
class StudyResult:
    """The runs that are reported, what they show, and what could not be found out."""

    study: Study
    specs: list[RunSpec]
    records: list[Record]
    how: Conditions = field(repr=False)
    plans: list[Plan] = field(default_factory=list)
    #: by the run's digest and the measurement's name, why it could not be made
    problems: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def done(self) -> list[RunSpec]:
        """The runs that ended as they should."""
        return [spec for spec, record in zip(self.specs, self.records, strict=True) if record.state == "done"]

    def measured(self) -> "StudyResult":
        """The same after what the recipe asks for was measured in the runs that are done."""
        measurements = self.study.measurements
        if not measurements:
            return self
        from semfocus.execution.measurement_parts import measure_runs

        how = replace(self.how, recipe_file=self.study.recipe_file(self.specs), watcher=None)
        problems = measure_runs(measurements, self.done, self.study.store, how)
        result = replace(self, problems=problems)
        if "analysis" in vars(self):  # the comparisons are those of the same records
            vars(result)["analysis"] = self.analysis.measured_anew()
        return result

    @property
    def errors(self) -> list[str]:
        """A line for every measurement that could not be made."""
        by_run = {spec.digest: spec.model_dump(mode="json") for spec in self.specs}
        keys, tasks = varying_keys(by_run.values()), {spec.task for spec in self.specs}
        words = {each.name: each.problem for each in self.study.measurements}
        return [
            f"{run_title(by_run[run], keys, tasks)} {words[name]}: {reason}"
            for (run, name), reason in self.problems.items()
        ]

    @cached_property
    def analysis(self) -> Analysis:
        """What follows from the records, computed once; a report prints it."""
        return Analysis(self.records, self.plans, self.study.source.own_settings)

    @property
    def summaries(self) -> "list[TaskSummary]":
        """For each comparison, each arm against the baseline."""
        return self.analysis.summaries

    @property
    def findings(self) -> "list[Finding]":
        """What the runs show: the contrasts over all tasks first, then on each task every arm against the baseline."""
        return self.analysis.findings

    @property
    def mediations(self) -> "list[Mediation]":
        """What had moved before learning did: for each contrast focus mass and effective keys by layer; empty
        where nothing was measured so.
        """
        return [each for own in self.analysis.mediations.values() for each in own]

    @property
    def is_decided(self) -> bool:
        """Whether the primary contrast is, at every setting: over its tasks, or on its only one."""
        primary = [each for each in self.findings if each.is_primary]
        pooled = {each.setting for each in primary if each.task is None}
        asked = [
            each
            for each in primary
            if each.task is None or (each.setting not in pooled and each.speedup.ratio is not None)
        ]
        return bool(asked) and all(each.verdict != "undecided" for each in asked)

    def table(self) -> "polars.DataFrame":
        """One row per comparison and arm: how many runs got there, when, and the speedup over the baseline."""
        from semfocus.report.export import summary_table

        return summary_table(self.summaries)

    def figure(self, name: str = "speedup") -> "Picture":
        """A figure of the study by its name: speedup, curves, survival, lengths or twins.

        A notebook shows it; `.interactive()` answers a pointer, without any network; `.save("speedup.pdf")` writes it
        (svg, pdf, png, html); `.frame` has its numbers, `.chart()` is the Altair chart, which loads Vega from a CDN.
        """
        from semfocus.report.figures import STUDY_FIGURES

        if name not in STUDY_FIGURES:
            known = ", ".join(STUDY_FIGURES)
            raise ValueError(f"unknown figure {name!r}{did_you_mean(name, STUDY_FIGURES)}; known: {known}")
        return STUDY_FIGURES[name].of(self.summaries)

    def report(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Write the page that answers the study's question (default: NAME.html in the store); a path with
        .md: Markdown.
        """
        from semfocus.report import write_markdown, write_report

        place = Path(path or self.study.store.path / f"{self.study.name}.html")
        write = write_markdown if place.suffix == ".md" else write_report
        return write(self.records, place, plans=self.plans, title=self.study.question, analysis=self.analysis)

    def pages(self, path: str | os.PathLike[str] | None = None) -> list[Path]:
        """The report and, where the loss was computed around the models, a page about that: `small-landscapes.html`."""
        page = self.report(path)
        options = next((each for each in self.study.measurements if isinstance(each, Landscape)), None)
        surfaces = [] if options is None else self._surfaces(options)
        if not surfaces:
            return [page]
        from semfocus.report.pages.landscape_page import write_landscape_page

        beside = page.with_name(f"{page.stem}-landscapes{page.suffix}")
        return [page, write_landscape_page(surfaces, beside, command=self.study.command)]

    def _surfaces(self, options: "Landscape") -> "list[Surface]":
        from semfocus.measurements.landscape.plan import plan_landscape
        from semfocus.measurements.landscape.surface import read_landscape

        measured = [spec for spec in self.done if (spec.digest, Landscape.name) not in self.problems]
        directories = [self.study.store.directory(spec) for spec in measured]
        return [read_landscape(plan_landscape(each, options)) for each in directories]

    def __repr__(self) -> str:
        return "\n".join([self.study.question, *map(str, self.findings)])

    def _repr_html_(self) -> str:
        """In a notebook: the answer, the table, the main figure."""
        answers = [summary.sentence for summary in self.summaries]
        figure = self.figure("speedup")
        parts = [f"<h3>{escape(self.study.question)}</h3>", *(f"<p>{escape(each)}</p>" for each in answers)]
        parts += [self.table()._repr_html_(), figure.svg() if figure.panels else ""]
        return "\n".join(parts)


def _arms(specs: Sequence[RunSpec]) -> list[str]:
    return list(dict.fromkeys(arm_of(spec.model_dump(mode="json")).label for spec in specs))


def _command(
    recipe: str | os.PathLike[str] | Sequence[RunSpec],
    store: Store,
    seeds: Sequence[int] | None,
    patterns: Sequence[str] | None,
    tasks: Sequence[str] | None,
    settings: Mapping[str, Any] | None,
    contrasts: Sequence[Sequence[str]] | None,
) -> str:
    """The command that runs or continues the same runs; specs have none."""
    if not isinstance(recipe, str | os.PathLike):
        return "Study([...]).run()"
    words = ["semfocus", "study", os.fspath(recipe)]
    for key, value in (settings or {}).items():
        words += ["-s", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
    if seeds is not None:
        words += ["--seeds", f"{','.join(map(str, seeds))},"]
    pairs = None if contrasts is None else [" vs ".join(each) for each in contrasts]
    for option, values in (("--patterns", patterns), ("--tasks", tasks), ("--contrasts", pairs)):
        if values is not None:
            words += [option, "; ".join(values)]
    return shlex.join([*words, "--store", str(store.path)])


def _source_of(
    recipe: str | os.PathLike[str] | Sequence[RunSpec], recipe_file: str | os.PathLike[str] | None
) -> Source:
    file = None if recipe_file is None else Path(recipe_file)
    if isinstance(recipe, str | os.PathLike):
        return open_source(os.fspath(recipe), file)
    specs = list(recipe)
    made = SimpleNamespace(specs=lambda: specs)
    if file is None:
        return Source("study", made)
    module, digest = load_recipe(file)
    return Source("study", made, file, digest, module)
