"""Claim: dispersion, separation and key load are at least 50 times faster than a loop that appends a row a value.

1,000 sequences of length 40, 5 layers, one head, top_k(5): the traces of a model are made once, before the
clock starts. The loop goes over layers, sequences and queries in Python, on tensors as they were captured,
and appends one row for each value; it runs whole, once, between two measurements of ours, of which the slower
one counts. A loop on NumPy arrays, which is faster, is timed beside it. All give the same numbers, which is checked.

    python benchmarks/probes.py [--repeats 5]
"""

from collections.abc import Sequence
from time import perf_counter

import torch

from semfocus.mechanisms import AttentionTrace
from semfocus.model import Classifier, ModelConfig
from semfocus.probes import dispersion, key_load, separation
from semfocus.probes.sequences import Sequences, chunk_size, traces_of
from semfocus.tasks import TASKS
from semfocus.training.device import limited_threads
from timing import benchmark_parser, interleaved, print_claim, print_table, started

CLAIMED, LENGTH = 50, 40

Row = tuple[str, int, int, int, float]


def make_traces(num: int) -> list[AttentionTrace]:
    """All traces of an untrained model of the paper's size, in the chunks that `probe_rows` would take."""
    task = TASKS["even_pairs"]
    tokens, _ = task.sample(num, LENGTH, torch.Generator().manual_seed(0))
    config = ModelConfig(
        vocab_size=task.vocab_size, num_classes=task.num_classes, max_length=LENGTH, pattern="top_k(5)"
    )
    model = Classifier(config, seed=0).eval()
    parts = Sequences(tokens, None).chunks(chunk_size(model, LENGTH))
    return [trace for part in parts for trace in traces_of(model, part, seed=0)]


def vectorised(traces: list[AttentionTrace]) -> list[torch.Tensor]:
    """Dispersion, separation and key load of every trace."""
    return [measure(trace) for trace in traces for measure in (dispersion, separation, key_load)]


def looped(traces: list[AttentionTrace], arrays: bool) -> list[Row]:
    """The same, a row a value: quantity, layer, sequence, position, value. On tensors, or on NumPy arrays."""
    rows: list[Row] = []
    for trace in traces:
        all_scores, all_kept = trace.scores[:, 0].double(), trace.kept[:, 0]
        if arrays:
            all_scores, all_kept = all_scores.numpy(), all_kept.numpy()
        for sequence in range(len(all_scores)):
            loads = num_kept = 0
            for position in range(LENGTH):
                scores, kept = all_scores[sequence, position], all_kept[sequence, position]
                seen, masked = scores[kept], scores[~kept]
                lowest = float(seen.min())
                rows.append(("dispersion", trace.layer, sequence, position, float(seen.max()) - lowest))
                rows.append(("separation", trace.layer, sequence, position, lowest - float(masked.max())))
                loads = loads + kept
                num_kept += int(kept.sum())
            for position, load in enumerate(loads.tolist()):
                rows.append(("key_load", trace.layer, sequence, position, load * LENGTH / num_kept))
    return rows


def check(traces: list[AttentionTrace], rows: list[Row]) -> None:
    """That both ways agree."""
    for number, name in enumerate(("dispersion", "separation", "key_load")):
        ours = torch.cat([each.flatten() for each in vectorised(traces)[number::3]])
        theirs = torch.tensor([row[-1] for row in rows if row[0] == name], dtype=torch.float64)
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)


def main(words: Sequence[str] | None = None) -> None:
    arguments = started(benchmark_parser(__doc__, repeats=5), words)
    num, repeats = (3, 1) if arguments.smoke else (1000, arguments.repeats)
    with limited_threads(1):
        traces = make_traces(num)
        times: dict[str, float] = {}
        for turn in ("before", "after"):
            times[f"vectorised, {turn}"] = interleaved({"": lambda: vectorised(traces)}, repeats)[""]
            if turn == "before":
                for name, arrays in (("loop", False), ("loop on NumPy arrays", True)):
                    begun = perf_counter()
                    rows = looped(traces, arrays)
                    times[name] = 1e3 * (perf_counter() - begun)
                    check(traces, rows)
    print(f"{num} sequences of length {LENGTH}, 5 layers, {len(rows)} values, one thread, milliseconds")
    print_table(tuple(times), [tuple(times.values())])
    slower = max(times["vectorised, before"], times["vectorised, after"])
    print_claim("loop / vectorised", times["loop"] / slower, at_least=CLAIMED)
    print(f"loop on NumPy arrays / vectorised: {times['loop on NumPy arrays'] / slower:.2f}, nothing claimed")


if __name__ == "__main__":
    main()
