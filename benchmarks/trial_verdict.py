"""How often the verdict of `semfocus trial` is wrong where nothing differs, and how often it sees what was planted.

Whole trials are made up: learning curves with a floor, noise at every look, seeds that start late or learn slowly (the
two runs of a seed share half of that), in several worlds, among them some in which the ratio of steps is far from normal.
Where the arm is full attention under another name, every verdict is a false one. Where it learns 1.5 times as fast, the
share of verdicts that say so is the power; beside it stands the power that the verdicts themselves claim for the ratio of
steps that this makes. (On a plateau, or after overfitting, 1.5 times as fast is another ratio.)

    python benchmarks/trial_verdict.py [--repeats 2000]
"""

import argparse
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from semfocus.trial.curve import Curve
from semfocus.trial.verdict import Verdict, judge

NUM_SEEDS = tuple(range(3, 11))
FACTOR = 1.5
STEPS, LOOKS = 1000, 25


@dataclass(frozen=True)
class World:
    """Where curves come from: loss = floor + (1 - floor) * shape(speed * step) + noise."""

    name: str
    spread: float = 0.15  # of the logarithm of the speed
    noise: float = 0.004  # of a look
    heavy_tails: bool = False
    plateau: bool = False  # learned after a third of the steps; then tiny differences decide
    sudden: bool = False  # nothing, then everything
    overfits: bool = False  # the held-out loss rises again


WORLDS = (
    World("steady"),
    World("steady, seeds differ much", spread=0.4),
    World("heavy tails", heavy_tails=True),
    World("plateau", plateau=True),
    World("sudden", sudden=True, spread=0.3),
    World("overfits", overfits=True),
    World("noisy looks", noise=0.03),
)


def deviate(draw: random.Random, world: World) -> float:
    normal = draw.gauss(0, 1)
    return normal / math.sqrt(draw.gammavariate(1.5, 2 / 3) * 3) if world.heavy_tails else normal


def curve(draw: random.Random, world: World, shared: float, factor: float) -> Curve:
    own = deviate(draw, world)
    speed = factor * math.exp(world.spread * (math.sqrt(0.5) * shared + math.sqrt(0.5) * own))
    floor = 0.2 + 0.02 * draw.gauss(0, 1) * world.plateau
    steps = [STEPS * look // LOOKS for look in range(LOOKS + 1)]
    losses = []
    for step in steps:
        progress = speed * step / STEPS
        if world.sudden:
            shape = 1 / (1 + math.exp(14 * (progress - 0.6)))
        else:
            shape = math.exp(-(9 if world.plateau else 2.5) * progress)
        risen = 0.3 * max(0.0, progress - 0.7) if world.overfits else 0.0
        losses.append(floor + (1 - floor) * shape + risen + world.noise * draw.gauss(0, 1))
    return Curve(steps, losses, seconds_per_step=math.exp(0.05 * draw.gauss(0, 1)))


def trial(draw: random.Random, world: World, num: int, factor: float) -> Verdict:
    """The verdict on one made-up trial whose arm learns `factor` times as fast."""
    full, arm = {}, {}
    for seed in range(num):
        shared = deviate(draw, world)
        full[seed] = curve(draw, world, shared, 1.0)
        arm[seed] = curve(draw, world, shared, factor)
    return judge(full, arm, "arm")


@dataclass(frozen=True)
class Outcome:
    """Shares of simulated trials."""

    wrong: float  # a difference was claimed where there is none
    seen: float  # the planted difference was claimed, in its direction
    claimed: float  # what the verdicts say that share is, for the ratio that was really planted
    ratio: float  # of steps to the same loss, where the arm learns 1.5 times as fast


def outcome(world: World, num: int, repeats: int) -> Outcome:
    draw = random.Random(f"{world.name} {num}")
    null = [trial(draw, world, num, 1.0) for _ in range(repeats)]
    planted = [trial(draw, world, num, FACTOR) for _ in range(repeats)]
    planted_log = fmean(pair.log for each in planted for pair in each.pairs)
    return Outcome(
        fmean(each.finding in ("faster", "slower") for each in null),
        fmean(each.finding == "faster" for each in planted),
        fmean(each.power(math.exp(abs(planted_log))) for each in planted),
        math.exp(planted_log),
    )


def rows(repeats: int) -> Iterator[list[str]]:
    for world in WORLDS:
        for num in NUM_SEEDS:
            found = outcome(world, num, repeats)
            yield [
                world.name,
                str(num),
                f"{found.wrong:.1%}",
                f"{found.ratio:.2f}",
                f"{found.seen:.0%}",
                f"{found.claimed:.0%}",
            ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--repeats", type=int, default=2000, help="simulated trials a row, with and without an effect"
    )
    repeats = parser.parse_args(arguments).repeats
    print("| world | seeds | false verdicts | steps, planted | seen | claimed |")
    print("|---|---|---|---|---|---|", flush=True)
    worst = 0.0
    for row in rows(repeats):
        worst = max(worst, float(row[2].rstrip("%")) / 100)
        print("| " + " | ".join(row) + " |", flush=True)
    print(f"\nlargest share of false verdicts: {worst:.1%} (claim: at most 7 %)")
    return int(worst > 0.07)


if __name__ == "__main__":
    raise SystemExit(main())
