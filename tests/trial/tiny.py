"""A tiny model in a file, and data for it."""

from pathlib import Path

MODEL = """
import torch
from torch import nn

vocab_size, max_length, pad_id = 8, 24, 0


class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(8, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.readout = nn.Linear(16, 2)

    def forward(self, tokens, padding=None):
        dropped = None if padding is None else ~padding
        return self.readout(self.encoder(self.embedding(tokens), src_key_padding_mask=dropped).mean(1))


def model():
    return Tiny()
"""


def write(folder: Path, num: int = 200) -> tuple[Path, Path]:
    """The file of the model, and rows whose label is the more frequent of two symbols."""
    import random

    draw = random.Random(0)
    rows = []
    for _ in range(num):
        symbols = [draw.choice("ab") for _ in range(draw.choice((9, 11)))]
        rows.append(f"{' '.join(symbols)},{'more a' if symbols.count('a') * 2 > len(symbols) else 'more b'}")
    (folder / "data.csv").write_text("\n".join(["sequence,label", *rows]) + "\n")
    (folder / "tiny.py").write_text(MODEL)
    return folder / "tiny.py", folder / "data.csv"
