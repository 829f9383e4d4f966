"""Any pattern on the scores of a trace keeps what attention itself would keep there."""

import pytest
import torch

from semfocus import capture
from semfocus.mechanisms import Banded, BlockLocal, Full, Pattern, Random, TopK, WithGlobals, attention
from semfocus.probes import counterfactual
from tests.mechanisms.cases import CAUSAL_PATTERNS, EVERY_PATTERN, inputs, seeded
from tests.probes.cases import bits, small_model, trace_of


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
@pytest.mark.parametrize(
    "mask", [None, torch.tensor([True] * 4 + [False] * 2)], ids=["everything", "padding"]
)
def test_it_keeps_and_weighs_as_attention_does(pattern: Pattern, mask: torch.Tensor | None) -> None:
    query, key, value = inputs()
    full, wanted = (
        attention(query, key, value, each, mask=mask, generator=seeded(5), return_info=True)[1]
        for each in (Full(), pattern)
    )
    trace = trace_of(Full(), "everything", 1)[0].__class__(0, "", query, full.scores, full.kept, full.weights)
    found = counterfactual(trace, pattern, num_globals=pattern.global_tokens(), generator=seeded(5))
    assert torch.equal(found.kept, wanted.kept)
    assert torch.equal(found.weights, wanted.weights)
    assert torch.equal(found.scores, full.scores)


@pytest.mark.parametrize("pattern", CAUSAL_PATTERNS, ids=str)
def test_what_a_causal_mask_hides_stays_hidden(pattern: Pattern) -> None:
    trace, _ = trace_of(TopK(2), "causal", 2)
    kept = counterfactual(trace, pattern).kept
    assert not kept.triu(1).any()
    assert kept.any(-1).all()


def test_a_model_under_its_own_pattern_is_itself() -> None:
    model = small_model("block_local(2)+G1").eval()
    with capture(model) as traces:
        model(bits())
    for trace in traces:
        again = counterfactual(trace, WithGlobals(BlockLocal(2), 1), num_globals=1)
        assert torch.equal(again.kept, trace.kept)
        assert torch.equal(again.weights, trace.weights)
        assert counterfactual(trace, TopK(3), num_globals=1).kept.sum(-1).eq(3).all()


def test_ordinary_tokens_are_not_taken_for_global_ones() -> None:
    trace, _ = trace_of(Full(), "everything", 1)
    with pytest.raises(
        ValueError, match=r"top_k\(2\)\+G2 needs sequences that end in 2 global tokens; these end in 0"
    ):
        counterfactual(trace, WithGlobals(TopK(2), 2))


def test_patterns_of_positions_refuse_global_tokens_without_a_place() -> None:
    trace, _ = trace_of(Full(), "everything", 1)
    with pytest.raises(ValueError, match=r"banded\(3\) counts positions.*use banded\(3\)\+G1"):
        counterfactual(trace, Banded(3), num_globals=1)
    counterfactual(trace, Full(), num_globals=1)


def test_random_keys_come_from_the_generator() -> None:
    trace, _ = trace_of(Full(), "everything", 1)
    one, same, other = (counterfactual(trace, Random(2), generator=seeded(each)).kept for each in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
