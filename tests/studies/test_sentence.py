"""The sentence says what the runs say, and no more."""

# ruff: noqa: RUF001  (the multiplication sign of a label)

from semfocus.studies.analysis import analyse
from studies.records import arm, record

TEN = list(range(40, 50))


def sentence(*arms: list[dict]) -> str:
    (summary,) = analyse([each for records in arms for each in records])
    return summary.sentence


def test_three_seeds_say_how_much_and_how_little_sure() -> None:
    text = sentence(arm("full", [40, 47, 58]), arm("top_k(5)", [7, 7, 13]))
    assert text == (
        "even_pairs: top_k(5) needed 5.7x fewer epochs than full to reach 95 % training accuracy "
        "(95 % interval [3.3, 11.6], 3 seeds, sign-flip p = 0.25; "
        "the smallest p that 3 seeds can give is 0.25: too few seeds for a verdict)."
    )


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
    text = sentence(arm("full", [None] * 3), arm("top_k(5)", [6, 7, 10]))
    assert "top_k(5) needed at least 8.6x fewer epochs than full" in text
    assert ", ∞]" in text


def test_when_nothing_beats_full() -> None:
    text = sentence(arm("full", [10, 11, 12]), arm("top_k(5)", [9, 13, 12]), arm("banded(5)", [40, 41, 47]))
    assert "no arm clearly reached 95 % training accuracy sooner than full" in text
    assert "behind full: banded(5) 0.26x" in text
    slower = sentence(arm("full", [10, 11, 12]), arm("banded(5)", [40, 41, 47]))
    assert "none was faster than full, the next was banded(5), 0.26x as fast" in slower


def test_sharpness_against_sparsity() -> None:
    full, top_k = arm("full", [40, 47, 58]), arm("top_k(5)", [12, 14, 20])
    assert "full ×10 beat top_k(5), 4.7x [" in sentence(
        full, top_k, arm("full", [3, 3, 4], inverse_temperature=10.0)
    )
    assert "top_k(5) beat full ×4, 2.5x [" in sentence(
        full, top_k, arm("full", [30, 35, 45], inverse_temperature=4.0)
    )
    assert "undecided between top_k(5) and full ×4" in sentence(
        full, top_k, arm("full", [11, 15, 19], inverse_temperature=4.0)
    )
    # top_k that is itself sharpened is no answer to the question
    assert "undecided" not in sentence(
        full,
        arm("top_k(5)", [2, 2, 2], inverse_temperature=4.0),
        arm("full", [2, 2, 2], inverse_temperature=4.0),
    )


def test_one_seed_is_a_picture() -> None:
    text = sentence(arm("full", [40]), arm("top_k(5)", [7]))
    assert "top_k(5), 5.7x as fast as full; one seed: a picture, not yet a result." in text
    assert "p =" not in text


def test_when_there_is_nothing_to_say() -> None:
    assert "no run of any arm reached" in sentence(arm("full", [None] * 3), arm("top_k(5)", [None] * 3))
    assert "there is no run of full to compare with" in sentence(arm("top_k(5)", [4, 5]))
    assert "nothing to compare full with" in sentence(arm("full", [4, 5]))
    assert "nothing to compare full with" in sentence([record("full", 1, 4)], [record("top_k(5)", 2, 4)])


def test_a_study_that_goes_on_says_so() -> None:
    running = [record("top_k(5)", seed, 7, last=9, state="unfinished") for seed in range(3)]
    assert sentence(arm("full", [40, 47, 58]), running).startswith(
        "even_pairs (so far: not all runs have ended): top_k(5)"
    )
