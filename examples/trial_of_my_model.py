"""Would top-k attention help my model? A trial on a model of one's own and on data of one's own, in a minute or two."""

import random
import tempfile
from pathlib import Path

from semfocus.trial import TrialSettings, run_trial

MODEL = """
import torch
from torch import nn

vocab_size, max_length, pad_id = 5, 16, 0


class Mine(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, 16)
        self.positions = nn.Embedding(max_length, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.readout = nn.Linear(16, 2)

    def forward(self, tokens):
        x = self.embedding(tokens) + self.positions.weight[: tokens.shape[1]]
        return self.readout(self.encoder(x).mean(1))


def model():
    return Mine()
"""


def write_data(path: Path) -> None:
    """Sequences of a, b and c; the label says whether there is exactly one c."""
    draw = random.Random(0)
    rows = []
    for _ in range(600):
        label = draw.randrange(2)
        symbols = [draw.choice("ab") for _ in range(12)]
        for place in draw.sample(range(12), 1 if label else 2):
            symbols[place] = "c"
        rows.append(f"{' '.join(symbols)},{'one' if label else 'more'}")
    path.write_text("\n".join(["sequence,label", *rows]) + "\n", encoding="utf-8")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        model, data = Path(folder, "mine.py"), Path(folder, "data.csv")
        model.write_text(MODEL, encoding="utf-8")
        write_data(data)
        result = run_trial(
            model,
            data,
            ["top_k(3)"],
            directory=Path(folder, "trial"),
            settings=TrialSettings(steps=60, batch_size=16, looks=15, warmup_steps=5, learning_rate=5e-3),
            device="cpu",
        )
        print(result.decision().text)
        print(f"{result.model}: {result.data}")
        for arm in result.arms:
            print(f"{arm.label:<18} held-out loss {result.final_loss(arm):.3f}")
        for sentence in result.sentences():
            print(sentence)


if __name__ == "__main__":
    main()
