"""The simulation runs, and it can tell an honest interval from one that is not."""

import importlib
import random
from pathlib import Path
from statistics import fmean
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def simulation(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("interval_coverage")


def test_prints_both_tables(simulation: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    simulation.main(["--repeats", "2"])
    lines = capsys.readouterr().out.splitlines()
    rows = len(simulation.NUM_SEEDS) * len(simulation.CENSORED)
    assert sum(line.startswith("| ") for line in lines) == 2 + rows * (len(simulation.WORLDS) + 2)


@pytest.mark.parametrize("num", [3, 5, 10])
@pytest.mark.parametrize("censored", [0.0, 0.2, 0.5])
def test_the_interval_contains_the_truth(simulation: ModuleType, num: int, censored: float) -> None:
    draw = random.Random(0)
    for world in simulation.WORLDS:
        studies = [simulation.study(draw, world, num, censored) for _ in range(100)]
        # 100 studies at a true 95 %: 88 or fewer happen once in 250 times; the draws are fixed
        assert fmean(simulation.contains(simulation.ours(*each), world.speedup) for each in studies) > 0.88


def test_counting_censored_runs_as_arrived_is_caught(simulation: ModuleType) -> None:
    draw = random.Random(0)
    studies = [simulation.study(draw, simulation.WORLDS[0], 10, 0.5) for _ in range(100)]
    assert fmean(simulation.contains(simulation.as_if_exact(*each), 3) for each in studies) < 0.8
