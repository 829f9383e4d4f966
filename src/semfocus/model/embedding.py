"""Tokens to vectors: scaled embedding plus sinusoidal positions, with global tokens at the end."""

import math

import torch
from torch import Tensor, nn

from semfocus.model.config import ModelConfig


def sinusoidal_positions(positions: Tensor, d_model: int) -> Tensor:
    """(length, d_model): sin on even features, cos on odd ones, base 10,000.

    Computed on demand, so sequences longer than those of training simply continue the waves.
    """
    pair = torch.arange(d_model, device=positions.device) // 2
    angle = positions.unsqueeze(-1) * torch.exp(-math.log(10_000.0) * 2 * pair / d_model)
    even = torch.arange(d_model, device=positions.device) % 2 == 0
    return torch.where(even, angle.sin(), angle.cos())


class TokenEmbedding(nn.Embedding):
    """(batch, length) -> (batch, length + globals, d_model).

    Global tokens are the rows after the vocabulary, at the positions after `max_length`.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config.vocab_size + config.num_globals, config.d_model)
        self.num_globals = config.num_globals
        self.global_id = config.vocab_size
        self.global_position = config.max_length
        self._kept_waves: tuple[tuple[int, torch.dtype, torch.device], Tensor] | None = None

    def forward(self, tokens: Tensor) -> Tensor:
        batch, length = tokens.shape
        if self.num_globals:
            extra = torch.arange(self.num_globals, device=tokens.device)
            tokens = torch.cat([tokens, (self.global_id + extra).expand(batch, -1)], dim=1)
        return torch.add(self._waves(length), super().forward(tokens), alpha=math.sqrt(self.embedding_dim))

    def _waves(self, length: int) -> Tensor:
        """The positions of a sequence, kept for the next one of the same length."""
        like = (length, self.weight.dtype, self.weight.device)
        kept = self._kept_waves
        if kept is not None and kept[0] == like:
            return kept[1]
        extra = torch.arange(self.num_globals, device=self.weight.device)
        ordinary = torch.arange(length, device=self.weight.device)
        positions = torch.cat([ordinary, self.global_position + extra])
        waves = sinusoidal_positions(positions, self.embedding_dim).to(self.weight.dtype)
        if not torch.compiler.is_compiling():
            self._kept_waves = like, waves
        return waves
