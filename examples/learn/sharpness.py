"""Top-k lowers dispersion and concentrates attention at once: how can one tell the two causes apart?

One untrained model whose attention is changed in several ways, looked at through `capture`. Run:

    python examples/learn/sharpness.py
"""

import torch
from picture import Picture

from semfocus import capture
from semfocus.model import Classifier, ModelConfig
from semfocus.probes import dispersion, effective_keys
from semfocus.tasks import TASKS

LENGTH = 40
#: name -> (pattern, inverse temperature: a factor on all scores)
ARMS = {
    "full": ("full", 1.0),
    "full x4": ("full", 4.0),
    "full x10": ("full", 10.0),
    "top_k(5)": ("top_k(5)", 1.0),
    "random(5)": ("random(5,fixed)", 1.0),
    "banded(5)": ("banded(5)", 1.0),
}


def look(pattern: str, inverse_temperature: float) -> tuple[float, float]:
    """(dispersion, effective number of keys): medians over the queries of all layers, same weights for every arm."""
    task = TASKS["even_pairs"]
    tokens, _ = task.sample(50, LENGTH, torch.Generator().manual_seed(0))
    config = ModelConfig(
        vocab_size=task.vocab_size, num_classes=task.num_classes, max_length=LENGTH,
        pattern=pattern, inverse_temperature=inverse_temperature,
    )  # fmt: skip
    model = Classifier(config, seed=0).eval()
    with capture(model) as traces, torch.no_grad():
        model(tokens)
    return tuple(
        float(torch.cat([measure(trace).flatten() for trace in traces]).median())
        for measure in (dispersion, effective_keys)
    )


def main() -> None:
    picture = Picture("Top-k concentrates attention more, and dispersion goes opposite ways")
    panel = picture.panel(
        "an untrained model of the paper's size, medians over queries",
        x=(0, 44), y=(0.05, 20), log_y=True, y_ticks=(0.1, 1, 10),
        x_label="effective number of attended keys (e to the entropy)", y_label="dispersion δ",
    )  # fmt: skip
    found = {name: look(*arm) for name, arm in ARMS.items()}
    for path in (("full", "full x4", "full x10"), ("full", "top_k(5)")):
        panel.line([found[name][1] for name in path], [found[name][0] for name in path], "faint", dashed=True)
    for name, (delta, keys) in found.items():
        ink = "sharp" if " x" in name else "top_k" if "top" in name else "full" if name == "full" else "fixed"
        panel.dots([keys], [delta], ink, size=6)
        if "full" in name:
            panel.label(keys, 1.65 * delta, name, ink, anchor="middle")
        else:
            panel.label(keys + 0.8, delta / 1.3 if "top" in name else delta, name, ink)
        print(f"{name}: dispersion {delta:.2f}, effective keys {keys:.1f}")
    picture.save("sharpness")


if __name__ == "__main__":
    main()
