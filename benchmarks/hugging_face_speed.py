"""Claim: switched to top_k(8), Gemma 2, T5, Qwen2 and BERT take at most as long as stock, from 512 tokens on.

Models of transformers built from small configs (two layers, width 256, heads of 64), as stock loads them
(SDPA, or eager where the model has no other) and switched by `semfocus.apply`: forward pass without
gradients, and forward with backward pass; all measured in turns in one run. Gemma 2 limits its scores
(softcap), T5 adds a bias of positions.

    python benchmarks/hugging_face_speed.py [--repeats 5] [--threads 2]
"""

from collections.abc import Callable, Sequence

import torch
from torch import nn
from transformers import (
    BertConfig,
    BertModel,
    Gemma2Config,
    Gemma2Model,
    Qwen2Config,
    Qwen2Model,
    T5Config,
    T5EncoderModel,
)

import semfocus
from semfocus.training.device import keep_freed_memory, limited_threads
from timing import benchmark_parser, interleaved, print_claim, print_table, started

LENGTHS = (512, 1024)
PATTERN = "top_k(8)"
COMMON = {"vocab_size": 1000, "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4}
DECODER = COMMON | {"intermediate_size": 1024, "num_key_value_heads": 2, "head_dim": 64}

MODELS: dict[str, Callable[[], nn.Module]] = {
    "Gemma 2": lambda: Gemma2Model(Gemma2Config(**DECODER, query_pre_attn_scalar=64)),
    "T5": lambda: T5EncoderModel(
        T5Config(
            vocab_size=1000, d_model=256, d_kv=64, d_ff=1024, num_layers=2, num_heads=4, dropout_rate=0.0
        )
    ),
    "Qwen2": lambda: Qwen2Model(Qwen2Config(**DECODER)),
    "BERT": lambda: BertModel(
        BertConfig(
            **COMMON,
            intermediate_size=1024,
            max_position_embeddings=max(LENGTHS),
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    ),
}


def built(name: str) -> nn.Module:
    torch.manual_seed(0)
    return MODELS[name]().train()


def passes(model: nn.Module, tokens: torch.Tensor) -> dict[str, Callable[[], object]]:
    """What is timed: looking, and learning."""

    def output() -> torch.Tensor:
        hidden: torch.Tensor = model(input_ids=tokens).last_hidden_state
        return hidden

    def backward() -> None:
        model.zero_grad()
        output().square().mean().backward()

    return {"forward": torch.no_grad()(output), "both": backward}


def main(words: Sequence[str] | None = None) -> None:
    parser = benchmark_parser(__doc__, repeats=5)
    parser.add_argument("--threads", type=int, default=2)
    arguments = started(parser, words)
    keep_freed_memory()
    lengths, repeats = ((16,), 1) if arguments.smoke else (LENGTHS, arguments.repeats)
    rows = []
    with limited_threads(arguments.threads):
        for name in MODELS:
            stock, switched = built(name), built(name)
            semfocus.apply(switched, PATTERN)
            for length in lengths:
                tokens = torch.randint(2, 1000, (1, length), generator=torch.Generator().manual_seed(0))
                ways = {"stock": passes(stock, tokens), "switched": passes(switched, tokens)}
                times = interleaved(
                    {f"{way} {part}": call for way, parts in ways.items() for part, call in parts.items()},
                    repeats,
                )
                rows += [
                    (
                        name,
                        stock.config._attn_implementation,
                        length,
                        part,
                        times[f"stock {part}"],
                        times[f"switched {part}"],
                    )
                    for part in ("forward", "both")
                ]
    print(
        f"{PATTERN}, one sequence, threads: {arguments.threads}, milliseconds; both: forward and backward pass"
    )
    print_table(
        ("model", "stock is", "length", "pass", "stock", "switched", "switched / stock"),
        [(*row, row[-1] / row[-2]) for row in rows],
    )
    for row in rows:
        print_claim(f"switched / stock, {row[0]}, {row[2]}, {row[3]}", row[-1] / row[-2], at_most=1)


if __name__ == "__main__":
    main()
