"""The paper's sequence classifier."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from semfocus.kernels.cpu.passes import dropped
from semfocus.mechanisms import capture
from semfocus.model.block import Block
from semfocus.model.config import ModelConfig
from semfocus.model.embedding import TokenEmbedding
from semfocus.model.initialisation import initialise

#: of tokens (batch, length), in the same shape: which of them decide the label; None is for tasks that cannot say
Relevant = Callable[[Tensor], Tensor | None]


class Classifier(nn.Module):
    """Tokens -> embedding and positions -> blocks -> mean over real and global tokens -> logits."""

    def __init__(
        self, config: ModelConfig, seed: int | None = None, relevant: Relevant | None = None
    ) -> None:
        """`seed` fixes the initial weights, each tensor from its own stream; else PyTorch's generator does.

        `relevant`: which tokens decide the label, as `TASKS["even_pairs"].relevant` says it; for selection="relevant".
        """
        super().__init__()
        if (config.selection == "relevant") != (relevant is not None):
            raise ValueError(
                f"relevant=... belongs to selection='relevant', got {config.selection!r} and {relevant}"
            )
        self.config = self.in_force = config
        self.relevant = relevant
        # Layers draw values that a seed replaces; PyTorch's own generator then stays where it was.
        with torch.random.fork_rng(devices=[], enabled=seed is not None):
            self.embedding = TokenEmbedding(config)
            self.blocks = nn.ModuleList(Block(config, index == 0) for index in range(config.num_blocks))
            self.readout = nn.Linear(config.d_model, config.num_classes)
        initialise(self, config.initial_scale, seed)
        # In a tuple, where PyTorch does not look for modules.
        self._initial: tuple[Classifier, ...] = (
            (_as_it_is_now(self),) if config.selection == "initial" else ()
        )

    def forward(
        self, tokens: Tensor, padding: Tensor | None = None, *, generator: torch.Generator | None = None
    ) -> Tensor:
        """tokens (batch, length), padding (batch, length) with True = real token -> (batch, classes).

        `generator` feeds dropout and random patterns.
        """
        if tokens.dim() != 2 or (padding is not None and padding.shape != tokens.shape):
            shapes = tuple(tokens.shape), None if padding is None else tuple(padding.shape)
            raise ValueError(f"tokens and padding must both be (batch, length), got {shapes}")
        chosen = self._chosen_keys(tokens, padding, generator)
        tokens, real = self._pad(tokens, padding)
        rate = self.config.dropout if self.training else 0.0
        x = dropped(self.embedding(tokens), rate, generator)
        takes_part = self._with_globals(real)
        mask = None if takes_part is None else takes_part[:, None, None, :]
        for block, keys in zip(self.blocks, chosen, strict=True):
            x = block(x, mask, generator, keys)
        return self.readout(mean_over(x, takes_part))

    def attend_plainly(self, plain: bool) -> None:
        """Plain full attention from now on, in place of the pattern, inverse temperature and controls; or
        these again.
        """
        self.in_force = self.config.plain() if plain else self.config
        for block in self.blocks:
            assert isinstance(block, Block)
            block.attention.follow(self.in_force)

    def _chosen_keys(
        self, tokens: Tensor, padding: Tensor | None, generator: torch.Generator | None
    ) -> Sequence[Tensor | None]:
        """For each block the keys that `selection` gives it, of those that may be attended to."""
        if self.in_force.selection == "initial":
            initial = self._initial[0]
            with torch.no_grad(), capture(initial) as traces:
                initial(tokens, padding, generator=generator)
            return [trace.kept for trace in traces]
        keys = None
        if self.in_force.selection == "relevant":
            assert self.relevant is not None
            tokens, real = self._pad(tokens, padding)
            found = self.relevant(tokens)
            assert found is not None, "the spec refuses tasks that cannot say"
            keys = (found if real is None else found & real)[:, None, None, :]
        return [keys] * len(self.blocks)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Classifier":
        """The initial model is no part of this one, and goes to the same device and type."""
        for each in self._initial:
            each._apply(fn)
        return super()._apply(fn, recurse)

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


def _as_it_is_now(model: Classifier) -> Classifier:
    """A frozen copy that chooses keys by its own scores, in evaluation."""
    copied = type(model)(model.config.model_copy(update={"selection": None}), seed=0)
    copied.load_state_dict(model.state_dict())
    return copied.requires_grad_(False).eval()


def mean_over(x: Tensor, takes_part: Tensor | None) -> Tensor:
    """Mean over the positions that take part; a row without any gives 0."""
    if takes_part is None:
        return x.mean(1)
    # Selected, not multiplied: whatever stands at a padded position must not matter.
    total = x.masked_fill(~takes_part.unsqueeze(-1), 0.0).sum(1)
    return total / takes_part.sum(1, keepdim=True).clamp(min=1)
