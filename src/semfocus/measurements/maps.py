"""Attention maps of one sequence as plain values, for whoever draws them without torch."""

from collections.abc import Sequence
from typing import Any

import torch

from semfocus.measurements.interior import DataPart
from semfocus.measurements.run_probe import relevant_of
from semfocus.mechanisms import AttentionTrace, capture
from semfocus.model.evaluation import evaluation_mode
from semfocus.randomness import stream
from semfocus.tasks import FileTask, Samples, TextTask
from semfocus.training.runner import dataset_of
from semfocus.training.trained_run import TrainedRun

#: longer sequences are drawn in blocks: a cell is then the largest weight of its block
MOST_CELLS = 64
#: layers times heads that are drawn at most
MOST_MAPS = 24


def attention_maps(trained: TrainedRun, sequence: int = 0, data: DataPart = "held_out") -> dict[str, Any]:
    """Where every query of one sequence of the run's data looked, layer by layer and head by head.

    `maps` has for each layer and head the weights (rows are queries) and the kept keys; `symbols` names the positions,
    padding and global tokens included; `relevant` marks the tokens that decide the label, None where the task
    cannot say.
    """
    drawn = dataset_of(trained.spec)
    part = drawn.train if data == "train" else drawn.held_out
    if not 0 <= sequence < len(part):
        raise ValueError(f"the {data} data has sequences 0 to {len(part) - 1}, not {sequence}")
    rows = slice(sequence, sequence + 1)
    one = Samples(part.tokens[rows], part.labels[rows], part.real[rows]).to(
        trained.model.readout.weight.device
    )
    traces, predicted = _observed(trained, one)
    length = traces[0].weights.shape[-1]
    relevant = relevant_of(trained.spec, one.tokens)
    return {
        "data": data,
        "sequence": sequence,
        "symbols": _symbols(trained, one, length),
        "relevant": None
        if relevant is None
        else [*relevant[0].tolist(), *[False] * (length - relevant.shape[1])],
        "label": _class_name(trained, int(one.labels.flatten()[-1])),  # of a text the token after the window
        "predicted": _class_name(trained, predicted),
        **maps_of(traces),
    }


def maps_of(traces: Sequence[AttentionTrace]) -> dict[str, Any]:
    """The weights and kept keys of the first sequence of traces, of any model, coarse enough to be drawn."""
    block = -(-traces[0].weights.shape[-1] // MOST_CELLS)
    heads = [(trace, head) for trace in traces for head in range(trace.weights.shape[1])]
    return {
        "block": block,
        "num_heads": traces[0].weights.shape[1],
        "left_out": max(0, len(heads) - MOST_MAPS),
        "maps": [_map(trace, head, block) for trace, head in heads[:MOST_MAPS]],
    }


@torch.no_grad()
def _observed(trained: TrainedRun, one: Samples) -> tuple[list[AttentionTrace], int]:
    model = trained.model
    generator = stream(trained.spec.seed, "attention map", trained.epoch)
    with evaluation_mode(model), capture(model) as traces:
        logits = model(one.tokens, None if bool(one.real.all()) else one.real, generator=generator)
    return traces, int(logits.flatten(0, -2)[-1].argmax())


def _symbols(trained: TrainedRun, one: Samples, length: int) -> list[str]:
    task = trained.spec.task_value
    if isinstance(task, TextTask):
        written = [_token_text(task, token) for token in one.tokens[0].tolist()]
    else:
        names = [*task.symbols, "pad"]
        written = [names[token] for token in one.tokens[0].tolist()]
    num_globals = trained.model.config.num_globals
    padding = ["pad"] * (length - len(written) - num_globals)
    return [*written, *padding, *(f"G{index + 1}" for index in range(num_globals))]


def _class_name(trained: TrainedRun, label: int) -> str:
    task = trained.spec.task_value
    if isinstance(task, TextTask):
        return _token_text(task, label)
    return task.classes[label] if isinstance(task, FileTask) else str(label)


def _token_text(task: TextTask, token: int) -> str:
    """A token by itself: a piece that is no whole character goes by its name."""
    text = task.text_of(torch.tensor([token]))
    return task.symbols[token] if "\N{REPLACEMENT CHARACTER}" in text else text


def _map(trace: AttentionTrace, head: int, block: int) -> dict[str, Any]:
    weights, kept = trace.weights[0, head].double(), trace.kept[0, head]
    if block > 1:
        weights = torch.nn.functional.max_pool2d(weights[None], block, ceil_mode=True)[0]
    return {
        "layer": trace.layer,
        "head": head,
        "weights": [[round(value, 4) for value in row] for row in weights.tolist()],
        # of blocks nobody can say whether they are kept
        "kept": kept.int().tolist() if block == 1 and not bool(kept.all()) else None,
    }
