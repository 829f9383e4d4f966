"""The paper's sequence classifier."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from semfocus.kernels.cpu.passes import dropped
from semfocus.model.block import Block
from semfocus.model.config import ModelConfig
from semfocus.model.embedding import TokenEmbedding
from semfocus.model.initialisation import initialise


class Classifier(nn.Module):
    """Tokens -> embedding and positions -> blocks -> mean over real and global tokens -> logits."""

    def __init__(self, config: ModelConfig, seed: int | None = None) -> None:
        """`seed` fixes the initial weights, each tensor from its own stream; else PyTorch's generator does."""
        super().__init__()
        self.config = config
        # Layers draw values that a seed replaces; PyTorch's own generator then stays where it was.
        with torch.random.fork_rng(devices=[], enabled=seed is not None):
            self.embedding = TokenEmbedding(config)
            self.blocks = nn.ModuleList(Block(config, index == 0) for index in range(config.num_blocks))
            self.readout = nn.Linear(config.d_model, config.num_classes)
        initialise(self, config.initial_scale, seed)

    def forward(
        self, tokens: Tensor, padding: Tensor | None = None, *, generator: torch.Generator | None = None
    ) -> Tensor:
        """tokens (batch, length), padding (batch, length) with True = real token -> (batch, classes).

        `generator` feeds dropout and random patterns.
        """
        if tokens.dim() != 2 or (padding is not None and padding.shape != tokens.shape):
            shapes = tuple(tokens.shape), None if padding is None else tuple(padding.shape)
            raise ValueError(f"tokens and padding must both be (batch, length), got {shapes}")
        tokens, real = self._pad(tokens, padding)
        rate = self.config.dropout if self.training else 0.0
        x = dropped(self.embedding(tokens), rate, generator)
        takes_part = self._with_globals(real)
        mask = None if takes_part is None else takes_part[:, None, None, :]
        for block in self.blocks:
            x = block(x, mask, generator)
        return self.readout(mean_over(x, takes_part))

    def _pad(self, tokens: Tensor, padding: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Append PAD tokens up to the configured multiple; None means that every token takes part."""
        missing = -tokens.shape[1] % self.config.pad_to_multiple
        if missing:
            real = torch.ones_like(tokens, dtype=torch.bool) if padding is None else padding
            tokens = F.pad(tokens, (0, missing), value=self.config.vocab_size - 1)
            padding = F.pad(real, (0, missing), value=False)
        return tokens, None if self.config.padding_takes_part else padding

    def _with_globals(self, real: Tensor | None) -> Tensor | None:
        return None if real is None else F.pad(real, (0, self.config.num_globals), value=True)


def mean_over(x: Tensor, takes_part: Tensor | None) -> Tensor:
    """Mean over the positions that take part; a row without any gives 0."""
    if takes_part is None:
        return x.mean(1)
    # Selected, not multiplied: whatever stands at a padded position must not matter.
    total = x.masked_fill(~takes_part.unsqueeze(-1), 0.0).sum(1)
    return total / takes_part.sum(1, keepdim=True).clamp(min=1)
