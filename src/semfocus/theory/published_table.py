"""The measurements that the paper printed, from which its left-hand sides follow (docs/theory.md, section 5)."""

from dataclasses import dataclass

PUBLISHED_K = 5
QUANTILES = (75, 90, 95, 100)


@dataclass(frozen=True)
class PublishedCell:
    """One task at one quantile q of dispersions and key load, and 100 - q of the separation."""

    task: str
    length: int
    quantile: int
    dispersion_full: float
    dispersion_topk: float
    separation: float
    key_load_times_k: float

    @property
    def beta(self) -> float:
        return self.key_load_times_k / PUBLISHED_K


_MEASURED = {
    ("listops", 600): (
        (8.61, 18.5, 29.4, 87.8),
        (3.51, 6.74, 9.67, 28.2),
        (0.016, 0.005, 0.002, 1e-9),
        (1, 3, 15, 598),
    ),
    ("parity", 40): (
        (8.30, 10.1, 11.2, 19.4),
        (2.31, 3.13, 3.78, 9.16),
        (0.062, 0.022, 0.011, 1e-6),
        (8, 13, 16, 33),
    ),
    ("even_pairs", 40): (
        (2.03, 4.73, 9.44, 14.6),
        (1.03, 2.84, 5.50, 8.25),
        (0.009, 0.003, 0.002, 3e-8),
        (6, 17, 26, 40),
    ),
    ("missing_duplicate", 40): (
        (4.63, 9.25, 17.1, 23.9),
        (2.36, 4.25, 4.88, 10.5),
        (0.018, 0.006, 0.003, 1e-7),
        (7, 15, 21, 40),
    ),
}

PUBLISHED_TABLE = tuple(
    PublishedCell(task, length, *column)
    for (task, length), measured in _MEASURED.items()
    for column in zip(QUANTILES, *measured, strict=True)
)
