"""A small language model on text that every machine has: full attention and top-k, perplexity, a look inside.

Run it: python examples/language_model.py
"""

import math
import tempfile

import torch

import semfocus
from semfocus.runs import RunSpec, open_store
from semfocus.training import run
from semfocus.training.trained_run import load_run

TASK = "text:stdlib"  # sources of the Python standard library; text:PATH is a file or a folder of yours


def spec_of(pattern: str) -> RunSpec:
    """Bytes, windows of 32, one pass over 400 of them an epoch."""
    return RunSpec(
        task=TASK,
        pattern=pattern,
        seed=1,
        model={"num_blocks": 2, "d_model": 32, "d_mlp": 64},
        training={
            "length": 32,
            "num_train": 400,
            "num_held_out": 100,
            "epochs": 3,
            "learning_rate": 0.003,
        },
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(folder)
        for pattern in ("full", "top_k(5)"):
            spec = spec_of(pattern)
            losses = run(spec, store)["curve"]["held_out_loss"]  # a run that ended before is read
            perplexities = " ".join(f"{math.exp(loss):.1f}" for loss in losses)
            print(f"{pattern}: held-out perplexity, untrained and after each epoch: {perplexities}")

            model = load_run(store.directory(spec)).model.eval()
            tokens = spec.task_value.tokens_of("def attention(query, key, value)")[None]
            changed = tokens.clone()
            changed[0, -1] += 1
            with torch.no_grad():
                with semfocus.capture(model) as traces:
                    model(tokens)
                same = torch.equal(model(tokens)[:, :-1], model(changed)[:, :-1])
            kept = " ".join(str(int(trace.kept[0, 0, -1].sum())) for trace in traces)
            print(f"  keys that the last query keeps, layer by layer: {kept}")
            print(f"  another last byte leaves what was said before it as it was: {same}")


if __name__ == "__main__":
    main()
