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


def test_no_verdict_before_all_runs_have_ended() -> None:
    running = [record("top_k(5)", seed, 2, last=9, state="unfinished") for seed in range(6)]
    text = sentence(arm("full", TEN[:6]), running)
    assert "sign-flip p = 0.0312; no verdict before all runs have ended" in text
    assert "significant" not in text


def test_when_full_alone_arrives() -> None:
    text = sentence(
        arm("full", [10, 11, 12]), arm("top_k(5)", [None] * 3), arm("banded(5)", [None, None, None])
    )
    assert text.startswith(
        "even_pairs: only full reached 95 % training accuracy; behind full: top_k(5) at most "
    )
    one = sentence(arm("full", [10]), arm("top_k(5)", [None]))
    assert (
        one == "even_pairs: only full reached 95 % training accuracy; one seed: a picture, not yet a result."
    )
    assert "only" not in sentence(arm("full", [10, 11, 12]), arm("top_k(5)", [None, None, 50]))


def test_runs_that_diverged_or_failed_are_part_of_the_answer() -> None:
    lost = arm("full", [None] * 3, last=4, state="diverged")
    text = sentence(lost, arm("top_k(5)", [6, 7, 10]))
    assert "top_k(5) needed at least " in text
    assert text.endswith("; 3 of 3 runs of full diverged.")
    failing = [*arm("top_k(5)", [6, 7]), record("top_k(5)", 2, None, last=3, state="failed")]
    assert sentence(arm("full", [40, 47, 58]), failing).endswith("; 1 of 3 runs of top_k(5) failed.")
    assert sentence(lost, arm("top_k(5)", [None] * 3)).endswith("; 3 of 3 runs of full diverged.")


def test_a_baseline_that_ended_early_is_no_slower_one() -> None:
    """Looked at for 10 epochs, full needs at least 0.25 times the 40 of top_k: that may be 0.3 or 30."""
    text = sentence(arm("full", [None] * 3, last=10), arm("top_k(5)", [40, 41, 42]))
    assert "the runs ended too early to tell whether top_k(5) is faster than full" in text
    assert "fastest" not in text
    one = sentence(arm("full", [None], last=10), arm("top_k(5)", [40]))
    assert one.startswith("even_pairs: the runs ended too early to tell")
