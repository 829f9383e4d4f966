"""The sentence says what the runs say, and no more."""

# ruff: noqa: RUF001  (the multiplication sign of a label)

from semfocus.analysis.contrasts import analyse
from tests.analysis.records import arm, record

TEN = list(range(40, 50))


def sentence(*arms: list[dict]) -> str:
    (summary,) = analyse([each for records in arms for each in records])
    return summary.sentence


def test_five_seeds_say_who_by_how_much_and_how_sure() -> None:
    text = sentence(arm("full", [40, 47, 58, 44, 50]), arm("top_k(5)", [7, 7, 13, 8, 9]))
    assert text == (
        "even_pairs: top_k(5) needed 5.6x fewer epochs than full to reach 95 % training accuracy "
        "(95 % interval [4.5, 7.8], 5 seeds, sign-flip p = 0.0625; "
        "the smallest p that 5 seeds can give is 0.0625)."
    )


def test_three_seeds_give_an_estimate_and_no_verdict() -> None:
    text = sentence(
        arm("full", [40, 47, 58]), arm("top_k(5)", [7, 7, 13]), arm("banded(5)", [None, None, None])
    )
    assert text == (
        "even_pairs: No verdict: 3 seeds, 5 are needed. "
        "By estimate top_k(5) was the fastest to 95 % training accuracy, 5.7x as fast as full in epochs "
        "(95 % interval [3.3, 11.6], sign-flip p = 0.25; the smallest that 3 seeds can give is 0.25); "
        "below 1x: banded(5) at most 0.78x."
    )


def test_two_agreeing_seeds_do_not_win_against_a_larger_estimate() -> None:
    """Ratios that happen to agree make a narrow interval, and the old sentence named their arm."""
    text = sentence(
        arm("full", [59, 36], last=60),
        arm("banded(5)", [53, 32], last=60),
        arm("full", [35, 20], inverse_temperature=4.0, last=60),
    )
    assert text.startswith(
        "even_pairs: No verdict: 2 seeds, 5 are needed. "
        "By estimate full ×4 was the fastest to 95 % training accuracy, 1.74x"
    )
    assert "also above 1x: banded(5) 1.12x" in text
    assert "needed" not in text.partition("are needed.")[2]


def test_arms_with_too_few_seeds_stand_apart_from_those_judged() -> None:
    text = sentence(
        arm("full", TEN[:5]),
        arm("top_k(5)", [5, 6, 5, 6, 5]),
        arm("top_k(9)", [2, 2]),
        arm("banded(5)", [59] * 5),
    )
    assert "top_k(5) needed 8x fewer epochs" in text
    assert "behind full: banded(5) 0.71x; too few seeds for a verdict: top_k(9) 20.2x" in text


def test_the_largest_estimate_is_shown_where_it_is_not_clearly_ahead() -> None:
    full = arm("full", [40, 47, 58, 44, 50])
    unsure = arm("full", [1, 60, 2, 60, 3], inverse_temperature=10.0, last=60)
    text = sentence(full, arm("full", [20, 22, 30, 21, 24], inverse_temperature=4.0), unsure)
    assert "full ×4 needed 2.1x fewer epochs" in text
    assert "not clearly ahead: full ×10 16.7x" in text


def test_no_word_of_significance_where_it_cannot_be_had() -> None:
    for num in (2, 3, 4, 5):
        assert "significant" not in sentence(arm("full", TEN[:num]), arm("top_k(5)", [2] * num))
    assert ": significant at 0.05;" in sentence(arm("full", TEN[:6]), arm("top_k(5)", [2] * 6))
    # Six seeds are too few once four arms are tested: the smallest corrected p is 0.125.
    four = [arm(f"top_k({k})", [2] * 6) for k in (3, 5, 7, 9)]
    assert "significant" not in sentence(arm("full", TEN[:6]), *four)


def test_an_interval_above_one_need_not_be_significant() -> None:
    many = [arm(f"top_k({k})", [2] * 10) for k in (3, 5, 7)]
    assert ": significant at 0.05" in sentence(arm("full", TEN), *many)
    assert ": not significant at 0.05" in sentence(
        arm("full", [20, 40, 20, 40, 20, 40, 20, 40, 20, 40]),
        arm("top_k(5)", [40, 20, 40, 20, 40, 20, 40, 20, 40, 19]),
    )


def test_at_least_where_full_never_arrives() -> None:
    text = sentence(arm("full", [None] * 5), arm("top_k(5)", [6, 7, 10, 7, 8]))
    assert "top_k(5) needed at least 8.6x fewer epochs than full" in text
    assert ", ∞]" in text


def test_when_nothing_beats_full() -> None:
    full = arm("full", [10, 11, 12, 11, 12])
    banded = arm("banded(5)", [40, 41, 47, 42, 46])
    text = sentence(full, arm("top_k(5)", [9, 13, 12, 10, 13]), banded)
    assert "no arm clearly reached 95 % training accuracy sooner than full" in text
    assert "behind full: banded(5) 0.26x" in text
    assert (
        "by estimate none was faster than full to 95 % training accuracy, the next was banded(5), 0.26x as fast in epochs"
    ) in sentence(full, banded)


def test_sharpness_against_sparsity() -> None:
    full, top_k = arm("full", [40, 47, 58, 44, 50]), arm("top_k(5)", [12, 14, 20, 13, 16])
    sharper = arm("full", [3, 3, 4, 3, 4], inverse_temperature=10.0)
    assert "full ×10 beat top_k(5), 4.3x [" in sentence(full, top_k, sharper)
    less = arm("full", [30, 35, 45, 33, 40], inverse_temperature=4.0)
    assert "top_k(5) beat full ×4, 2.5x [" in sentence(full, top_k, less)
    alike = arm("full", [11, 15, 19, 12, 18], inverse_temperature=4.0)
    assert "undecided between top_k(5) and full ×4: full ×4 was 1.05x [" in sentence(full, top_k, alike)
    assert "beat top_k(5), the best of their kinds by estimate, 4.3x [" in sentence(
        full, top_k, sharper, less
    )
    few = sentence(full[:3], top_k[:3], sharper[:3])
    assert "full ×10 was 4.7x [" in few
    assert "beat" not in few
    # top_k that is itself sharpened is no answer to the question
    assert "undecided" not in sentence(
        full,
        arm("top_k(5)", [2] * 5, inverse_temperature=4.0),
        arm("full", [2] * 5, inverse_temperature=4.0),
    )


def test_one_seed_is_a_picture() -> None:
    text = sentence(arm("full", [40]), arm("top_k(5)", [7]))
    assert "5.7x as fast as full in epochs; one seed: a picture, not yet a result." in text
    assert "p =" not in text


def test_when_there_is_nothing_to_say() -> None:
    assert "no run of any arm reached" in sentence(arm("full", [None] * 3), arm("top_k(5)", [None] * 3))
    assert "there is no run of full to compare with" in sentence(arm("top_k(5)", [4, 5]))
    assert "nothing to compare full with" in sentence(arm("full", [4, 5]))
    assert "nothing to compare full with" in sentence([record("full", 1, 4)], [record("top_k(5)", 2, 4)])


def test_a_study_that_goes_on_says_so() -> None:
    running = [record("top_k(5)", seed, 7, last=9, state="unfinished") for seed in range(3)]
    assert sentence(arm("full", [40, 47, 58]), running).startswith(
        "even_pairs (so far: not all runs have ended): No verdict: 3 seeds, 5 are needed. By estimate top_k(5)"
    )


def test_no_verdict_before_all_runs_have_ended() -> None:
    running = [record("top_k(5)", seed, 2, last=9, state="unfinished") for seed in range(6)]
    text = sentence(arm("full", TEN[:6]), running)
    assert "sign-flip p = 0.0312; no verdict before all runs have ended" in text
    assert "significant" not in text


def test_when_full_alone_arrives() -> None:
    text = sentence(
        arm("full", [10, 11, 12, 11, 10]), arm("top_k(5)", [None] * 5), arm("banded(5)", [None] * 5)
    )
    assert text.startswith(
        "even_pairs: only full reached 95 % training accuracy; behind full: top_k(5) at most "
    )
    few = sentence(arm("full", [10, 11, 12]), arm("top_k(5)", [None] * 3))
    assert few == (
        "even_pairs: No verdict: 3 seeds, 5 are needed. "
        "Only full reached 95 % training accuracy; below 1x: top_k(5) at most 0.18x."
    )
    one = sentence(arm("full", [10]), arm("top_k(5)", [None]))
    assert (
        one == "even_pairs: only full reached 95 % training accuracy; one seed: a picture, not yet a result."
    )
    assert "only" not in sentence(arm("full", [10, 11, 12]), arm("top_k(5)", [None, None, 50]))


def test_runs_that_diverged_or_failed_are_part_of_the_answer() -> None:
    lost = arm("full", [None] * 3, last=4, state="diverged")
    text = sentence(lost, arm("top_k(5)", [6, 7, 10]))
    assert "By estimate top_k(5) was the fastest" in text
    assert text.endswith("; 3 of 3 runs of full diverged.")
    failing = [*arm("top_k(5)", [6, 7]), record("top_k(5)", 2, None, last=3, state="failed")]
    assert sentence(arm("full", [40, 47, 58]), failing).endswith("; 1 of 3 runs of top_k(5) failed.")
    assert sentence(lost, arm("top_k(5)", [None] * 3)).endswith("; 3 of 3 runs of full diverged.")


def test_a_baseline_that_ended_early_is_no_slower_one() -> None:
    """Looked at for 10 epochs, full needs at least 0.25 times the 40 of top_k: that may be 0.3 or 30."""
    text = sentence(arm("full", [None] * 3, last=10), arm("top_k(5)", [40, 41, 42]))
    assert "The runs ended too early to tell whether top_k(5) is faster than full" in text
    assert "the fastest" not in text
    one = sentence(arm("full", [None], last=10), arm("top_k(5)", [40]))
    assert one.startswith("even_pairs: the runs ended too early to tell")
