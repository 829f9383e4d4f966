"""ListOps by other means than the package's: the usual generator, a recursive evaluator, all short trees."""

import random
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

MAX_DEPTH, OPERATOR_SHARE = 10, 0.25
OPERATORS = {
    "[MIN": min,
    "[MAX": max,
    "[MED": lambda values: int(statistics.median(values)),
    "[SM": lambda values: sum(values) % 10,
}
Tree = int | tuple[str, list["Tree"]]


class TooLongError(Exception):
    """A tree has outgrown the range: it would be thrown away anyway."""


def usual_tree(source: random.Random, longest: int) -> tuple[Tree, int]:
    """The recursive generator, and the length; gives up on a tree as soon as it is too long."""
    length = 0

    def node(depth: int) -> Tree:
        nonlocal length
        length += 1
        if length > longest:
            raise TooLongError
        if depth == MAX_DEPTH or source.random() >= OPERATOR_SHARE:
            return source.randrange(10)
        length += 1
        operator = source.choice(list(OPERATORS))
        return operator, [node(depth + 1) for _ in range(source.randint(2, 10))]

    tree = node(1)
    if length > longest:
        raise TooLongError
    return tree, length


def usual_trees(num: int, low: int, high: int, seed: int) -> list[Tree]:
    """Trees by rejection: thrown away until the length lies in the range."""
    source, trees = random.Random(seed), []
    while len(trees) < num:
        try:
            tree, length = usual_tree(source, high)
        except TooLongError:
            continue
        if length >= low:
            trees.append(tree)
    return trees


def parse(symbols: list[str]) -> Tree:
    """The tree of a token list; malformed lists raise."""
    words = iter(symbols)

    def node(word: str) -> Tree:
        if word.isdigit():
            return int(word)
        assert word in OPERATORS, word
        arguments = []
        while (following := next(words)) != "]":
            arguments.append(node(following))
        return word, arguments

    tree = node(next(words))
    assert next(words, None) is None, "something follows the tree"
    return tree


def value(tree: Tree) -> int:
    return tree if isinstance(tree, int) else OPERATORS[tree[0]]([value(argument) for argument in tree[1]])


@dataclass(frozen=True)
class Measures:
    length: int
    depth: int
    mean_depth: float
    num_operators: int
    mean_arguments: float
    root_arguments: int
    first_length: int
    last_length: int
    min_share: float


def nodes(tree: Tree, depth: int = 1) -> Iterator[tuple[int, Tree]]:
    yield depth, tree
    if not isinstance(tree, int):
        for argument in tree[1]:
            yield from nodes(argument, depth + 1)


def length_of(tree: Tree) -> int:
    return sum(1 if isinstance(node, int) else 2 for _, node in nodes(tree))


def measure(tree: Tree) -> Measures:
    """What is compared between two ways of drawing trees, one number of each kind a tree."""
    assert not isinstance(tree, int)
    found = list(nodes(tree))
    inner = [node for _, node in found if not isinstance(node, int)]
    return Measures(
        length=len(found) + len(inner),
        depth=max(depth for depth, _ in found),
        mean_depth=statistics.fmean(depth for depth, _ in found),
        num_operators=len(inner),
        mean_arguments=statistics.fmean(len(arguments) for _, arguments in inner),
        root_arguments=len(tree[1]),
        first_length=length_of(tree[1][0]),
        last_length=length_of(tree[1][-1]),
        min_share=statistics.fmean(operator == "[MIN" for operator, _ in inner),
    )


def every_shape(length: int) -> dict[str, float]:
    """All trees of a length with digits written as d and operators as [, and their probabilities.

    For lengths so short that the maximum depth does not matter.
    """
    if length == 1:
        return {"d": 1 - OPERATOR_SHARE}
    shapes: dict[str, float] = {}
    for num in range(2, 11):
        for forest, share in every_forest(length - 2, num).items():
            shapes[f"[{forest}]"] = OPERATOR_SHARE / 9 * share
    return shapes


def every_forest(length: int, num: int) -> dict[str, float]:
    """The same for `num` trees side by side, `length` long together."""
    if num == 0:
        return {"": 1.0} if length == 0 else {}
    forests: dict[str, float] = {}
    for first_length in range(1, length - num + 2):
        for first, first_share in every_shape(first_length).items():
            for others, share in every_forest(length - first_length, num - 1).items():
                forests[first + others] = first_share * share
    return forests
