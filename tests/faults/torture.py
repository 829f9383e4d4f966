"""Every attack on the promise that nothing is lost, printed as one table: `make torture`, `make torture-long`.

What was tried is kept until a file of the project changes: the same command continues after an interruption.

    python -m tests.faults.torture                  # all that is missing, then the tables
    python -m tests.faults.torture --long           # hours instead of minutes
    python -m tests.faults.torture --only power     # one part
"""

import argparse
import sys

import torch

from tests.faults import crowd, kills, matrix, power, resumption, takeovers
from tests.faults.kept import Effort, Kept
from tests.kernels.numerics import campaign as numerics
from tests.mutants import campaign as mutants
from tests.portable import fingerprint

PARTS = {
    part.name: part
    for part in (
        matrix.PART,
        power.PART,
        kills.PART,
        takeovers.PART,
        crowd.PART,
        resumption.PART,
        numerics.PART,
        mutants.PART,
    )
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--long", action="store_true", help="all that can be tried, in hours")
    parser.add_argument("--workers", type=int, default=2, help="processes at once")
    parser.add_argument("--only", choices=list(PARTS), action="append", help="may be repeated")
    options = parser.parse_args()
    torch.set_num_threads(1)
    kept = Kept(fingerprint())
    for name in options.only or PARTS:
        PARTS[name].attack(kept, Effort(options.long, options.workers))
        print(f"{name}: done", file=sys.stderr, flush=True)
    for name, part in PARTS.items():
        if rows := kept.rows(name):
            print(f"{part.table(rows)}\n")
    problems = [problem for row in kept.rows() for problem in row["problems"]]
    for problem in problems:
        print(" ".join(problem.split()))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
