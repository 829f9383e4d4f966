"""The sentence on a comparison: it reports what the findings hold, and no more."""

# ruff: noqa: RUF001  (the multiplication sign of a label)

from semfocus.analysis.contrasts import analyse
from tests.analysis.records import arm, record

TEN = list(range(40, 50))


def sentence(*arms: list[dict]) -> str:
    (summary,) = analyse([each for records in arms for each in records])
    return summary.sentence


def test_a_verdict_of_six_seeds_for_a_stranger() -> None:
    text = sentence(
        arm("full", [40, 47, 58, 44, 50, 42]),
        arm("top_k(5)", [7, 7, 13, 8, 9, 8]),
        arm("full", [3, 3, 4, 3, 4, 3], inverse_temperature=4.0),
        arm("banded(5)", [None] * 6),
    )
    assert text == (
        "even_pairs, to 95 % training accuracy: top-5 attention learned 5.5x faster than full attention [4.4, 7.8], 6 of 6 seeds "
        "(p = 0.0312, the smallest that 6 seeds can give); sharper full attention (×4) 14.2x [12.3, 23.5]; "
        "slower: banded(5) at most 0.76x; full ×4 beat top_k(5), 2.5x [2, 4.3]."
    )


def test_five_seeds_say_what_they_assume() -> None:
    text = sentence(arm("full", [40, 47, 58, 44, 50]), arm("top_k(5)", [7, 7, 13, 8, 9]))
    assert "5.6x faster than full attention [4.5, 7.8], 5 of 5 seeds (assumes log-normal ratios" in text


def test_three_seeds_give_an_estimate_and_no_verdict() -> None:
    text = sentence(arm("full", [40, 47, 58]), arm("top_k(5)", [7, 7, 13]), arm("banded(5)", [None] * 3))
    assert "No verdict: 3 seeds, 5 are needed. By estimate top-5 attention was 5.7x as fast" in text
    assert "banded(5) ≤ 0.78x" in text


def test_the_largest_estimate_comes_first_where_nobody_is_judged() -> None:
    text = sentence(
        arm("full", [59, 36]),
        arm("banded(5)", [53, 32]),
        arm("full", [35, 20], inverse_temperature=4.0),
    )
    assert "By estimate sharper full attention (×4) was 1.74x" in text
    assert text.index("×4") < text.index("banded")


def test_arms_with_too_few_seeds_stand_apart_from_those_judged() -> None:
    text = sentence(
        arm("full", TEN[:5]),
        arm("top_k(5)", [5, 6, 5, 6, 5]),
        arm("top_k(9)", [2, 2]),
        arm("banded(5)", [59] * 5),
    )
    assert "slower: banded(5) 0.71x; too few seeds for a verdict: top_k(9) 20.2x" in text


def test_what_is_equivalent_and_what_is_undecided() -> None:
    text = sentence(
        arm("full", TEN[:8]),
        arm("banded(5)", [epoch + (-1) ** epoch for epoch in TEN[:8]]),
        arm("block_local(5)", [20, 60, 25, 59, 58, 30, 55, 21]),
    )
    assert "nothing clearly learned faster than full attention" in text
    assert "as fast within a factor of 1.25: banded(5) 1x" in text
    assert "undecided: block_local(5)" in text


def test_at_least_where_full_never_arrives() -> None:
    text = sentence(arm("full", [None] * 6), arm("top_k(5)", [6, 7, 10, 7, 8, 7]))
    assert "learned at least 8.6x faster" in text
    assert ", ∞]" in text


def test_sharpness_against_sparsity() -> None:
    full, top_k = arm("full", [40, 47, 58, 44, 50, 45]), arm("top_k(5)", [12, 14, 20, 13, 16, 14])
    less = arm("full", [30, 35, 45, 33, 40, 36], inverse_temperature=4.0)
    assert "top_k(5) beat full ×4, 2.5x [" in sentence(full, top_k, less)
    alike = arm("full", [11, 15, 19, 12, 18, 14], inverse_temperature=4.0)
    assert "full ×4 against top_k(5): undecided, 1.0" in sentence(full, top_k, alike)
    # top_k that is itself sharpened is no answer to the question
    sharpened = [arm(name, [2] * 6, inverse_temperature=4.0) for name in ("top_k(5)", "full")]
    assert "against" not in sentence(full, *sharpened)


def test_one_seed_is_a_picture() -> None:
    text = sentence(arm("full", [40]), arm("top_k(5)", [7]))
    assert text.endswith("5.7x as fast as full attention; one seed: a picture, not yet a result.")


def test_when_there_is_nothing_to_say() -> None:
    assert "no run of any arm reached" in sentence(arm("full", [None] * 3), arm("top_k(5)", [None] * 3))
    assert "there is no run of full to compare with" in sentence(arm("top_k(5)", [4, 5]))
    assert "nothing to compare full with" in sentence(arm("full", [4, 5]))
    assert "nothing to compare full with" in sentence([record("full", 1, 4)], [record("top_k(5)", 2, 4)])


def test_no_verdict_before_all_runs_have_ended() -> None:
    running = [record("top_k(5)", seed, 2, last=9, state="unfinished") for seed in range(6)]
    text = sentence(arm("full", TEN[:6]), running)
    assert "No verdict: not all runs have ended." in text
    assert "faster than" not in text


def test_when_full_alone_arrives() -> None:
    text = sentence(arm("full", [10, 11, 12, 11, 10]), arm("top_k(5)", [None] * 5))
    assert "only full attention got there; slower: top_k(5) at most 0.18x" in text


def test_runs_that_diverged_or_failed_are_part_of_the_answer() -> None:
    full = [record("full", seed, last=3, state="diverged") for seed in range(3)]
    assert "3 of 3 runs of full diverged" in sentence(full, arm("top_k(5)", [6, 7, 10]))


def test_a_baseline_that_ended_early_is_no_slower_one() -> None:
    full = [record("full", seed, last=2, state="failed") for seed in range(3)]
    text = sentence(full, arm("top_k(5)", [6, 7, 10]))
    assert "the runs ended too early to tell" in text.lower()
    assert "3 of 3 runs of full failed" in text
