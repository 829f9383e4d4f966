"""The sequences that are probed, their traces, chunk by chunk, and a sample of their queries."""

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from semfocus.mechanisms import AttachedPoint, AttentionTrace, Pattern, capture
from semfocus.mechanisms.observation import attention_points
from semfocus.model import Classifier
from semfocus.randomness import derive_seed, draws, stream

#: scores of all layers and heads that a chunk of sequences may hold at once: about 20 MB with kept keys and weights
_SCORES_AT_ONCE = 2**21


@dataclass(frozen=True)
class Sequences:
    """Checked inputs of a model; `first` is the number of the first sequence in the whole."""

    tokens: Tensor
    padding: Tensor | None
    relevant: Tensor | None = None
    labels: Tensor | None = None
    first: int = 0

    def __len__(self) -> int:
        return len(self.tokens)

    def part(self, start: int, stop: int) -> "Sequences":
        """The sequences start, ..., stop - 1 of these."""
        return Sequences(
            self.tokens[start:stop],
            None if self.padding is None else self.padding[start:stop],
            None if self.relevant is None else self.relevant[start:stop],
            None if self.labels is None else self.labels[start:stop],
            self.first + start,
        )

    def chunks(self, size: int) -> Iterator["Sequences"]:
        """At most `size` sequences at a time, in order."""
        for start in range(0, len(self), size):
            yield self.part(start, start + size)


def checked_sequences(
    tokens: Tensor, padding: Tensor | None, relevant: Tensor | None, labels: Tensor | None
) -> Sequences:
    """Refuse a data set without a real token, and shapes that do not belong together."""
    if tokens.dim() != 2:
        raise ValueError(f"tokens must be (sequences, length), got shape {tuple(tokens.shape)}")
    if tokens.numel() == 0:
        raise ValueError(f"nothing to probe: the data set is empty, its tokens are {tuple(tokens.shape)}")
    for name, part in (("padding", padding), ("relevant", relevant)):
        if part is not None and (part.shape != tokens.shape or part.dtype != torch.bool):
            raise ValueError(
                f"{name} must be bool of the shape of the tokens, {tuple(tokens.shape)}; "
                f"got {part.dtype} of {tuple(part.shape)}"
            )
    if padding is not None and not padding.any():
        raise ValueError(f"nothing to probe: all tokens of the {len(tokens)} sequences are padding")
    if labels is not None and labels.shape not in (tokens.shape[:1], tokens.shape):
        raise ValueError(
            f"labels must be ({len(tokens)},), one for each sequence, or {tuple(tokens.shape)}, one for each token; "
            f"got {tuple(labels.shape)}"
        )
    return Sequences(tokens, padding, relevant, labels)


@torch.no_grad()
def traces_of(model: nn.Module, part: Sequences, seed: int) -> list[AttentionTrace]:
    """One forward pass under `capture`, in the model's present mode; every trace is (batch, heads, L, L).

    Patterns that are random draw from a stream of the chunk: the same again for the same chunk.
    """
    with capture(model) as traces:
        if isinstance(model, Classifier):
            model(part.tokens, part.padding, generator=stream(seed, "probe", part.first, part.tokens.device))
        elif part.padding is None:
            model(part.tokens)
        elif (
            "attention_mask" in inspect.signature(model.forward).parameters
        ):  # as models of transformers call it
            model(part.tokens, attention_mask=part.padding.long())
        else:
            model(part.tokens, part.padding)
    return [_with_heads(trace, len(part)) for trace in traces]


def chunk_size(model: nn.Module, length: int) -> int:
    """How many sequences are probed at once: a function of the model and the length alone."""
    heads = sum(map(_num_heads, attentions_of(model)))
    return max(1, _SCORES_AT_ONCE // (max(heads, 1) * length**2))


def attentions_of(model: nn.Module) -> list[nn.Module]:
    """The layers, ours or switched by `semfocus.apply`, in the order in which `capture` numbers them."""
    return [module for _, module, _ in attention_points(model)]


def _num_heads(attention: nn.Module) -> int:
    config = getattr(attention, "config", attention)
    said = (getattr(config, name, None) for name in ("num_heads", "num_attention_heads"))
    return next((each for each in said if isinstance(each, int)), 1)


def own_pattern(attentions: Sequence[nn.Module]) -> Pattern | None:
    """The pattern that all layers follow, where they say so."""
    said = [getattr(_speaker(each), "pattern", None) for each in attentions]
    return said[0] if said and all(isinstance(each, Pattern) and each == said[0] for each in said) else None


def _speaker(attention: nn.Module) -> object:
    """What knows the pattern of a layer: the point beside a switched module, its config, or itself."""
    return AttachedPoint.of(attention) or getattr(attention, "config", attention)


def num_globals_of(model: nn.Module) -> int:
    """Global tokens that the model appends to every sequence."""
    return model.config.num_globals if isinstance(model, Classifier) else 0


def spread(model: nn.Module, given: Tensor | None, like: Tensor, *, for_globals: bool) -> Tensor:
    """A bool of the tokens (batch, length) on the positions of a trace: tokens, padding, global tokens.

    None means that every token counts. Positions that the model appends as padding never count.
    """
    given = torch.ones_like(like, dtype=torch.bool) if given is None else given
    if not isinstance(model, Classifier):
        return given
    given = F.pad(given, (0, -given.shape[1] % model.config.pad_to_multiple), value=False)
    return F.pad(given, (0, num_globals_of(model)), value=for_globals)


def _with_heads(trace: AttentionTrace, num: int) -> AttentionTrace:
    scores, kept, weights = trace.scores, trace.kept, trace.weights
    if scores.dim() == 3:
        scores, kept, weights = (each.unsqueeze(1) for each in (scores, kept, weights))
    if scores.dim() != 4 or len(scores) != num or scores.shape[-1] != scores.shape[-2]:
        raise ValueError(
            f"layer {trace.layer} ({trace.name}): only self-attention over whole sequences can be probed, scores "
            f"(sequences, heads, L, L); got {tuple(trace.scores.shape)} for {num} sequences"
        )
    return replace(trace, scores=scores, kept=kept, weights=weights)


@dataclass(frozen=True)
class QueryPlaces:
    """Queries by sequence and position, both (num,)."""

    sequences: Tensor
    positions: Tensor

    def __len__(self) -> int:
        return len(self.sequences)

    def between(self, first: int, stop: int) -> "QueryPlaces":
        """Those of a chunk of sequences, counted from its beginning."""
        inside = (self.sequences >= first) & (self.sequences < stop)
        return QueryPlaces(self.sequences[inside] - first, self.positions[inside])

    def split(self, size: int) -> list["QueryPlaces"]:
        """Blocks of at most `size` queries."""
        parts = zip(self.sequences.split(size), self.positions.split(size), strict=True)
        return [QueryPlaces(*each) for each in parts]


def sample_queries(counted: Tensor, num: int, seed: int = 0) -> QueryPlaces:
    """At most `num` of the queries that count (sequences, Lq), the same for every layer, head and pattern.

    Sequences are taken evenly over the data, as many as are needed, from each the same number of queries (or all it
    has), chosen by a hash of (seed, sequence, position): neither the size of chunks nor the model matters.
    """
    num_sequences = min(len(counted), num)
    each = num // num_sequences
    sequences = torch.linspace(0, len(counted) - 1, num_sequences, dtype=torch.float64).round().long()
    sequences = sequences.to(counted.device)
    places = torch.arange(counted.shape[1], device=counted.device)
    luck = draws(derive_seed(seed, "sampled queries"), sequences.unsqueeze(1), places)
    order = luck.masked_fill(~counted[sequences], 2**32).argsort(dim=1)[:, :each]
    chosen = torch.zeros_like(counted[sequences]).scatter(1, order, True) & counted[sequences]
    rows, positions = chosen.nonzero(as_tuple=True)
    return QueryPlaces(sequences[rows], positions)
