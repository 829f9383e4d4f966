"""Make every picture of docs/learn.md, in its order, and print the numbers that it quotes.

python examples/learn/all.py
"""

import runpy
from pathlib import Path

#: the order of docs/learn.md
SCRIPTS = (
    "attention",
    "lipschitz",
    "softmax_stability",
    "peaked",
    "tie",
    "separation",
    "dispersion",
    "null",
    "sharpness",
    "twins",
)


def main() -> None:
    import picture  # beside this script: found when the script is run

    picture.IMAGES = Path(__file__).parents[2] / "docs" / "images" / "learn"
    for name in SCRIPTS:
        print(f"== {name}")
        runpy.run_path(str(Path(__file__).parent / f"{name}.py"), run_name="__main__")


if __name__ == "__main__":
    main()
