"""Loss and accuracy of a model on a whole set of samples."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn

from semfocus.model.evaluation import evaluation_mode, sequence_losses, summed_loss
from semfocus.randomness import stream
from semfocus.tasks import Samples

#: tokens held at once: enough to make calls cheap, few enough to stay near the caches; a function of the length
#: alone, so that resuming evaluates in the same batches
_TOKENS_AT_ONCE = 2**14
#: logits held at once where every token has them
_LOGITS_AT_ONCE = 2**22


@dataclass(frozen=True)
class Evaluation:
    """Mean cross-entropy, share of correct answers, and that of the best constant guess; for text of the next
    tokens.
    """

    loss: float
    accuracy: float
    constant_guess: float


@torch.no_grad()
def evaluate(
    model: nn.Module, samples: Samples, seed: int, epoch: int, numbers: str = "evaluation"
) -> Evaluation:
    """In evaluation mode, in large batches.

    `seed`, `epoch` and the name of a stream feed patterns that are random even then.
    """
    loss = torch.zeros((), dtype=torch.float64)
    correct = 0
    with evaluation_mode(model):
        for logits, labels in _answers(model, samples, seed, epoch, numbers):
            loss += summed_loss(logits, labels).cpu().double()
            correct += int((logits.argmax(-1) == labels).sum())
    answers = samples.labels.numel()
    most_frequent = int(samples.labels.flatten().bincount().max())
    return Evaluation(float(loss / len(samples)), correct / answers, most_frequent / answers)


@torch.no_grad()
def sample_losses(model: nn.Module, samples: Samples, seed: int, epoch: int) -> torch.Tensor:
    """The cross-entropy of every sample, as `evaluate` sees it."""
    with evaluation_mode(model):
        answers = _answers(model, samples, seed, epoch)
        return torch.cat([sequence_losses(logits, labels).cpu().double() for logits, labels in answers])


def _answers(
    model: nn.Module, samples: Samples, seed: int, epoch: int, numbers: str = "evaluation"
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Logits and labels, batch by batch."""
    batch_size = evaluation_batch_size(samples.tokens.shape[1])
    if samples.labels.dim() > 1:
        batch_size = min(batch_size, max(1, _LOGITS_AT_ONCE // _num_logits(model, samples)))
    padding = padding_of(samples)
    device = samples.tokens.device
    for batch, rows in enumerate(torch.arange(len(samples), device=device).split(batch_size)):
        generator = stream(seed, f"{numbers}/{batch}", epoch)
        real = None if padding is None else padding[rows]
        yield model(samples.tokens[rows], real, generator=generator).float(), samples.labels[rows]


def _num_logits(model: nn.Module, samples: Samples) -> int:
    """Of one sequence."""
    readout = model.readout
    assert isinstance(readout, nn.Linear)
    return samples.labels.shape[1] * readout.out_features


def evaluation_batch_size(length: int) -> int:
    """How many sequences of this length are evaluated at once."""
    return max(1, _TOKENS_AT_ONCE // length)


def padding_of(samples: Samples) -> torch.Tensor | None:
    """Which tokens are real, or None where all are: a mask that allows everything costs time."""
    return None if bool(samples.real.all()) else samples.real
