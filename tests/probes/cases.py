"""What the tests of the probes share: traces of every kind, and small models."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from semfocus.mechanisms import AttentionTrace, Pattern, attention
from semfocus.model import Classifier, ModelConfig
from tests.mechanisms.cases import CAUSAL_PATTERNS, EVERY_PATTERN, seeded

LENGTH, WIDTH, BATCH = 7, 4, 3

#: (pattern, what is allowed)
KINDS = [
    *((pattern, "everything") for pattern in EVERY_PATTERN),
    *((pattern, "padding") for pattern in EVERY_PATTERN),
    *((pattern, "causal") for pattern in CAUSAL_PATTERNS),
]


def real_tokens() -> Tensor:
    """(BATCH, LENGTH): one whole sequence, one padded one, one with no real token at all."""
    return torch.arange(LENGTH) < torch.tensor([[LENGTH], [4], [0]])


def trace_of(pattern: Pattern, allowed: str, heads: int, seed: int = 0) -> tuple[AttentionTrace, Tensor]:
    """A float64 trace, and which of its queries count (BATCH, LENGTH)."""
    generator = seeded(seed)
    inputs = torch.randn(BATCH, LENGTH, WIDTH, generator=generator, dtype=torch.float64)
    maps = 1.5 * torch.randn(3, heads, WIDTH, WIDTH, generator=generator, dtype=torch.float64)
    query, key, value = (inputs.unsqueeze(1) @ each for each in maps)
    counted = real_tokens() if allowed == "padding" else torch.ones(BATCH, LENGTH, dtype=torch.bool)
    _, info = attention(
        query,
        key,
        value,
        pattern,
        mask=counted[:, None, None, :] if allowed == "padding" else None,
        causal=allowed == "causal",
        generator=seeded(1),
        return_info=True,
    )
    return AttentionTrace(2, "blocks.2.attention", inputs, info.scores, info.kept, info.weights), counted


def trace_of_scores(scores: list[list[float]], pattern: Pattern) -> AttentionTrace:
    """A trace of one sequence and head with these scores, and an identity as its inputs."""
    matrix = torch.tensor(scores, dtype=torch.float64)[None, None]
    kept = pattern.keep(matrix, matrix > -torch.inf) & (matrix > -torch.inf)
    weights = matrix.masked_fill(~kept, -torch.inf).softmax(-1).nan_to_num(0.0)
    return AttentionTrace(
        0, "", torch.eye(matrix.shape[-1], dtype=torch.float64)[None], matrix, kept, weights
    )


def small_model(pattern: str = "top_k(3)", **changes: Any) -> Classifier:
    sizes: dict[str, Any] = {"d_model": 8, "d_mlp": 6, "num_blocks": 2} | changes
    config = ModelConfig(vocab_size=3, num_classes=2, max_length=10, pattern=pattern, **sizes)
    return Classifier(config, seed=3).double()


def bits(num: int = 6, length: int = 9, seed: int = 0) -> Tensor:
    return torch.randint(2, (num, length), generator=seeded(seed))


def find(rows: list[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    """The only row with these fields."""
    found = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    assert len(found) == 1, (wanted, len(found))
    return found[0]


Measure = Callable[[AttentionTrace], Tensor]
