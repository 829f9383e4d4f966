"""The words of every page, of the terminal and of the Markdown text, each once, in tests/golden.

Other tests look at findings and values. After a change of words: `pytest tests/test_golden.py --write-golden`, and read
the difference.
"""

import math
import re
from collections.abc import Callable
from io import StringIO
from typing import Any

from rich.console import Console

from semfocus import __version__
from semfocus.analysis.sentences import pooled_sentence
from semfocus.analysis.summaries import analyse
from semfocus.cli import trial_result
from semfocus.cli.study_result import _print_summary
from semfocus.mechanisms import parse_pattern
from semfocus.report.markdown import report_text
from semfocus.report.pages.landscape_page import landscape_page
from semfocus.report.pages.probe_page import probe_page
from semfocus.report.pages.study_page import report_page
from semfocus.report.pages.trial_page import trial_page
from semfocus.runs.plan import Plan
from semfocus.runs.record import Record
from semfocus.trial.curve import Curve
from semfocus.trial.result import TrialResult
from semfocus.trial.spec import FULL, SHARPER_FULL, Arm, TrialSettings
from semfocus.trial.verdict import judge, judge_pairs
from semfocus.trial.wording import sentence, time_sentence, too_few
from tests.analysis.records import CASES
from tests.analysis.test_verdict import over_tasks, parity_stays_at_97
from tests.analysis.why.test_mediators import carried_by_different_layers, turned_round
from tests.cli.test_bounds import JUDGED, compared
from tests.report import planted_study
from tests.report.made_up import study
from tests.report.pages import Lines
from tests.report.test_landscape_page import made_up as made_up_landscape
from tests.report.test_lengths import row as length_row
from tests.report.test_probe_page import probed
from tests.report.test_twins import twins
from tests.trial.test_trial import made_up as made_up_trial
from tests.trial.test_verdict import STEPS, learner, pairs

Golden = Callable[[str, str], None]


def steady(text: str) -> str:
    """Without what differs from day to day, and without the commands of single runs."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "DATE", text)
    lines = [line for line in text.splitlines() if "| semfocus train " not in line]
    return "\n".join(lines).replace(__version__, "VERSION")


def test_the_page_of_a_study(golden: Golden) -> None:
    """Three seeds, so no verdicts; everything was measured."""
    records = [
        Record(
            each,
            measurements={
                **each.measurements,
                "twins": [twins(1.0 + place % 4)],
                "lengths": [length_row(length, 1 - length / 100) for length in (40, 80)],
            },
        )
        for place, each in enumerate(planted_study.study())
    ]
    runs = [each.run for each in records]
    plan = Plan(name="planted", question="Why?", command="semfocus study planted", runs=runs, own_settings=[])
    golden("study_page", steady(Lines(report_page(records, plans=[plan], title="Why?")).text))


def why_of(text: str) -> str:
    """The section of a Markdown report."""
    _, section = text.split("\n## Why? ", 1)
    return section.split("\n## ", 1)[0]


def test_why_by_layer(golden: Golden) -> None:
    """Focus before learning, under the contrast of a plan; and tests that name the layer that carries focus."""
    records, plan = turned_round()
    focus = why_of(report_text(records, plans=[plan]))
    tests = why_of(report_text(carried_by_different_layers())).splitlines()
    golden("why_by_layer", "\n".join([focus, *(line for line in tests if line.startswith(("### ", "- ")))]))


def judged() -> list[dict[str, Any]]:
    """Six seeds, so verdicts; arms that never arrive, a run that diverged, runs that failed, a second setting."""
    records = study(tasks=3, seeds=6, epochs=60)
    records += study(tasks=1, seeds=2, epochs=60, training__learning_rate=0.1)
    records[1] |= {"state": "failed", "reason": "RuntimeError: no keys today"}
    records[2] |= {"state": "diverged", "reason": "loss is nan at epoch 7, batch 12"}
    return records


def test_the_markdown_text(golden: Golden) -> None:
    golden("markdown", steady(report_text(judged(), title="Which one learns first?")))


def test_the_terminal(golden: Golden) -> None:
    console = Console(file=StringIO(), width=120, highlight=False)
    for summary in analyse(judged()):
        _print_summary(console, summary)
    assert isinstance(console.file, StringIO)
    golden("terminal", console.file.getvalue())


def test_the_page_of_probes(golden: Golden) -> None:
    golden("probe_page", steady(Lines(probe_page(probed("parity"))).text))


def test_the_page_of_landscapes(golden: Golden) -> None:
    odd = made_up_landscape("full", train_accuracy=0.6, own_loss=0.02)
    odd.grids[1].losses[4, 6] = 0.004
    odd.grids[0].losses[0, 0] = math.inf
    surfaces = [odd, made_up_landscape("top_k(5)", 0.5, train_accuracy=1.0)]
    golden("landscape_page", steady(Lines(landscape_page(surfaces, "semfocus landscape 0123")).text))


def trial_of(num_seeds: int, **ends: float) -> TrialResult:
    """A trial whose arms fall from 1 to their ends, seed by seed a little differently."""
    settings = TrialSettings(steps=80, batch_size=16, looks=8, warmup_steps=2, held_out=16)
    arms = {"full": FULL, "sharper": SHARPER_FULL, "top_k": Arm(parse_pattern("top_k(3)"))}
    arms["banded"] = Arm(parse_pattern("banded(3)"))
    used = {name: arms[name] for name in ends}
    records: dict[Arm, dict[int, dict[str, Any]]] = {}
    for name, own in used.items():
        records[own] = {}
        for seed in range(num_seeds):
            rate = ends[name] * (1 + 0.02 * seed)
            losses = [0.1 + 0.9 * math.exp(-rate * step / 80) for step in settings.look_steps()]
            looks = [
                {
                    "step": step,
                    "quantities": {name: {"median": 1.0 + seed} for name in ("effective_keys", "dispersion")},
                }
                for step in (0, 80)
            ]
            records[own][seed] = {
                **{"run": f"{name}-{seed}", "state": "done", "reason": None, "attempts": 1, "inside": looks},
                **{
                    "seconds_per_step": 0.01,
                    "curve": {"step": settings.look_steps(), "held_out_loss": losses},
                },
            }
            records[own][seed]["curve"]["train_loss"] = [None, *losses[1:]]
    rates = dict.fromkeys(used.values(), 1e-3)
    patterns = sum(own not in (FULL, SHARPER_FULL) for own in used.values())
    return TrialResult(
        "model.py",
        "classification",
        "data.csv",
        tuple(used.values()),
        patterns,
        settings,
        rates,
        records,
        0.693,
    )


def test_the_page_of_a_trial(golden: Golden, capsys: Any) -> None:
    result = trial_of(7, full=2.0, sharper=2.1, top_k=4.0, banded=0.2)
    page = steady(Lines(trial_page(result, "semfocus trial model.py data.csv")).text)
    trial_result.print_result(result)
    golden("trial_page", f"{page}\n\n== in the terminal\n{capsys.readouterr().out}")


def test_sentences_on_comparisons(golden: Golden) -> None:
    found = []
    for name, arms in CASES.items():
        (summary,) = analyse([each for own in arms for each in own])
        found += [f"== {name}", summary.sentence, *(f"Note: {note}" for note in summary.notes), ""]
    over = {
        "two seeds on each": over_tasks({"even_pairs": 2, "parity": 2, "cycle_navigation": 2}),
        "two seeds on one": over_tasks({"even_pairs": 6, "parity": 6, "cycle_navigation": 2}),
        "one stays at 97 %": parity_stays_at_97(),
    }
    for name, (finding,) in over.items():
        found += [f"== several tasks, {name}", pooled_sentence(finding), ""]
    golden("sentences", "\n".join(found))


def test_words_of_bounds(golden: Golden) -> None:
    found = []
    for name, (changes, _) in JUDGED.items():
        found += [f"== {name}", *compared(**changes)["words"], ""]
    golden("bounds", "\n".join(found))


FASTER, EITHER = (0.62, 0.7, 0.71, 0.72, 0.75, 0.8), (0.9, 1.1, 1.0, 1.05, 0.95, 1.02)
SLOWER = tuple(1 / each for each in FASTER)
#: ratios of steps, and how much higher the arm ended with each seed
PAIRS: dict[str, tuple[tuple[float, ...], list[float] | None]] = {
    "faster": (FASTER, None),
    "slower": ((1.2, 1.3, 1.4, 1.2, 1.3, 1.4), None),
    "no evidence": (EITHER, None),
    "too few seeds": ((0.5, 0.4, 0.3), None),
    "faster and higher": (FASTER, [1.0] * 6),
    "faster, missed once": (FASTER, [1.0] + [-1.0] * 5),
    "higher": (EITHER, [1e-3] * 6),
    "lower": (EITHER, [-1.0] * 6),
    "slower and lower": (SLOWER, [-1.0] * 6),
    "slower to the same": (SLOWER, [0.0] * 6),
}


def test_sentences_on_trials(golden: Golden) -> None:
    found = []
    for name, (ratios, higher) in PAIRS.items():
        verdict = judge_pairs(pairs(*ratios, higher=higher), "top_k(8)")
        found += [f"== {name}", sentence(verdict), time_sentence(verdict), ""]
    full = {seed: learner(400, 1.0, seed=seed) for seed in range(6)}
    gone = dict.fromkeys(full, Curve(STEPS[:5], [4.0, 3.5, 3.0, 2.5, 2.0], diverged=True))
    fast, slow = ({seed: learner(speed, 1.0, seed=seed) for seed in range(6)} for speed in (200, 600))
    low_and_rising = {seed: learner(100, 1.0, rising=1.0, seed=seed) for seed in range(6)}
    others = {
        "never as low": (full, {seed: learner(120, 1.9, rising=1.0, seed=seed) for seed in range(6)}),
        "against a loss that rose again": (
            low_and_rising,
            {seed: learner(60, 0.8, seed=seed) for seed in full},
        ),
        "diverged": (full, gone),
        "full attention diverged": (gone, full),
        "both diverged": (gone, gone),
        "some diverged": (full, fast | {0: gone[0], 1: gone[1]}),
        "some diverged, the others ended higher": (full, slow | {0: gone[0], 1: gone[1]}),
    }
    for name, (baseline, other) in others.items():
        found += [f"== {name}", sentence(judge(baseline, other, "top_k(8)")), ""]
    found += ["== few seeds", too_few(3)]
    for name, losses, guess in (
        ("nobody learned", [0.9, 0.75, 0.71, 0.71, 0.71], 0.693),
        ("still falling", [4.0, 3.0, 2.0, 1.0, 0.5], 3.0),
        ("worse than at the start", [0.7, 0.8, 0.8, 0.8, 0.8], 0.693),
    ):
        found += ["", f"== {name}", *made_up_trial(losses, guess).sentences()]
    golden("trial_sentences", "\n".join(found))
