"""The loss of a run's model on some samples, as a function of its parameters."""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor
from torch.func import functional_call

from semfocus.model import Classifier
from semfocus.model.loss import summed_loss
from semfocus.probes.hessian import LossPart
from semfocus.randomness import stream
from semfocus.runs import RunSpec
from semfocus.tasks import Samples
from semfocus.training import dataset_of, evaluate
from semfocus.training.evaluation import padding_of

#: entries of a matrix of scores held at once for second derivatives, which need all of them, many times over
_SCORES_AT_ONCE = 2**17


class ModelLoss:
    """Calling it evaluates the model as after an epoch of training: in evaluation mode, in the same batches.

    A pattern that is random even then draws the same keys at every point.
    """

    def __init__(self, model: Classifier, samples: Samples, seed: int, epoch: int) -> None:
        if len(samples) == 0:
            raise ValueError("there is no sample to compute a loss on")
        self.model = model.eval()
        self.samples = samples
        self.seed, self.epoch = seed, epoch

    @torch.no_grad()
    def __call__(self, parameters: Mapping[str, Tensor]) -> float:
        """The weights are swapped in place: a point costs one evaluation and a copy of the weights."""
        for name, parameter in self.model.named_parameters():
            parameter.copy_(parameters[name])
        return self.own()

    def own(self) -> float:
        """The loss of the model as it is."""
        return evaluate(self.model, self.samples, self.seed, self.epoch).loss

    def parts(self) -> Iterator[LossPart]:
        """The loss as a sum over batches, small enough for second derivatives."""
        model, padding = self.model, padding_of(self.samples)
        length = self.samples.tokens.shape[1]
        batch_size = max(1, _SCORES_AT_ONCE // (length**2 * model.config.num_heads))
        for batch, rows in enumerate(torch.arange(len(self.samples)).split(batch_size)):

            def part(parameters: Mapping[str, Tensor], batch: int = batch, rows: Tensor = rows) -> Tensor:
                real = None if padding is None else padding[rows]
                generator = stream(self.seed, f"evaluation/{batch}", self.epoch)
                inputs = (self.samples.tokens[rows], real)
                logits = functional_call(model, dict(parameters), inputs, {"generator": generator})
                total = summed_loss(logits, self.samples.labels[rows])
                return total / len(self.samples)

            yield part


def samples_of(spec: RunSpec, data: str, num: int | None) -> Samples:
    """The first `num` training or held-out samples of a run; all of them by default."""
    if data not in ("train", "held_out"):
        raise ValueError(f"data must be train or held_out, got {data!r}")
    dataset = dataset_of(spec)
    found = dataset.train if data == "train" else dataset.held_out
    if num is None:
        num = len(found)
    if not 1 <= num <= len(found):
        raise ValueError(f"samples must be from 1 to {len(found)}, the {data} samples of the run; got {num}")
    return Samples(found.tokens[:num], found.labels[:num], found.real[:num])
