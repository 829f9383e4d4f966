"""Attention that cannot be switched is found wherever the code of a forward pass leads."""

import types

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as under_another_name

from semfocus import TopK, apply


class Permuted(nn.Module):
    def forward(self, x):
        return torch.softmax(torch.matmul(x, x.permute(0, 2, 1)), -1) @ x


class Transposed(nn.Module):
    def forward(self, x):
        return (x @ x.transpose(1, 2)).softmax(-1) @ x


class Renamed(nn.Module):
    def forward(self, x):
        return under_another_name(x, x, x)


class RenamedInside(nn.Module):
    def forward(self, x):
        from torch.nn.functional import scaled_dot_product_attention as attend

        return attend(x, x, x)


class Base(nn.Module):
    def mixed(self, x):
        return F.scaled_dot_product_attention(x, x, x)

    def forward(self, x):
        raise NotImplementedError


class Inherited(Base):
    def forward(self, x):
        return self.mixed(x)


class Child(Transposed):
    def forward(self, x):
        return super().forward(x)


def plain(x):
    return (x @ x.mT).softmax(-1) @ x


class PlainFunction(nn.Module):
    def forward(self, x):
        return plain(x)


class SoftmaxModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.normalise = nn.Softmax(-1)

    def forward(self, x):
        return self.normalise(torch.einsum("bid,bjd->bij", x, x)) @ x


def without_source():
    found = {}
    code = (
        "class Mixer(nn.Module):\n    def forward(self, x): return (x @ x.transpose(-1, -2)).softmax(-1) @ x"
    )
    exec(code, {"nn": nn}, found)
    return found["Mixer"]


def scripted():
    class Inside(nn.Module):
        def forward(self, x):
            return x.softmax(-1)

    return torch.jit.trace(Inside(), torch.ones(2, 2))


HIDDEN = {
    each.__name__: each
    for each in (
        Permuted,
        Transposed,
        Renamed,
        RenamedInside,
        Inherited,
        Child,
        PlainFunction,
        SoftmaxModule,
        without_source(),
        scripted,
    )
}


def beside(module):
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    return nn.Sequential(nn.TransformerEncoder(layer, 1), module)


@pytest.mark.parametrize("name", HIDDEN)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_hidden_attention_is_refused(name):
    model = beside(HIDDEN[name]())
    with pytest.raises(ValueError, match=r"cannot be switched: 1 \("):
        apply(model, TopK(2))
    assert type(model[0].layers[0].self_attn) is nn.MultiheadAttention


class Head(nn.Module):
    """A softmax over classes, a transposition, a product of parameters, and words about attention."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(16, 3))

    def forward(self, x):
        """(x @ x.transpose(-1, -2)).softmax(-1) would be scaled_dot_product_attention(x, x, x)."""
        return F.log_softmax(x.transpose(0, 1).mean(0) @ self.weight, -1)


class Router(nn.Module):
    def forward(self, x):
        return x.transpose(0, 1).softmax(-1)


@pytest.mark.parametrize("module", [Head, Router])
def test_what_is_no_attention_is_no_hindrance(module):
    assert len(apply(beside(module()), TopK(2))) == 1


def another_forward(self, *args, **kwargs):
    return nn.MultiheadAttention.forward(self, *args, **kwargs)


def test_a_module_with_another_forward_is_refused():
    model = beside(nn.Identity())
    attention = model[0].layers[0].self_attn
    attention.forward = types.MethodType(another_forward, attention)
    with pytest.raises(ValueError, match="was given another forward"):
        apply(model, TopK(2))
