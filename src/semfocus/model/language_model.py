"""A small decoder: the classifier's blocks under a causal mask, read out at every position."""

import torch
from torch import Tensor

from semfocus.kernels.cpu.passes import dropped
from semfocus.model.classifier import Classifier, Relevant
from semfocus.model.config import ModelConfig


class LanguageModel(Classifier):
    """Tokens -> embedding and positions -> causal blocks -> logits of the next token, at every position.

    Parameters have the names and initial values of a `Classifier` of the same config.
    """

    def __init__(
        self, config: ModelConfig, seed: int | None = None, relevant: Relevant | None = None
    ) -> None:
        if not config.causal:
            raise ValueError("a language model needs ModelConfig(causal=True)")
        super().__init__(config, seed, relevant)

    def forward(
        self, tokens: Tensor, padding: Tensor | None = None, *, generator: torch.Generator | None = None
    ) -> Tensor:
        """tokens (batch, length), padding (batch, length) with True = real token -> (batch, length, classes)."""
        if tokens.dim() != 2 or (padding is not None and padding.shape != tokens.shape):
            shapes = tuple(tokens.shape), None if padding is None else tuple(padding.shape)
            raise ValueError(f"tokens and padding must both be (batch, length), got {shapes}")
        chosen = self._chosen_keys(tokens, padding, generator)
        rate = self.config.dropout if self.training else 0.0
        x = dropped(self.embedding(tokens), rate, generator)
        mask = None if padding is None else padding[:, None, None, :]
        for block, keys in zip(self.blocks, chosen, strict=True):
            x = block(x, mask, generator, keys)
        return self.readout(x)
