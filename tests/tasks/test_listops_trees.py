"""Exact sampling against enumeration at short lengths, and against rejection at longer ones."""

import random
from dataclasses import fields

import numpy as np
import pytest
from scipy import stats

from semfocus.tasks import TASKS
from semfocus.tasks.listops import length_distribution
from tests.tasks.helpers import SMALLEST_P, fit, same_categories, seeded
from tests.tasks.listops_oracle import (
    MAX_DEPTH,
    Measures,
    TooLongError,
    Tree,
    every_shape,
    measure,
    nodes,
    parse,
    usual_tree,
    usual_trees,
)

LISTOPS = TASKS["listops"]
CATEGORIES = {"depth", "root_arguments"}


def our_trees(num: int, low: int, high: int) -> list[Tree]:
    tokens = LISTOPS.sample(num, (low, high), seeded())[0]
    return [parse(LISTOPS.text_of(row).split()) for row in tokens]


def p_values(first: list[Tree], second: list[Tree]) -> dict[str, float]:
    """One test for each measure: by category where there are few values, else Kolmogorov-Smirnov."""
    left, right = [list(map(measure, trees)) for trees in (first, second)]
    found = {}
    for name in (field.name for field in fields(Measures)):
        pair = [[getattr(each, name) for each in side] for side in (left, right)]
        test = same_categories if name in CATEGORIES else lambda *pair: stats.ks_2samp(*pair).pvalue
        found[name] = float(test(*pair))
    return found


def test_length_probabilities_are_those_of_all_short_trees() -> None:
    expected = [0.0, *(sum(every_shape(length).values()) for length in range(1, 13))]
    assert length_distribution(12).root.tolist() == pytest.approx(expected)


def test_length_probabilities_do_not_depend_on_the_longest_asked_for() -> None:
    assert np.allclose(length_distribution(30).root, length_distribution(80).root[:31], rtol=1e-12, atol=0)


def test_about_one_usual_tree_in_94_has_the_papers_length() -> None:
    assert 1 / length_distribution(599).root[501:].sum() == pytest.approx(94, abs=0.5)


def test_length_probabilities_are_those_of_the_usual_generator() -> None:
    source, lengths = random.Random(0), []
    for _ in range(20_000):
        try:
            lengths.append(usual_tree(source, 40)[1])
        except TooLongError:
            lengths.append(41)
    root = length_distribution(40).root
    assert fit(lengths, dict(enumerate([*root.tolist(), 1 - root.sum()]))) > SMALLEST_P


@pytest.mark.parametrize("length", [7, 10, 13])
def test_shapes_have_the_exact_distribution(length: int) -> None:
    shapes = every_shape(length)
    total = sum(shapes.values())
    rows = LISTOPS.sample(20_000, length, seeded())[0].tolist()
    drawn = ("".join("d" if token < 10 else "]" if token == 14 else "[" for token in row) for row in rows)
    assert fit(drawn, {shape: share / total for shape, share in shapes.items()}) > SMALLEST_P


def test_depth_and_arguments_stay_in_bounds_and_reach_them() -> None:
    found = [pair for tree in our_trees(500, 501, 599) for pair in nodes(tree)]
    assert max(depth for depth, _ in found) == MAX_DEPTH
    assert {len(node[1]) for _, node in found if not isinstance(node, int)} == set(range(2, 11))


def test_trees_are_distributed_as_by_rejection() -> None:
    found = p_values(our_trees(2000, 21, 59), usual_trees(2000, 21, 59, seed=0))
    assert min(found.values()) > SMALLEST_P, found


@pytest.mark.slow
def test_trees_of_the_papers_length_are_distributed_as_by_rejection() -> None:
    found = p_values(our_trees(2000, 501, 599), usual_trees(2000, 501, 599, seed=0))
    print(found)
    assert min(found.values()) > SMALLEST_P, found
