"""The words of the table."""

from semfocus.analysis.statistics import Estimate, Speedup, Time, median_time
from semfocus.analysis.summaries import analyse
from semfocus.analysis.tables import COLUMNS, speedup_text, summary_rows, time_text
from semfocus.words import number
from tests.analysis.records import arm


def test_a_table_of_three_seeds() -> None:
    records = [*arm("full", [40, 47, None]), *arm("top_k(5)", [7, 7, 13], seconds=0.25)]
    full, top_k = summary_rows(analyse(records)[0])
    assert tuple(full) == tuple(top_k) == tuple(COLUMNS)
    assert top_k | {"speedup": "", "seconds_speedup": "", "short_speedup": ""} == {
        "arm": "top_k(5)",
        "group": "input-dependent",
        "reached": "3/3",
        "perfect": "3/3",
        "epochs": "7 (7 to 13)",
        "seconds": "1.75 (1.75 to 3.3)",
        "speedup": "",
        "short_speedup": "",
        "seconds_speedup": "",
        "p": "0.25 (0.25), at best 0.25",
        "held_out_epochs": "> 60",
        "last_held_out": "90 %",
        "short_held_out": "90 %",
        "gap": "+10.0 points",
    }
    assert top_k["speedup"].startswith("at least 5.7x [")
    assert top_k["speedup"].endswith(", ∞]")
    assert top_k["short_speedup"].startswith("≥ 5.7x [")
    assert (full["epochs"], full["reached"], full["speedup"], full["p"]) == (
        "47 (40 to > 60)",
        "2/3",
        "baseline",
        "",
    )


def test_times() -> None:
    some = {seed: Time(7 + seed, True) for seed in range(10)}
    assert time_text(Estimate(11.5, 8, 15), some) == "11.5 [8, 15]"
    assert time_text(Estimate(11.5, 8, None), some | {9: Time(40, False)}) == "11.5 [8, ∞]"
    assert time_text(Estimate(None, 8, None, 40), some | {9: Time(40, False)}) == "> 40"
    assert time_text(Estimate(7, 0, None), {1: Time(7, True)}) == "7"
    assert time_text(Estimate(None, None, None), {}) == ""


def shown(*times: Time) -> str:
    found = median_time([time.value for time in times], [time.reached for time in times])
    return time_text(found, dict(enumerate(times)))


def test_what_is_said_of_a_median_follows_from_what_was_seen() -> None:
    """By hand: the middle of two, of which one or both are only known to be later."""
    assert (
        shown(Time(20.9, False), Time(40.7, False)) == "> 30.8"
    )  # were both there at once: (20.9 + 40.7) / 2
    assert shown(Time(317, True), Time(400, False)) == "> 358"  # (317 + 400) / 2, downwards: a bound
    assert shown(Time(30.0, False), Time(39.0, True)) == "39 (> 30 to 39 or later)"  # Kaplan-Meier: 1, then 0
    assert shown(Time(5, True), Time(7, True), Time(40, False)) == "7 (5 to > 40)"
    assert shown(Time(5, True), Time(12, False), Time(40, False)) == "> 12"
    assert shown(Time(0, False), Time(0, False)) == ""  # never started: nothing was seen


def test_numbers_near_one_show_their_side_and_halves_go_up() -> None:
    assert [number(value) for value in (1.004, 0.998, 1.0, 1.00001, 2.25, 176.5, 1.1)] == [
        *("1.004", "0.998", "1", "1.00001", "2.3", "177", "1.1")
    ]


def test_speedups() -> None:
    pairs = analyse([*arm("full", [1]), *arm("top_k(5)", [1])])[0].arms[1].speedup.pairs  # type: ignore[union-attr]
    assert speedup_text(Speedup(5.71, 3.14, 10.44, pairs, method="t")) == "5.7x [3.1, 10.4]"
    assert speedup_text(Speedup(2.3, 1.4, None, pairs, at_least=True, method="t")) == "at least 2.3x [1.4, ∞]"
    assert speedup_text(Speedup(0.5, None, 0.8, pairs, at_most=True, method="t")) == "at most 0.50x [0, 0.80]"
    assert speedup_text(Speedup(None, None, None, pairs, method="t")) == "unknown [0, ∞]"
    assert speedup_text(Speedup(2e6, 0.0001, 3e9, pairs, method="t")) == "1000+x [under 0.01, 1000+]"
    assert speedup_text(Speedup(2.0, None, None, pairs)) == "2x"
    assert speedup_text(Speedup(None, None, None)) == "no common seed"
    assert speedup_text(None) == ""


def test_a_baseline_of_its_own_name() -> None:
    rows = summary_rows(analyse([*arm("full", [4, 5]), *arm("top_k(5)", [2, 3])], baseline="top_k(5)")[0])
    assert [row["speedup"] == "baseline" for row in rows] == [False, True]
