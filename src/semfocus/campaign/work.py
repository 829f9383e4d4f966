"""One stage under way: its runs are trained and measured, and exported as they end."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from semfocus.campaign.stage import ENDED, OpenStage
from semfocus.execution.display import described_runs, display
from semfocus.execution.executor import Conditions
from semfocus.execution.measurement_parts import measure_runs
from semfocus.execution.progress import Watcher
from semfocus.runs import RunSpec
from semfocus.runs.plan import Plan, write_plan
from semfocus.runs.record import read_record
from semfocus.studies import run_study

if TYPE_CHECKING:
    from semfocus.campaign.campaign import Campaign

#: seconds between two checkpoints of a run: a minute lost is little in a campaign
_CHECKPOINTS = 60.0


class StageWork:
    """What a campaign does with one of its stages."""

    def __init__(
        self, campaign: "Campaign", stage: OpenStage, how: Conditions, export_seconds: float
    ) -> None:
        self.campaign, self.stage, self.study, self.how = campaign, stage, stage.study, how
        self.export_seconds = export_seconds
        self.plans: list[Plan] = []
        self.exported_at = time.monotonic()

    def words(self) -> str:
        specs = self.campaign.specs(self.stage)
        known = sum(self.campaign.is_known(spec) for spec in specs)
        return f"{known} of {len(specs)} runs known"

    def train(self) -> list[str]:
        """In one part or two; the plan of each is in the store before it begins."""
        first = self.study.specs
        if not self.stage.has_two_parts:
            return self._train(first, self.stage.name)
        failed = self._train(first, f"{self.stage.name}_search")
        if failed:
            return [*failed, f"{self.stage.name}: its second part needs all runs of the first"]
        names = {spec.digest for spec in first}
        following = [spec for spec in self.campaign.specs(self.stage) if spec.digest not in names]
        return self._train(following, self.stage.name)

    def _train(self, specs: list[RunSpec], name: str) -> list[str]:
        self._plan(specs, name)
        missing = [spec for spec in specs if not self.campaign.is_known(spec)]
        if not missing:
            return []
        with self._watched(missing) as watcher:
            records = run_study(
                missing,
                self.campaign.store,
                executor=self.how.executor,
                workers=self.how.workers,
                device=self.how.device,
                watcher=watcher,
                recipe_file=self.study.recipe_file(specs),
                checkpoint_seconds=_CHECKPOINTS,
                probe_every=self.stage.probe_every,
            )
        return [
            f"{self.stage.name}: run {record.run} {record.state}: {record.reason}"
            for record in records
            if record.state not in ENDED
        ]

    def _plan(self, specs: Sequence[RunSpec], name: str) -> None:
        plan = self.study._planned(name, specs)
        if self.stage.stage.question:
            plan = replace(plan, question=self.stage.stage.question)
            write_plan(self.campaign.store, plan)
        self.plans.append(plan)

    @contextmanager
    def _watched(self, specs: Sequence[RunSpec]) -> Iterator[Watcher]:
        """Where there is no terminal, a line per run that ends and none between."""
        with display(described_runs(specs), quiet=self.how.quiet, seconds=math.inf) as shown:
            yield _Exporting(shown, self)

    def measure(self) -> list[str]:
        """What is missing in the runs that are in the store: of an exported one the weights are gone."""
        if not self.stage.measurements:
            return []
        specs, store = self.campaign.specs(self.stage), self.campaign.store
        there = [spec for spec in specs if store.directory(spec).has_ended]
        problems = measure_runs(
            self.stage.measurements,
            [spec for spec in there if read_record(store.directory(spec)).state == "done"],
            store,
            replace(self.how, recipe_file=self.study.recipe_file(specs)),
        )
        return [f"{self.stage.name}: run {run}: {name}: {reason}" for (run, name), reason in problems.items()]

    def export(self) -> None:
        self.campaign.export(self.stage, self.plans)
        self.exported_at = time.monotonic()

    def export_if_due(self) -> bool:
        is_due = time.monotonic() - self.exported_at >= self.export_seconds
        if is_due:
            self.export()
        return is_due


class _Exporting(Watcher):
    """Passes everything on to what is shown; exports now and then, once there is something new."""

    def __init__(self, shown: Watcher, stage: StageWork) -> None:
        self.shown, self.stage = shown, stage
        self.has_news = False

    def run_started(self, work: Any, attempt: int) -> None:
        self.shown.run_started(work, attempt)

    def run_failed(self, work: Any, attempt: int, reason: str) -> None:
        self.shown.run_failed(work, attempt, reason)

    def run_ended(self, work: Any, result: Any) -> None:
        self.shown.run_ended(work, result)
        self.has_news = True
        self._export()

    def epoch_ended(self, work: Any, row: dict[str, Any]) -> None:
        self.shown.epoch_ended(work, row)
        self._export()

    def _export(self) -> None:
        if self.has_news and self.stage.export_if_due():
            self.has_news = False
