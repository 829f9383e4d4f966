"""A deterministic sample of queries, for quantities that cost too much to compute for all."""

from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.randomness import derive_seed, draws


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
