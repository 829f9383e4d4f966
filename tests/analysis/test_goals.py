import math
from typing import Any

import pytest

from semfocus.analysis.summaries import analyse
from semfocus.analysis.tables import summary_rows
from tests.analysis.records import record


def text_record(pattern: str, seed: int, losses: list[float], **changes: Any) -> dict[str, Any]:
    """A language model with these held-out losses; training losses are 0.5 lower."""
    made = record(pattern, seed, None, task="text:book.txt", last=len(losses) - 1, **changes)
    made["curve"] |= {"held_out_loss": losses, "train_loss": [loss - 0.5 for loss in losses]}
    return made


FULL = [text_record("full", 0, [5.0, 4.0, 3.0, 2.0]), text_record("full", 1, [5.0, 3.0, 2.5, 1.9])]
TOP_K = [text_record("top_k(5)", 0, [5.0, 2.0, 1.5, 1.4]), text_record("top_k(5)", 1, [5.0, 3.0, 2.2, 2.1])]


def test_the_goal_of_a_text_is_where_the_baseline_ended_on_its_worst_seed() -> None:
    (summary,) = analyse([*FULL, *TOP_K])
    assert (summary.goal.column, summary.goal.value, summary.by_loss) == ("held_out_loss", 2.0, True)
    assert (summary.second_goal.column, summary.second_goal.value) == ("train_loss", 1.5)
    full, top_k = summary.arms
    assert {seed: (time.value, time.reached) for seed, time in full.times.items()} == {
        0: (3.0, True),
        1: (3.0, True),
    }
    assert {seed: (time.value, time.reached) for seed, time in top_k.times.items()} == {
        0: (1.0, True),
        1: (3.0, False),
    }
    assert "7.39" in summary.sentence


def test_tables_show_perplexities() -> None:
    (summary,) = analyse([*FULL, *TOP_K])
    full, _ = summary_rows(summary)
    low, high = math.exp(1.9), math.exp(2.0)
    assert full["last_held_out"] == f"{(low + high) / 2:.4g} ({low:.4g} to {high:.4g})"
    assert full["perfect"] == ""
    assert float(full["gap"]) == pytest.approx((low + high) / 2 * (math.exp(-0.5) - 1), rel=1e-2)


def test_before_the_baseline_has_ended_there_is_nothing_to_reach() -> None:
    unfinished = [text_record("full", 0, [5.0, 4.0], state="running"), *TOP_K]
    (summary,) = analyse(unfinished)
    assert not any(arm.reached for arm in summary.arms)
    (summary,) = analyse(TOP_K)
    assert all(arm.speedup is None for arm in summary.arms)


def test_a_language_model_is_not_compared_with_one_of_another_tokenizer() -> None:
    other = text_record("full", 0, [5.0, 4.0], training={"tokenizer": "bpe:400"})
    assert len(analyse([*FULL, other])) == 2


def test_classification_is_judged_as_before() -> None:
    (summary,) = analyse([record("full", 0, 5), record("top_k(5)", 0, 2)])
    assert (summary.goal.column, summary.target, summary.by_loss) == ("train_accuracy", 0.95, False)
    assert "95 % training accuracy" in summary.sentence
