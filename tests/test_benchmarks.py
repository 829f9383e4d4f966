"""The benchmarks run, and what they compare computes the same. No time is checked."""

import importlib
import math
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
TIMED = ("attention_speed", "masked_speed", "training_step")

Script = Callable[[str], ModuleType]

LONGER = [pytest.param(name, marks=pytest.mark.slow) for name in ("memory", "epoch", "hugging_face_speed")]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """script(name): the module, imported as if run in its folder."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module


@pytest.mark.parametrize("name", [*TIMED, "fused_block", "probes", "landscape", *LONGER])
def test_runs_and_names_its_claim(script: Script, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = script(name)
    assert module.__doc__ is not None
    assert module.__doc__.startswith("Claim: ")
    module.main(["--smoke"])
    assert "kernels: " in capsys.readouterr().out


def test_make_bench_runs_every_script_with_a_claim() -> None:
    makefile = (BENCHMARKS.parent / "Makefile").read_text(encoding="utf-8")
    named = next(line for line in makefile.splitlines() if line.startswith("BENCHMARKS :="))
    scripts = {
        path.stem
        for path in BENCHMARKS.glob("*.py")
        if "claim" in path.read_text(encoding="utf-8")[:12].lower()
    }
    assert set(named.split()[2:]) == scripts


def test_all_ways_to_write_top_k_agree(script: Script) -> None:
    methods = script("attention_methods").available_methods()
    inputs = torch.randn(3, 2, 1, 30, 8, generator=torch.Generator().manual_seed(0))
    for names in (("ours top_k", "gathered top-k", "dense-masked top-k"), ("ours full", "SDPA full")):
        expected, *others = (methods[name].build(5)(*inputs) for name in names)
        for other in others:
            torch.testing.assert_close(other, expected)


def test_the_mask_keeps_the_same_keys(script: Script) -> None:
    module = script("masked_speed")
    query, key, value = torch.randn(3, 1, 1, 30, 8, generator=torch.Generator().manual_seed(0))
    for pattern in module.PATTERNS:
        mask = module.kept_keys(pattern, 30)
        masked = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        torch.testing.assert_close(masked, module.attention(query, key, value, pattern))


def test_results_go_where_they_are_asked_to_and_can_be_read(script: Script, tmp_path: Path) -> None:
    script("attention_speed").main(["--smoke", "--output", str(tmp_path)])
    curves = script("plot").read_curves(tmp_path / "attention.csv")
    assert [length for length, _ in curves["ours top_k"]] == [64, 96]
    assert "SDPA full" in curves


def test_the_plot_is_drawn(script: Script, tmp_path: Path) -> None:
    script("attention_speed").main(["--smoke", "--output", str(tmp_path)])
    script("plot").main(["--input", str(tmp_path / "attention.csv"), "--output", str(tmp_path)])
    assert "SDPA full" in (tmp_path / "attention_cost.svg").read_text(encoding="utf-8")


def test_the_correlation_of_seeds_over_tasks_is_found_where_it_was_planted(script: Script) -> None:
    import numpy

    module = script("seed_correlation")
    draw = numpy.random.default_rng(0)
    seeds, noise = draw.normal(size=200), draw.normal(size=(4, 200))
    for shared, expected in ((0.0, 0.0), (1.0, 0.5)):
        logs = shared * seeds + noise
        found = module.correlation(logs - logs.mean(axis=1, keepdims=True))
        assert found == pytest.approx(expected, abs=0.1)
    alike = numpy.tile(seeds - seeds.mean(), (4, 1))
    assert module.correlation(alike) == pytest.approx(1.0)


def test_seeds_that_go_together_make_pairs_err_and_whole_seeds_not(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in twenty is promised; of six seeds that are the same on all tasks pairs count each four times."""
    module = script("seed_correlation")
    monkeypatch.setattr(module, "SIZES", ((4, 6),))
    monkeypatch.setattr(module, "CORRELATIONS", (0.0, 1.0))
    apart, together = [list(map(float, row[2:])) for row in module.simulated(200)]
    assert together[0] > 25 > 15 > apart[0]
    assert max(apart[1], together[1]) < 15
    assert min(apart[2], together[2]) > 70


def test_the_factorial_by_hand(script: Script) -> None:
    """Full 80, start 40, rate 20, both 5: 2, 4 and 16 times faster, so 16 / (2 x 4) = 2 beyond their product."""
    module = script("factorial")
    when = {"full": 80.0, module.START: 40.0, module.RATE: 20.0, module.BOTH: 5.0, module.SHARP: 10.0}
    times = {arm: dict.fromkeys(range(6), value) for arm, value in when.items()}
    del times[module.BOTH][5]  # it never arrived
    found = {name: module.effect([module.logs_of(times, powers)]) for name, powers in module.EFFECTS.items()}
    ratios = {name: round(ratio, 9) for name, (ratio, _, _) in found.items()}
    assert ratios == {
        **{"start": 2, "rate": 4, "both": 16, "x10": 8},
        **{"interaction": 2, "interaction of x10": 1},
    }
    assert len(module.logs_of(times, module.EFFECTS["interaction"])) == 5
    one, other = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [3.0]
    assert module.effect([one])[1:] == pytest.approx((1.0, math.exp(1.0))), "six pairs: from end to end"
    assert module.effect([one, other])[0] == pytest.approx(math.exp(1.75)), "each task counts the same"


def cells_of(printed: str) -> list[list[str]]:
    """Of a Markdown table, without its head."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines()[2:]]


def test_the_table_of_first_passages_is_what_its_command_prints(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    script("first_passages").main([str(ROOT / "results" / "small")])
    published = (ROOT / "docs" / "results_details.md").read_text(encoding="utf-8")
    part = published.partition("### First passages")[2].partition("###")[0]
    assert {line for line in part.splitlines() if " of " in line and line.startswith("| ")} == {
        f"| {' | '.join(row)} |" for row in cells_of(capsys.readouterr().out)
    }


def test_the_table_of_equal_dispersion_is_what_its_command_prints(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page has one to three digits of each number."""
    script("equal_dispersion").main([str(ROOT / "results" / "why")])
    printed = {tuple(row[:2]): row[2:5] for row in cells_of(capsys.readouterr().out)}
    published = (ROOT / "docs" / "results_details.md").read_text(encoding="utf-8")
    part = published.partition("### Equal dispersion")[2].partition("###")[0]
    task, num = "", 0
    for line in part.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[1].isdigit():
            task, num = cells[0] or task, num + 1
            for own, other in zip(cells[2:], printed[task, cells[1]], strict=True):
                numbers = [re.findall(r"[0-9.]+", text) for text in (own, other)]
                for shown, exact in zip(*numbers, strict=True):
                    step = 10.0 ** -len(shown.partition(".")[2])
                    assert float(shown) == pytest.approx(float(exact), abs=0.56 * step), line
    assert num == 9
