"""From records to answers: for each comparison, each arm against the baseline."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from semfocus.analysis.comparisons import Comparison, comparisons
from semfocus.analysis.sentences import notes_on, sentence_on
from semfocus.analysis.statistics import (
    Estimate,
    Time,
    holm,
    median_time,
    paired_speedup,
    restricted_mean,
    smallest_p,
)
from semfocus.analysis.statistics.sequential import LOOKS, spent_at
from semfocus.analysis.statistics.significance import ALPHA
from semfocus.analysis.summaries import (
    ArmSummary,
    Clock,
    Goal,
    Race,
    TaskSummary,
    goals_of,
    longest_look,
    time_to,
)
from semfocus.runs.arms import BASELINE, arm_of, flat, tasks_of
from semfocus.runs.plan import Plan, declared
from semfocus.runs.record import Record

__all__ = ["ArmSummary", "TaskSummary", "analyse"]

Times = dict[int, Time]


def analyse(
    records: Iterable[Mapping[str, Any]],
    *,
    target: float = 0.95,
    held_out_target: float = 0.95,
    baseline: str = BASELINE,
    apart_from: Collection[str] = (),
    tasks: Collection[str] = (),
    alpha: float = ALPHA,
) -> list[TaskSummary]:
    """A summary for each comparison; `apart_from` and `tasks` are those of `comparisons`.

    The targets are accuracies: text has others, see `goals_of`. Intervals of speedups hold with 1 - `alpha`.
    """
    for name, value in (("target", target), ("held_out_target", held_out_target)):
        if not 0 < value <= 1:
            raise ValueError(f"{name} must be an accuracy above 0 and at most 1, got {value}")
    return [
        _summary(comparison, target, held_out_target, baseline, alpha)
        for comparison in comparisons(records, apart_from=apart_from, tasks=tasks)
    ]


def _summary(
    comparison: Comparison, target: float, held_out_target: float, baseline: str, alpha: float
) -> TaskSummary:
    goal, second = goals_of(comparison, target, held_out_target, baseline)
    epochs = times_to(comparison, goal)
    seconds = times_to(comparison, goal, "seconds")
    held_out = times_to(comparison, second)
    races = [_races(times, baseline, alpha) for times in (epochs, seconds, held_out)]
    horizon = longest_look([record for records in comparison.arms.values() for record in records], "epochs")
    arms = [
        _arm(
            label,
            comparison,
            (epochs[label], seconds[label], held_out[label]),
            [race[label] for race in races],
            horizon,
        )
        for label in comparison.arms
    ]
    return TaskSummary(
        comparison=comparison,
        target=goal.value,
        held_out_target=second.value,
        goal=goal,
        second_goal=second,
        baseline=baseline,
        arms=arms,
        sentence=sentence_on(comparison.title, arms, baseline, goal.words, alpha),
        notes=notes_on(comparison, baseline, alpha),
        alpha=alpha,
    )


def times_to(comparison: Comparison, goal: Goal, clock: Clock = "epochs") -> dict[str, Times]:
    """By arm and seed, when the goal was reached."""
    horizon = longest_look([record for records in comparison.arms.values() for record in records], clock)
    return {
        label: {record["spec"]["seed"]: time_to(record, goal, clock, horizon) for record in records}
        for label, records in comparison.arms.items()
    }


def _races(times: Mapping[str, Times], baseline: str, alpha: float) -> dict[str, Race]:
    """Every arm against the baseline, with Holm's correction over all arms that have a p."""
    if baseline not in times:
        return {label: Race() for label in times}
    speedups = {
        label: paired_speedup(times[baseline], arm, alpha)
        for label, arm in times.items()
        if label != baseline
    }
    p_values = {label: speedup.p for label, speedup in speedups.items() if speedup.p is not None}
    adjusted = holm(p_values)
    return {label: Race(speedups.get(label), p_values.get(label), adjusted.get(label)) for label in times}


def _arm(
    label: str,
    comparison: Comparison,
    times: tuple[Times, Times, Times],
    races: Sequence[Race],
    horizon: float,
) -> ArmSummary:
    records = comparison.arms[label]
    curves = [record.get("curve") or {} for record in records]
    # The last epoch of a run that diverged is not the end of training.
    ended = [record for record in records if record.get("state") == "done" and record["curve"].get("epoch")]
    last = [{key: values[-1] for key, values in record["curve"].items()} for record in ended]
    epochs, seconds, held_out = times
    race, seconds_race, held_out_race = races
    perfect = sum(max(curve.get("train_accuracy", []), default=0.0) >= 1 for curve in curves)
    return ArmSummary(
        label=label,
        group=comparison.groups[label],
        seeds=[record["spec"]["seed"] for record in records],
        states=dict(sorted(Counter(record.get("state", "unknown") for record in records).items())),
        total=len(records),
        reached=sum(time.reached for time in epochs.values()),
        share_perfect=perfect / len(records),
        epochs_to_target=_median(epochs),
        mean_epochs=_mean(epochs, horizon),
        seconds_to_target=_median(seconds),
        epochs_to_held_out=_median(held_out),
        times=epochs,
        seconds=seconds,
        held_out_times=held_out,
        ended_seeds=[record["spec"]["seed"] for record in ended],
        last_held_out=[row["held_out_accuracy"] for row in last],
        gap=[row["train_accuracy"] - row["held_out_accuracy"] for row in last],
        loss_gap=[row["held_out_loss"] - row["train_loss"] for row in last],
        last_held_out_loss=[row["held_out_loss"] for row in last],
        last_train_loss=[row["train_loss"] for row in last],
        speedup=race.speedup,
        p=race.p,
        p_holm=race.p_holm,
        smallest_p=smallest_p(race.speedup.num_pairs) if race.speedup and race.speedup.pairs else None,
        seconds_speedup=seconds_race.speedup,
        seconds_p=seconds_race.p,
        seconds_p_holm=seconds_race.p_holm,
        held_out_speedup=held_out_race.speedup,
        held_out_p=held_out_race.p,
        held_out_p_holm=held_out_race.p_holm,
    )


def _median(times: Times) -> Estimate:
    return median_time([time.value for time in times.values()], [time.reached for time in times.values()])


def _mean(times: Times, horizon: float) -> Estimate:
    if horizon <= 0:  # nobody was looked at after the untrained model
        return Estimate(None, None, None)
    return restricted_mean(
        [time.value for time in times.values()], [time.reached for time in times.values()], horizon
    )


def alpha_of(plans: Sequence[Plan], records: Sequence[Mapping[str, Any]]) -> float:
    """The error of the intervals: 0.05, or what belongs to the look at which a study ended once it was decided."""
    plan = declared(plans)
    if plan is None or not plan.looks:
        return ALPHA
    runs = set(plan.runs)
    seeds = {record["spec"]["seed"] for record in records if record["run"] in runs and record.get("spec")}
    return spent_at([look for look in LOOKS if look.seeds in plan.looks] or LOOKS, len(seeds))


def analyse_planned(
    records: Iterable[Mapping[str, Any]], plans: Sequence[Plan], apart_from: Collection[str] = ()
) -> list[TaskSummary]:
    """A summary for each comparison of the runs of all plans.

    Runs of a plan with `own_settings` are compared among themselves; one that no other plan asked for stays out of the rest,
    where it would stand alone in a comparison of its own. `apart_from` (that of `analyse`) overrules all plans.
    """
    known = [Record.of(each) for each in records]
    alpha = alpha_of(plans, known)
    if apart_from:
        return analyse(known, apart_from=apart_from, alpha=alpha)
    apart = [plan for plan in plans if plan.own_settings and _one_an_arm(_runs_of(plan, known), plan)]
    elsewhere = {run for plan in plans if plan not in apart for run in plan.runs}
    taken = {run for plan in apart for run in plan.runs} - elsewhere
    tasks = tasks_of(known)
    summaries = analyse([record for record in known if record["run"] not in taken], tasks=tasks, alpha=alpha)
    for plan in _largest(apart):
        summaries += analyse(_runs_of(plan, known), apart_from=plan.own_settings, tasks=tasks, alpha=alpha)
    return summaries


def _largest(plans: Sequence[Plan]) -> list[Plan]:
    """Without those whose runs another contains: the same study, first with fewer seeds."""
    chosen: list[Plan] = []
    for plan in sorted(plans, key=lambda each: -len(set(each.runs))):
        if not any(set(plan.runs) <= set(other.runs) for other in chosen):
            chosen.append(plan)
    return chosen


def _runs_of(plan: Plan, records: Sequence[Record]) -> list[Record]:
    wanted = set(plan.runs)
    return [record for record in records if record["run"] in wanted]


def _one_an_arm(records: Sequence[Record], plan: Plan) -> bool:
    """Whether the runs of each arm of a task agree in what may differ between arms; those of a search do not."""
    seen: dict[tuple[str, str], list[object]] = {}
    for record in records:
        spec = flat(record.get("spec") or {})
        if "task" in spec:
            own: list[object] = [spec.get(key) for key in plan.own_settings]
            if seen.setdefault((str(spec["task"]), arm_of(record["spec"]).label), own) != own:
                return False
    return True
