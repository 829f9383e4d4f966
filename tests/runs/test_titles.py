"""A run in a few words, as long as they tell it apart."""

from io import StringIO

from rich.console import Console

from semfocus.cli.status import picture
from semfocus.execution.display import PlainLines, described_runs
from semfocus.runs.arms import run_title, varying_keys
from semfocus.runs.progress import RunProgress, StudyProgress
from semfocus.runs.record import Record


def test_only_what_varies_is_said(tiny_spec) -> None:
    specs = [tiny_spec(seed=seed, model={"num_blocks": blocks}) for blocks in (1, 2) for seed in (3, 4)]
    plain = [spec.model_dump(mode="json") for spec in specs]
    assert varying_keys(plain) == ["model.num_blocks"]
    assert varying_keys(plain[:2]) == []
    titles = [run_title(spec, varying_keys(plain)) for spec in plain]
    assert len(set(titles)) == 4
    assert titles[0].endswith("num_blocks=1 seed 3")


def test_progress_lines_tell_runs_apart(tiny_spec) -> None:
    specs = [tiny_spec(seed=3, model={"num_blocks": blocks}) for blocks in (1, 2)]
    console = Console(file=StringIO(), width=200)
    watcher = PlainLines(described_runs(specs), console, 30.0)
    for spec in specs:
        watcher.run_ended(spec, Record({"state": "failed", "reason": "no", "run": spec.digest}))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert ["num_blocks=1" in lines[0], "num_blocks=2" in lines[1]] == [True, True]


def shown(*studies: StudyProgress) -> str:
    console = Console(file=StringIO(), width=200)
    console.print(picture(list(studies)))
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_status_tells_studies_and_runs_apart(tiny_spec) -> None:
    runs = [
        RunProgress(spec.digest, "running", spec=spec.model_dump(mode="json"))
        for spec in (tiny_spec(seed=3, model={"num_blocks": blocks}) for blocks in (1, 2))
    ]
    text = shown(
        *(StudyProgress("mine", "Which?", f"semfocus study mine --seeds {seed},", runs) for seed in (7, 8))
    )
    assert "--seeds 7," in text
    assert "--seeds 8," in text
    assert "num_blocks=1 seed 3" in text
    assert "num_blocks=2 seed 3" in text


def test_status_of_a_study_whose_workers_are_starting_says_so() -> None:
    assert "workers take some seconds to start" in shown(
        StudyProgress("mine", "Which?", "semfocus study mine", [RunProgress("a", "planned")])
    )
    begun = [RunProgress("a", "planned"), RunProgress("b", "running")]
    assert "to start" not in shown(StudyProgress("mine", "Which?", "semfocus study mine", begun))
