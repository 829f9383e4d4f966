"""Another pattern on the scores of a trace: what it would keep there, without another model."""

from dataclasses import replace

import torch

from semfocus.mechanisms import AttentionTrace, Pattern
from semfocus.mechanisms.reference import softmax_over_kept
from semfocus.probes.trace_parts import allowed_keys


@torch.no_grad()
def counterfactual(
    trace: AttentionTrace,
    pattern: Pattern,
    *,
    num_globals: int = 0,
    generator: torch.Generator | None = None,
) -> AttentionTrace:
    """The trace with the keys and weights of `pattern`, selected and normalised as the reference does.

    `num_globals` is the number of global tokens at the end of the trace's sequences; `generator` feeds `Random`.
    """
    refuse_meaningless(pattern, num_globals)
    allowed = allowed_keys(trace)
    kept = (pattern.keep(trace.scores, allowed, generator) & allowed).expand(trace.scores.shape)
    return replace(trace, kept=kept, weights=softmax_over_kept(trace.scores, kept, None))


def refuse_meaningless(pattern: Pattern, num_globals: int) -> None:
    """Global tokens and patterns of positions mean something only where the sequence has the right tokens."""
    wanted = pattern.global_tokens()
    if wanted and wanted != num_globals:
        raise ValueError(
            f"{pattern} needs sequences that end in {wanted} global token{'s' * (wanted > 1)}; these end in {num_globals}, "
            "and ordinary tokens cannot stand in for them"
        )
    if num_globals and not wanted and pattern.family == "input-agnostic":
        raise ValueError(
            f"{pattern} counts positions, and the last {num_globals} of these sequences are global tokens without "
            f"a place in the order: use {pattern}+G{num_globals}"
        )
