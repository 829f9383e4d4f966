"""The user's model: how to build it anew for a seed, and how to get a loss from it."""

from abc import ABC, abstractmethod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from semfocus.randomness import derive_seed
from semfocus.trial.batch import Batch
from semfocus.trial.encoding import Vocabulary


class Subject(ABC):
    """What is tried. `digest` is the identity of everything that the untrained model depends on beside the seed."""

    name: str
    digest: str
    vocabulary: Vocabulary

    def build(self, seed: int) -> nn.Module:
        """The model before training: the same weights for the same seed, whatever the arm."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive_seed(seed, "trial/weights"))
            return self.make().float()

    @abstractmethod
    def make(self) -> nn.Module:
        """A model; new weights come from torch's own random numbers."""

    @abstractmethod
    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """The mean loss of a batch."""


def loss_of(output: Any, batch: Batch) -> Tensor:
    """From what a model returned: its own loss, or logits (num, classes), or (num, length, vocabulary) of next tokens."""
    own = getattr(output, "loss", None)
    if isinstance(own, Tensor):
        return own
    logits = getattr(output, "logits", output)
    logits = logits[0] if isinstance(logits, tuple) else logits
    if not isinstance(logits, Tensor) or logits.dim() not in (2, 3):
        raise ValueError(
            f"the model returned {type(output).__name__}: expected logits (num, classes) or (num, length, vocabulary), "
            "or an output with a loss; or define loss(model, batch) in the file"
        )
    if batch.labels is not None:
        if logits.dim() != 2:
            raise ValueError(
                f"for labelled data the logits must be (num, classes), got {tuple(logits.shape)}"
            )
        return F.cross_entropy(logits, batch.labels)
    if logits.dim() != 3:
        raise ValueError(
            f"for a text the logits must be (num, length, vocabulary), got {tuple(logits.shape)}"
        )
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), batch.tokens[:, 1:].flatten())


def refuse_future(subject: Subject, model: nn.Module, batch: Batch) -> None:
    """A language model that sees the token it should predict learns nothing that counts.

    With the last two tokens of a window changed, the logits before them must stay what they were.
    """
    if batch.tokens.shape[1] < 6:
        return
    changed = batch.tokens[:2].clone()
    changed[:, -1] = changed[:, 0]
    changed[:, -2] = changed[:, 1]
    outputs = []
    model.eval()
    with torch.no_grad():
        for tokens in (batch.tokens[:2], changed):
            output = model(tokens)
            logits = getattr(output, "logits", output)
            if not isinstance(logits, Tensor) or logits.dim() != 3:
                return  # a loss of the user's own
            outputs.append(logits[:, :-2])
    if not torch.allclose(outputs[0], outputs[1], rtol=1e-4, atol=1e-5):
        raise ValueError(
            f"{subject.name} sees later tokens, so it is no causal language model: give labelled data (.jsonl, .csv), "
            "or a causal model (for BERT and its like, is_decoder: true in the config)"
        )
