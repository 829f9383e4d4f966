"""Top-k attention in a PyTorch model that exists already: switch, train, look inside, switch back.

Run it: python examples/pytorch_model.py
"""

import torch
from torch import nn

import semfocus
from semfocus import TopK


class Tagger(nn.Module):
    """Says for every token whether the first token of its sequence is the same one."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(8, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.readout = nn.Linear(32, 2)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        first = torch.zeros(tokens.shape[1], 1)
        first[0] = 1.0
        return self.readout(self.encoder(self.embedding(tokens) + first))


def loss_of(model: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    same = (tokens == tokens[:, :1]).long()
    return nn.functional.cross_entropy(model(tokens).flatten(0, 1), same.flatten())


def main() -> None:
    torch.manual_seed(0)
    tokens = torch.randint(8, (32, 16))
    model = Tagger()
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)  # built before the switch: it keeps working

    print(semfocus.apply(model, TopK(4)))
    start = loss_of(model, tokens).item()
    for _ in range(30):
        optimiser.zero_grad()
        loss_of(model, tokens).backward()
        optimiser.step()
    end = loss_of(model, tokens).item()
    print(f"loss: {start:.3f} -> {end:.3f}")
    assert end < start

    model.eval()
    with torch.inference_mode(), semfocus.capture(model) as traces:
        switched = model(tokens)
    for trace in traces:
        most = int((trace.weights > 0).sum(-1).max())
        print(f"layer {trace.layer}: at most {most} of {trace.weights.shape[-1]} keys per query")
        assert most == 4

    semfocus.restore(model)
    with torch.inference_mode():
        print(f"restored: outputs differ by up to {(model(tokens) - switched).abs().max():.2f}")


if __name__ == "__main__":
    main()
