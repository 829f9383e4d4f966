"""The user's model: how to build it anew for a seed, and how to get a loss from it."""

from abc import ABC, abstractmethod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from semfocus.randomness import derive_seed
from semfocus.subjects.batch import Batch
from semfocus.subjects.vocabulary import Vocabulary


class Subject(ABC):
    """What is tried. `digest` is the identity of everything that the untrained model depends on beside the seed."""

    name: str
    digest: str
    vocabulary: Vocabulary
    #: the most keys that any query sees, where the model slides a window in every layer
    window: int | None = None
    #: whether losses are means of cross-entropies, which can be compared with that of a guess
    is_cross_entropy: bool = True

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

    def arguments(self, model: nn.Module, batch: Batch) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """What the model is called with for its logits; None if all that is known of it is a loss."""
        return None

    def class_logits(self, model: nn.Module, batch: Batch) -> Tensor | None:
        """Of labelled sequences, (num, classes); None if all that is known of the model is a loss."""
        return None

    def next_logits(self, model: nn.Module, tokens: Tensor) -> Tensor | None:
        """Of the next token at every position; None if the model has a loss of its own and is not called like that."""
        output = model(tokens)
        logits = getattr(output, "logits", output)
        return logits if isinstance(logits, Tensor) and logits.dim() == 3 else None

    def place_of(self, error: BaseException) -> str:
        """Where in the user's own code an error came from, if it did."""
        return ""


def loss_of(output: Any, batch: Batch) -> Tensor:
    """From what a model returned: its own loss, or logits (num, classes), or (num, length, vocabulary) of
    next tokens.
    """
    own = getattr(output, "loss", None)
    if isinstance(own, Tensor):
        return own
    logits = logits_of(output)
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


def logits_of(output: Any) -> Any:
    """What a model returned, without what is around it."""
    logits = getattr(output, "logits", output)
    return logits[0] if isinstance(logits, tuple) else logits


def refuse_future(subject: Subject, model: nn.Module, batch: Batch, arm: str | None = None) -> None:
    """A language model that sees the token it should predict learns nothing that counts; `arm`: what was changed in it.

    With the last two tokens of a window changed to others, the logits before them must stay what they were.
    """
    if batch.tokens.shape[1] < 6:
        return
    tokens = batch.tokens[:2]
    changed = tokens.clone()
    changed[:, -2:] = (tokens[:, -2:] + 1) % (subject.vocabulary.size or int(batch.tokens.max()) + 1)
    model.eval()
    before, after = (_repeatable_logits(subject, model, each) for each in (tokens, changed))
    if before is None or after is None:
        return
    if torch.allclose(before[:, :-2], after[:, :-2], rtol=1e-4, atol=1e-5):
        return
    if arm is None:
        raise ValueError(
            f"{subject.name} sees later tokens, so it is no causal language model: give labelled data (.jsonl, .csv), "
            "or a causal model (for BERT and its like, is_decoder: true in the config)"
        )
    raise ValueError(
        f"{subject.name} sees later tokens with {arm}, though not as it came: nothing of this arm would count; "
        "please report the model, and try another"
    )


def _repeatable_logits(subject: Subject, model: nn.Module, tokens: Tensor) -> Tensor | None:
    """With the same random numbers each time: a pattern may draw its keys."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(derive_seed(0, "trial/future"))
        return subject.next_logits(model, tokens)


def refuse_data(subject: Subject, model: nn.Module, batch: Batch) -> None:
    """Two sequences must go through before anything is trained; what they raise is said in one line."""
    model.eval()
    try:
        with torch.no_grad():
            subject.loss(model, batch.rows(slice(0, 2)))
    except ValueError:
        raise
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0]
        raise ValueError(
            f"{subject.name} cannot read this data (sequences of {batch.tokens.shape[1]} tokens, ids up to "
            f"{int(batch.tokens.max())}): {type(error).__name__}: {first}{subject.place_of(error)}"
        ) from error
