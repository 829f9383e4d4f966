"""Claim: the loss of a trained model never changes by more than `model_lipschitz` allows; how loose that is,
is printed.

Small classifiers with the paper's own block (joint projections), post- and pre-norm, full and top-k attention, are
trained for some steps. All parameters but the embedding are then moved in random directions, by several distances, or
one tensor alone along the gradient of one sample's loss; the largest change of any sample's loss counts. The
move is made one tensor after the other; each constant that the bound needs (norms, standard deviations in
LayerNorms, dispersions, separations, key loads) is measured on every model along that way, so the bound is a
theorem about this very pair and not an estimate.

    python benchmarks/lipschitz_looseness.py [--smoke] [--moves 20]
"""

import argparse
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from semfocus import capture, theory
from semfocus.model import Classifier, ModelConfig
from semfocus.tasks import TASKS
from timing import print_table

EPS = 1e-5


def trained_model(norm: str, pattern: str, steps: int, seed: int = 0) -> tuple[Classifier, Tensor, Tensor]:
    """A small model after some steps of Adam, in float64, with the data that it was trained on."""
    generator = torch.Generator().manual_seed(seed)
    tokens, labels = TASKS["even_pairs"].sample(32, 10, generator)
    config = ModelConfig(
        vocab_size=3, num_classes=2, max_length=10, d_model=8, d_mlp=8, num_blocks=2, pattern=pattern, norm=norm,
        projections="joint", dropout=0.0, layer_norm_eps=EPS,
    )  # fmt: skip
    model = Classifier(config, seed).double()
    optimiser = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(steps):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(tokens), labels).backward()
        optimiser.step()
    return model.eval().requires_grad_(False), tokens, labels


class Measured:
    """The largest constants seen in any forward pass of any model on the way."""

    def __init__(self, num_blocks: int) -> None:
        names = (
            "token",
            "mlp_token",
            "s1",
            "s2",
            "dispersion",
            "separation",
            "in_degree",
            "W",
            "V",
            "P",
            "R",
        )
        self.blocks = [dict.fromkeys(names, 0.0) | {"separation": math.inf} for _ in range(num_blocks)]
        self.rho = self.pooled = 0.0

    def look(self, model: Classifier, tokens: Tensor) -> Tensor:
        """Run the model once, and remember what was larger (or closer) than before; returns the logits."""
        seen: dict[tuple[int, str], Tensor] = {}
        hooks = []
        for at, block in enumerate(model.blocks):
            for name, module in (("block", block), ("attention", block.attention), ("mlp", block.mlp)):

                def hook(_: Any, inputs: tuple, output: Tensor, at: int = at, name: str = name) -> None:
                    seen[at, f"{name} in"], seen[at, f"{name} out"] = inputs[0], output

                hooks.append(module.register_forward_hook(hook))
        hooks.append(model.readout.register_forward_hook(lambda _, inputs, __: self._pooled(inputs[0])))
        with capture(model) as traces:
            logits = model(tokens)
        for each in hooks:
            each.remove()
        for at, (block, trace) in enumerate(zip(model.blocks, traces, strict=True)):
            self._block(
                at, block, trace, {name: value for (place, name), value in seen.items() if place == at}
            )
        self.rho = max(self.rho, spectral(model.readout.weight))
        return logits

    def _pooled(self, x: Tensor) -> None:
        self.pooled = max(self.pooled, x.norm(dim=-1).max().item())

    def _block(self, at: int, block: Any, trace: Any, seen: dict[str, Tensor]) -> None:
        attended = seen["block in"] + seen["attention out"]
        before = (
            (seen["block in"], attended) if block.pre_norm else (attended, seen["mlp in"] + seen["mlp out"])
        )
        stats = theory.row_stats(trace.scores.numpy(), trace.kept.numpy())
        found = {
            "token": seen["attention in"].norm(dim=-1).max().item(),
            "mlp_token": seen["mlp in"].norm(dim=-1).max().item(),
            "s1": float(theory.layernorm_lipschitz(before[0].numpy(), EPS).max()),
            "s2": float(theory.layernorm_lipschitz(before[1].numpy(), EPS).max()),
            "dispersion": float(stats["dispersion"].max()),
            "in_degree": int(stats["in_degree"].max()),
            "W": spectral(block.attention.score.weight),
            "V": spectral(block.attention.value.weight),
            "P": spectral(block.mlp.expand.weight),
            "R": spectral(block.mlp.contract.weight),
        }
        kept = self.blocks[at]
        kept |= {name: max(kept[name], value) for name, value in found.items()}
        kept["separation"] = min(kept["separation"], float(stats["separation"].min()))
        kept["n"] = int(stats["n"].max())

    def bound(self, norm: str) -> dict[str, Any]:
        """`model_lipschitz` of what was measured, exact constants."""
        blocks = []
        for each in self.blocks:
            sep = None if math.isinf(each["separation"]) else each["separation"]
            scale = each["V"], each["W"], each["token"]
            lx = theory.lambda_x_global(*scale, each["n"], each["dispersion"], each["in_degree"], sep)
            lw = np.exp(
                theory.log_lambda_w(
                    each["V"], each["token"], each["dispersion"], each["n"], sep, kind="exact"
                )
            )
            blocks.append(
                theory.block_lipschitz(
                    norm, each["s1"], each["s2"], 1.0, each["P"], each["R"], float(lx), float(lw), each["token"],
                    each["mlp_token"],
                )
            )  # fmt: skip
        return theory.model_lipschitz(blocks, math.sqrt(2), self.rho, self.pooled)


def spectral(weight: Tensor) -> float:
    return torch.linalg.matrix_norm(weight, 2).item()


#: the tensors that move, in the order in which they do, and their names in the bound
TENSORS = (("attention.score", "W"), ("attention.value", "V"), ("mlp.expand", "P"), ("mlp.contract", "R"))


def move(
    model: Classifier, tokens: Tensor, labels: Tensor, distance: float, seed: int, only: str = "all"
) -> tuple[float, float]:
    """(change of the loss, what the bound allows) for one random move; the model is left as it was.

    `only`: "all", "readout", or a tensor of a block such as "0.W"; the others stay.
    """
    generator = torch.Generator().manual_seed(seed)
    measured = Measured(len(model.blocks))
    state = {name: value.clone() for name, value in model.state_dict().items()}

    def losses(logits: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(logits, labels, reduction="none")

    before = losses(measured.look(model, tokens))
    sample = int(before.argmax())

    def direction(weight: Tensor) -> Tensor:
        if only == "all":
            return torch.randn(weight.shape, generator=generator, dtype=weight.dtype)
        weight.requires_grad_(True)
        own = torch.nn.functional.cross_entropy(model(tokens[[sample]]), labels[[sample]])
        (gradient,) = torch.autograd.grad(own, weight)
        weight.requires_grad_(False)
        return gradient

    moved: dict[tuple[int, str], float] = {}
    for at, block in enumerate(model.blocks):
        for place, name in TENSORS:
            if only in ("all", f"{at}.{name}"):
                weight = block.get_submodule(place).weight
                moved[at, name] = shift(weight, distance, direction(weight))
                measured.look(model, tokens)
    readout, weight = 0.0, model.readout.weight
    if only in ("all", "readout"):
        readout = shift(weight, distance, direction(weight))
    after = losses(measured.look(model, tokens))
    model.load_state_dict(state)
    found = measured.bound(model.config.norm)
    allowed = sum(found[name][at] * size for (at, name), size in moved.items()) + found["readout"] * readout
    return (after - before).abs().max().item(), allowed


def shift(weight: Tensor, distance: float, direction: Tensor) -> float:
    """Move a tensor by a share of its own norm; returns the spectral norm of the move."""
    change = distance * weight.norm() * direction / direction.norm()
    weight.add_(change)
    return spectral(change)


CASES = (("post", "full"), ("post", "top_k(3)"), ("pre", "full"), ("pre", "top_k(3)"))
MOVED = ("all", "0.W", "1.W", "1.R", "readout")
DISTANCES = (1e-3, 1e-2, 1e-1)


def looseness(norm: str, pattern: str, steps: int, moves: int) -> list[tuple[str, float, float]]:
    """(what moved, by which share of its norm, largest change / bound) for random moves of a trained model."""
    model, tokens, labels = trained_model(norm, pattern, steps)
    found = []
    for only in MOVED:
        for distance in DISTANCES if only == "all" else DISTANCES[1:2]:
            seeds = range(moves if only == "all" else 1)  # along a gradient nothing is random
            pairs = [move(model, tokens, labels, distance, seed, only) for seed in seeds]
            found.append((only, distance, max(change / allowed for change, allowed in pairs)))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--moves", type=int, default=20, help="random moves a case and distance")
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    options = parser.parse_args(arguments)
    steps, moves = (5, 2) if options.smoke else (40, options.moves)
    shares = [
        (norm, pattern, only, distance, share)
        for norm, pattern in CASES
        for only, distance, share in looseness(norm, pattern, steps, moves)
    ]
    print_table(
        ("norm", "pattern", "moved", "by", "largest change / bound", "bound / change"),
        [(*case, f"{distance:g}", f"{share:.1e}", f"{1 / share:.1e}") for *case, distance, share in shares],
    )
    worst = max(share for *_, share in shares)
    print(
        f"claim: no change exceeds the bound: {'met' if worst <= 1 else 'MISSED'} (largest share {worst:.2g})"
    )
    if worst > 1:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
