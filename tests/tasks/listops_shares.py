"""Exact label shares of ListOps: by enumeration at short lengths, by polynomials at all."""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from tests.tasks.listops_oracle import MAX_DEPTH, OPERATOR_SHARE, OPERATORS, every_shape


def enumerated_shares(length: int) -> list[float]:
    """Label shares at a short length: every shape with every digit and operator in it."""
    shares = [0.0] * 10
    for shape, share in every_shape(length).items():
        for label, part in enumerate(_value_shares(shape)):
            shares[label] += share * part
    return [share / sum(shares) for share in shares]


def _value_shares(shape: str) -> np.ndarray:
    if shape == "d":
        return np.full(10, 0.1)
    arguments = [_value_shares(argument) for argument in _arguments(shape)]
    shares = np.zeros(10)
    for values in itertools.product(range(10), repeat=len(arguments)):
        part = math.prod(argument[each] for argument, each in zip(arguments, values, strict=True))
        for operator in OPERATORS.values():
            shares[operator(values)] += part / 4
    return shares


def _arguments(shape: str) -> Iterator[str]:
    """Of [d[dd]d]: d, [dd] and d."""
    level, start = 0, 1
    for place, symbol in enumerate(shape[1:-1], start=1):
        level += {"[": 1, "]": -1}.get(symbol, 0)
        if level == 0:
            yield shape[start : place + 1]
            start = place + 1


def exact_shares(low: int, high: int) -> np.ndarray:
    """Label shares (10,) of trees of low to high symbols: P(length, value) by depth, from the deepest upwards.

    A polynomial in z whose coefficients belong to lengths is held by its values at roots of unity, so that
    side by side is a product. `at_most[v]` is the polynomial of one argument with a value of at most v.
    """
    size = 10 * high + 1  # ten arguments of full length do not wrap round
    leaf = np.zeros((10, high + 1))
    leaf[:, 1] = 0.1
    node = leaf
    for _ in range(MAX_DEPTH - 1):
        argument = np.fft.rfft(node, size)
        at_most = np.cumsum(argument, axis=0)
        outcome = _smallest(at_most) + _largest(at_most) + _median(at_most) + _sum(argument)
        inner = np.fft.irfft(outcome / 4, size)[:, : high - 1]
        node = (1 - OPERATOR_SHARE) * leaf
        node[:, 2:] += OPERATOR_SHARE * inner
    shares = node[:, low:].sum(axis=1)
    return shares / shares.sum()


def _over_counts(polynomial: np.ndarray) -> np.ndarray:
    """2 to 10 arguments, each of this kind."""
    return np.mean([polynomial**num for num in range(2, 11)], axis=0)


def _largest(at_most: np.ndarray) -> np.ndarray:
    return np.diff(_over_counts(at_most), axis=0, prepend=0)


def _smallest(at_most: np.ndarray) -> np.ndarray:
    above = at_most[-1] - at_most
    at_least = np.concatenate([at_most[-1:], above[:-1]])
    return _over_counts(at_least) - _over_counts(above)


def _sum(argument: np.ndarray) -> np.ndarray:
    turns = np.exp(-2j * np.pi * np.outer(np.arange(10), np.arange(10)) / 10)
    return turns.conj() @ _over_counts(turns @ argument) / 10


def _median(at_most: np.ndarray) -> np.ndarray:
    """From P(lower middle <= a and upper middle <= b): at least so many arguments at most a, at most b."""
    joint = np.zeros((11, 11, at_most.shape[1]), complex)  # [a + 1, b + 1]
    for low, high in itertools.combinations_with_replacement(range(10), 2):
        kinds = (at_most[low], at_most[high] - at_most[low], at_most[-1] - at_most[high])
        powers = [np.cumprod([np.ones_like(kind), *[kind] * 10], axis=0) for kind in kinds]
        for num in range(2, 11):
            for below in range((num - 1) // 2 + 1, num + 1):
                for between in range(max(num // 2 + 1 - below, 0), num - below + 1):
                    ways = math.comb(num, below) * math.comb(num - below, between)
                    term = powers[0][below] * powers[1][between] * powers[2][num - below - between]
                    joint[low + 1, high + 1] += ways * term / 9
        joint[high + 1, low + 1] = joint[low + 1, low + 1]  # never lower > upper
    outcome = np.zeros_like(at_most)
    for low, high in itertools.combinations_with_replacement(range(10), 2):
        both = joint[low + 1, high + 1] - joint[low, high + 1] - joint[low + 1, high] + joint[low, high]
        outcome[(low + high) // 2] += both
    return outcome
