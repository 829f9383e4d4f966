"""What a trial found: records of all runs, and the verdicts that follow from them."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from statistics import fmean, median
from typing import Any

from semfocus.trial.curve import Curve
from semfocus.trial.decision import Decision, decide
from semfocus.trial.interior import QUANTITIES
from semfocus.trial.spec import FULL, SHARPER_FULL, Arm, TrialSettings
from semfocus.trial.verdict import Looks, Verdict, can_show, judge
from semfocus.trial.wording import learned_sentence, sentence, time_sentence, too_few

TrialRecord = dict[str, Any]
#: of the loss of a guess: a run that got below this has learned something
_WELL_BELOW = 0.95


def curve_of(record: TrialRecord) -> Curve:
    """The held-out losses of a run; one that diverged before its second look still counts, as one that lost."""
    steps, losses = record["curve"]["step"], record["curve"]["held_out_loss"]
    diverged, pace = record["state"] == "diverged", record.get("seconds_per_step")
    if len(steps) < 2:
        assert diverged
        steps, losses = [0, 1], [*losses, *losses, 0.0, 0.0][:2]
    return Curve(steps, losses, diverged, math.nan if pace is None else pace)


@dataclass(frozen=True)
class TrialResult:
    """Everything that a reader may ask of a trial."""

    model: str
    kind: str
    data: str
    arms: tuple[Arm, ...]
    num_patterns: int
    settings: TrialSettings
    rates: Mapping[Arm, float]
    records: Mapping[Arm, Mapping[int, TrialRecord]]
    #: the loss of a model that knows frequencies alone; None if the loss is of another kind
    guess_loss: float | None = None
    #: the accuracy of always answering the most frequent label; None without labels
    guess_accuracy: float | None = None
    #: 2 if more seeds were to follow unless the first decided
    looks: Looks = 1

    @cached_property
    def curves(self) -> dict[Arm, dict[int, Curve]]:
        return {
            arm: {seed: curve_of(record) for seed, record in runs.items()}
            for arm, runs in self.records.items()
        }

    @cached_property
    def verdicts(self) -> dict[Arm, Verdict]:
        """Each arm against full attention; patterns are judged together, sharper full attention by itself."""
        return {
            arm: judge(
                self.curves[FULL],
                self.curves[arm],
                name_of(arm),
                1 if arm == SHARPER_FULL else self.num_patterns,
                looks=self.looks,
            )
            for arm in self.arms
            if arm != FULL
        }

    @cached_property
    def against_sharper(self) -> dict[Arm, Verdict]:
        """Each pattern against sharper full attention."""
        if SHARPER_FULL not in self.arms:
            return {}
        return {
            arm: judge(
                self.curves[SHARPER_FULL],
                self.curves[arm],
                name_of(arm),
                self.num_patterns,
                "sharper full attention",
                self.looks,
            )
            for arm in self.arms
            if arm not in (FULL, SHARPER_FULL)
        }

    @property
    def of_patterns(self) -> list[Verdict]:
        """The verdicts on what the trial is about."""
        return [verdict for arm, verdict in self.verdicts.items() if arm != SHARPER_FULL]

    def decision(self) -> Decision:
        """The line that everything else is the evidence for."""
        seconds = [
            [times[-1] for each in runs.values() if (times := each["curve"].get("seconds"))]
            for runs in self.records.values()
        ]
        per_seed = math.fsum(fmean(each) for each in seconds if each)
        return decide(
            self.of_patterns, per_seed if math.isfinite(per_seed) else 0.0, self.looks, self._warnings()
        )

    def final_loss(self, arm: Arm) -> float | None:
        """The held-out loss at the last look, on average over seeds: above the lowest where runs overfit."""
        lasts = [curve.losses[-1] for curve in self.curves[arm].values() if not curve.diverged]
        return fmean(lasts) if lasts else None

    def lowest_loss(self, arm: Arm) -> float | None:
        """The lowest held-out loss, averaged over looks as runs are compared, on average over seeds."""
        lowest = [curve.final for curve in self.curves[arm].values() if not curve.diverged]
        return fmean(lowest) if lowest else None

    def lowest_look(self, arm: Arm) -> float | None:
        """The lowest held-out loss of any single look, on average over seeds."""
        lowest = [min(curve.losses) for curve in self.curves[arm].values() if not curve.diverged]
        return fmean(lowest) if lowest else None

    def accuracy(self, arm: Arm) -> float | None:
        """The held-out accuracy at the end, on average over seeds; None if it is not known of each run that lasted."""
        lasted = [record for record in self.records[arm].values() if record["state"] != "diverged"]
        found = [each for record in lasted if (each := record.get("held_out_accuracy")) is not None]
        return fmean(found) if found and len(found) == len(lasted) else None

    @property
    def has_accuracy(self) -> bool:
        """Runs of a loss of the user's own, and those that were kept before accuracy was, have none."""
        return any(self.accuracy(arm) is not None for arm in self.arms)

    def rose(self, arm: Arm) -> bool:
        """Whether a run ended well above its lowest loss."""
        return any(curve.rose for curve in self.curves[arm].values() if not curve.diverged)

    def num_diverged(self, arm: Arm) -> int:
        return sum(record["state"] == "diverged" for record in self.records[arm].values())

    def seconds_per_step(self, arm: Arm) -> float | None:
        known = [
            each
            for record in self.records[arm].values()
            if (each := record.get("seconds_per_step")) is not None
        ]
        return median(known) if known else None

    def inside(self, arm: Arm, quantity: str) -> list[tuple[int, float]]:
        """Medians over seeds of a quantity inside the model, by step."""
        by_step: dict[int, list[float]] = {}
        for record in self.records[arm].values():
            for look in record["inside"]:
                value = look["quantities"].get(quantity, {}).get("median")
                if value is not None:
                    by_step.setdefault(look["step"], []).append(value)
        return [(step, median(values)) for step, values in sorted(by_step.items())]

    def sentences(self) -> list[str]:
        """The evidence in words, after the decision: the most important first."""
        found = self._warnings()
        first = next(iter(self.verdicts.values()))
        if not can_show(first.num_seeds, self.num_patterns, self.looks):
            found.append(too_few(first.num_seeds, self.num_patterns, self.looks))
        for verdict in self.verdicts.values():
            found.append(f"{_begin(sentence(verdict))} {time_sentence(verdict)}".rstrip())
        for arm, verdict in self.against_sharper.items():
            if verdict.claims_a_difference:
                found.append(f"Against sharper full attention: {sentence(verdict)}")
            elif self.verdicts[arm].finding == "faster" and self.verdicts[SHARPER_FULL].finding == "faster":
                found.append(
                    f"Sharper full attention does as well as {name_of(arm)} as far as these seeds can notify: try that first."
                )
        found += self._learned()
        full = [curve for curve in self.curves[FULL].values() if not curve.diverged]
        if 2 * sum(curve.is_falling for curve in full) > len(full):
            found.append(
                f"The loss of full attention still fell when the runs ended: this is about the first {self.settings.steps} steps."
            )
        return found

    def _learned(self) -> list[str]:
        """How many seeds got anywhere, if arms differ in that."""
        guess = self.guess_loss
        if guess is None:
            return []
        learned = {
            name_of(arm): sum(curve.final < _WELL_BELOW * guess for curve in self.curves[arm].values())
            for arm in self.arms
        }
        return (
            [learned_sentence(guess, learned, len(self.curves[FULL]))]
            if len(set(learned.values())) > 1
            else []
        )

    def _warnings(self) -> list[str]:
        """What makes any verdict worth little, before it."""
        lasted = {
            arm: [each for each in runs.values() if not each.diverged] for arm, runs in self.curves.items()
        }
        every = [curve for runs in lasted.values() for curve in runs]
        guess, found = self.guess_loss, []
        if lasted[FULL] and not any(curve.learned for curve in lasted[FULL]):
            found.append("Full attention learned nothing in these steps: train longer, or at another rate.")
        elif every and guess is not None and min(curve.final for curve in every) >= guess:
            what = "labels" if self.kind == "classification" else "single tokens"
            found.append(
                f"No run got below {guess:.3g}, the held-out loss of a model that knows only how frequent {what} are: "
                "nothing was learned that counts, and what follows compares the way there."
            )
        return found

    def as_plain(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "model": self.model,
            "kind": self.kind,
            "data": self.data,
            "guess_loss": self.guess_loss,
            "guess_accuracy": self.guess_accuracy if self.has_accuracy else None,
            "settings": self.settings.model_dump(mode="json"),
            "decision": asdict(self.decision()),
            "sentences": self.sentences(),
            "verdicts": [asdict(verdict) for verdict in self.verdicts.values()],
            "arms": [
                {
                    "arm": name_of(arm),
                    "learning_rate": self.rates[arm] * arm.learning_rate_scale,
                    "final_loss": self.final_loss(arm),
                    "lowest_loss": self.lowest_look(arm),
                    "held_out_accuracy": self.accuracy(arm),
                    "diverged": self.num_diverged(arm),
                    "seconds_per_step": self.seconds_per_step(arm),
                    "inside": {name: self.inside(arm, name) for name in QUANTITIES},
                    "runs": {str(seed): record["run"] for seed, record in self.records[arm].items()},
                }
                for arm in self.arms
            ],
        }


def name_of(arm: Arm) -> str:
    """As sentences call it."""
    if arm == FULL:
        return "full attention"
    if arm == SHARPER_FULL:
        return f"sharper full attention (inverse temperature {arm.inverse_temperature:g})"
    return arm.label


def _begin(text: str) -> str:
    """Upper case, but for names as one writes them."""
    return text[:1].upper() + text[1:] if text.startswith(("no evidence", "sharper")) else text
