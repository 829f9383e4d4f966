"""The quantile of Student's t distribution that a two-sided interval needs."""

from functools import lru_cache

#: of all intervals in this package
LEVEL = 0.95


@lru_cache
def t_factor(degrees_of_freedom: int) -> float:
    """How many standard errors a 95 % interval reaches to each side: 4.30 with 2 degrees of freedom."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # far quicker to import than scipy.stats

    return float(stdtrit(degrees_of_freedom, (1 + LEVEL) / 2))
