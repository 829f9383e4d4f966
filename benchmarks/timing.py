"""What the benchmarks share: interleaved medians, the machine, tables, CSV files, claims."""

import argparse
import csv
import platform
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import perf_counter

import torch

from semfocus.mechanisms import kernels_in_use

RESULTS = Path(__file__).parent / "results"


#: a turn lasts at least this long: a single short call is lost in the noise of the clock and the machine
TURN_SECONDS = 0.02


def interleaved(methods: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median milliseconds of a call of each method, measured in turns.

    A turn is one call that does not count (what other methods left in the caches is not this one's cost), then calls
    for at least TURN_SECONDS, whose mean counts. A first round warms up and does not count.
    """
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    for repeat in range(repeats + 1):
        for name, method in methods.items():
            method()
            if repeat:
                seconds[name].append(turn(method))
    return {name: 1e3 * statistics.median(values) for name, values in seconds.items()}


def turn(method: Callable[[], object]) -> float:
    """Mean seconds of a call."""
    started, calls = perf_counter(), 0
    while calls == 0 or perf_counter() - started < TURN_SECONDS:
        method()
        calls += 1
    return (perf_counter() - started) / calls


def describe_machine() -> str:
    """The processor and the software that the numbers belong to."""
    return (
        f"{processor()}, {torch.get_num_threads()} threads by default; kernels: {kernels_in_use()}; "
        f"torch {torch.__version__} ({torch.backends.cpu.get_cpu_capability()}); "
        f"Python {platform.python_version()}; float32"
    )


def processor() -> str:
    """The model name of the processor, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Columns as wide as their longest entry; words to the left, numbers to the right."""
    rows = list(rows)
    columns = []
    for title, values in zip(header, zip(*rows, strict=True), strict=True):
        texts = [title, *map(as_text, values)]
        width, is_words = max(map(len, texts)), any(isinstance(value, str) for value in values)
        columns.append([text.ljust(width) if is_words else text.rjust(width) for text in texts])
    for line in zip(*columns, strict=True):
        print("  ".join(line).rstrip())
    print()


def as_text(value: object) -> str:
    """A number with three significant digits, without an exponent; anything else as it is."""
    if not isinstance(value, float):
        return "" if value is None else str(value)
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Numbers with four significant digits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for row in rows:
            writer.writerow([f"{value:.4g}" if isinstance(value, float) else value for value in row])
    print(f"written: {path}")


def print_claim(
    what: str, value: float, *, at_least: float | None = None, at_most: float | None = None
) -> None:
    """One line: what was claimed, what was measured, and whether it holds."""
    if at_least is not None:
        claimed, holds = f"at least {at_least:g}", value >= at_least
    else:
        assert at_most is not None
        claimed, holds = f"at most {at_most:g}", value <= at_most
    print(f"{what}: {value:.2f}, claimed {claimed}: {'holds' if holds else 'MISSED'}")


def benchmark_parser(description: str | None, repeats: int) -> argparse.ArgumentParser:
    """The options of every benchmark."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=repeats, help=f"rounds that count (default {repeats})")
    parser.add_argument("--smoke", action="store_true", help="one round of the smallest case: does it run?")
    return parser


def started(parser: argparse.ArgumentParser, words: Sequence[str] | None) -> argparse.Namespace:
    """The options given, after printing where the numbers come from."""
    arguments = parser.parse_args(words)
    print(describe_machine())
    if arguments.smoke:
        print("a smoke run: its numbers and verdicts mean nothing")
    return arguments


def add_output(parser: argparse.ArgumentParser) -> None:
    """The folder for CSV files."""
    parser.add_argument(
        "--output", type=Path, help="folder for the CSV file (default benchmarks/results; none with --smoke)"
    )


def output_folder(arguments: argparse.Namespace) -> Path | None:
    """Where results go; a smoke run must not overwrite real ones."""
    return arguments.output or (None if arguments.smoke else RESULTS)
