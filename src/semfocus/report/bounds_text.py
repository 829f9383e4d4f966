"""Comparisons of bounds in words: which layer says what, and what that does not mean."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from semfocus.theory import PUBLISHED_K, PUBLISHED_TABLE, compare_numbers, gaussian_null_at

Column = Mapping[str, Any]
HOLDS = {True: "holds", False: "does not hold"}


def size(value: float) -> str:
    """A constant in a few characters.

    >>> size(125.0), size(2e9), size(10.93), size(float("inf"))
    ('125', '2e9', '10.9', 'infinite')
    """
    if math.isinf(value):
        return "infinite"
    text = f"{value:.3g}"
    return text.replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def in_words(column: Column) -> list[str]:
    """What the numbers of one column say, as sentences."""
    (topk, full), (topk_a, full_a) = column["exact"]["route_b"], column["exact"]["route_a"]
    constants = (
        f"Exact: a change of W can move the output by {size(topk)} with top-k and by {size(full)} with full attention "
        f"(route B, in units of ΥΞ³); counted in l1 (route A) {size(topk_a)} against {size(full_a)}, "
        f"where the condition {HOLDS[column['exact']['a']]}."
    )
    return [f"{_published(column)}; {_exact(column)}.", constants, *_cautions(column)]


def _published(column: Column) -> str:
    found = {"W": column["published"]["w"], "X": column["published"]["x"]}
    known = {name: holds for name, holds in found.items() if holds is not None}
    names = " and ".join(known)
    if all(known.values()):
        return f"The published condition holds ({names}): top-k's bound is the smaller one"
    if any(known.values()):
        return (
            f"The published condition holds for {next(name for name, holds in known.items() if holds)} only"
        )
    beside = ", although the same with the sharper top-k constant (max-form) does" * column["maxform"]["w"]
    return f"The published condition does not hold ({names}): top-k's bound is the larger one{beside}"


def _exact(column: Column) -> str:
    if column["exact"]["b"]:
        return "with exact constants it holds" + " too" * column["published"]["w"]
    return "with exact constants it does not" + " either" * (not column["published"]["w"])


def _cautions(column: Column) -> list[str]:
    notes = []
    if column["beta"] is not None and column["beta"] < 1:
        notes.append(
            f"A key load of {size(column['beta'])} is not a maximum, which is at least 1: X is judged too kindly."
        )
    if column.get("quantile", 100) != 100:
        notes.append("Only the 100 % column holds for all queries; the others pair separate quantiles.")
    local = column.get("local")
    if local:
        topk, full = local["lambda_w"]
        smaller = "top-k" if local["w"] else "full attention"
        notes.append(
            f"Measured locally, at sampled queries only (the largest of them is no supremum), {smaller} has the smaller constant: {size(topk)} against {size(full)}."
        )
    return notes


def null_ratios(k: int, length: int) -> dict[int, float]:
    """c1 of independent Gaussian scores at a few quantiles, for numbers that do not say which they are of."""
    return {quantile: gaussian_null_at(length, k, quantile)["c1"] for quantile in (50, 75, 100)}


def null_text(column: Column, k: int, length: int) -> str:
    """The c1 of noise: at the quantile of the column, or at several where a number has none.

    >>> null_text({"quantile": 75, "null_c1": 0.257}, 5, 40)
    'independent Gaussian scores of one size: 0.257 at 75 %'
    """
    found = {column["quantile"]: column["null_c1"]} if "quantile" in column else null_ratios(k, length)
    said = ", ".join(f"{value:.3f} at {quantile} %" for quantile, value in found.items())
    return f"independent Gaussian scores of one size: {said}"


def comparison_lines(column: Column, k: int, length: int) -> list[str]:
    """One column as a small table."""
    published, exact = column["published"], column["exact"]
    rows = [
        ("published", "W", f"left-hand side {published['lhs_w']:.6f}", "< 1", published["w"]),
        ("max-form", "W", f"margin {column['maxform']['margin']:+.6f}", "< 0", column["maxform"]["w"]),
        (
            "exact",
            "A",
            f"top-k {size(exact['route_a'][0])}",
            f"< full {size(exact['route_a'][1])}",
            exact["a"],
        ),
        (
            "exact",
            "B",
            f"top-k {size(exact['route_b'][0])}",
            f"< full {size(exact['route_b'][1])}",
            exact["b"],
        ),
    ]
    if published["x"] is not None:
        rows.insert(1, ("published", "X", f"left-hand side {published['lhs_x']:.6f}", "< 1", published["x"]))
    if column.get("local"):
        topk, full = column["local"]["lambda_w"]
        # of a sample of queries, so not under a heading that says all of them
        rows.append(("sampled", "W", f"top-k {size(topk)}", f"< full {size(full)}", column["local"]["w"]))
    lines = [
        f"c1 = {column['c1']:.4f} ({null_text(column, k, length)})   c2 = {size(column['c2'])}",
        f"{'constants':<10} {'':<2} {'found':<24} {'wanted':<14} verdict",
    ]
    return lines + [
        f"{layer:<10} {what:<2} {found:<24} {wanted:<14} {HOLDS[holds]}"
        for layer, what, found, wanted, holds in rows
    ]


def published_columns() -> list[dict[str, Any]]:
    """The paper's table, recomputed from the measurements that it printed."""
    return [
        {
            "task": cell.task,
            "length": cell.length,
            "quantile": cell.quantile,
            "null_c1": gaussian_null_at(cell.length, PUBLISHED_K, cell.quantile)["c1"],
            **compare_numbers(
                cell.dispersion_full,
                cell.dispersion_topk,
                cell.separation,
                cell.beta,
                PUBLISHED_K,
                cell.length,
            ),
        }
        for cell in PUBLISHED_TABLE
    ]


def counts(columns: Sequence[Column]) -> dict[str, int]:
    """In how many columns each comparison holds."""
    return {
        "published_w": sum(each["published"]["w"] for each in columns),
        "published_x": sum(bool(each["published"]["x"]) for each in columns),
        "maxform": sum(each["maxform"]["w"] for each in columns),
        "route_a": sum(each["exact"]["a"] for each in columns),
        "route_b": sum(each["exact"]["b"] for each in columns),
    }


def published_lines(columns: Sequence[Column]) -> list[str]:
    """The table as text; a star marks where top-k has the smaller constant."""
    lines = [
        f"{'task':<18} {'q':>3}  {'LHS_W':>9} {'LHS_X':>10} {'max-form':>11}  "
        f"{'A: top-k':>9} {'full':>5}   {'B: top-k':>9} {'full':>4}  {'c1':>5} {'null':>5}"
    ]
    for each in columns:
        published, exact = each["published"], each["exact"]
        marks = [published["w"], published["x"], each["maxform"]["w"], exact["a"], exact["b"]]
        w, x, form, a, b = ("*" if holds else " " for holds in marks)
        lines.append(
            f"{each['task']:<18} {each['quantile']:>3}  {published['lhs_w']:>8.6f}{w} {published['lhs_x']:>9.6f}{x} "
            f"{each['maxform']['margin']:>+10.6f}{form}  {size(exact['route_a'][0]):>9} {size(exact['route_a'][1]):>5}{a}  "
            f"{size(exact['route_b'][0]):>9} {size(exact['route_b'][1]):>4}{b} {each['c1']:>5.3f} {each['null_c1']:>5.3f}"
        )
    found, num = counts(columns), len(columns)
    return [
        *lines,
        "",
        "* top-k has the smaller constant (published: left-hand side < 1; max-form: margin < 0; A, B: top-k < full)",
        f"published W holds in {found['published_w']} of {num} cells, X in {found['published_x']}; max-form in "
        f"{found['maxform']}; with exact constants route A in {found['route_a']}, route B in {found['route_b']}.",
        "Only q = 100 is over all queries; the other columns pair separate quantiles. null: c1 of independent",
        "Gaussian scores at the same quantile (100: the largest of 10,000 queries); theirs have one size, two models need not.",
    ]
