"""torch.compile and torch.export see one graph, and it computes what the eager call does."""

import math

import pytest
import torch
from torch import nn

from semfocus import Banded, BlockLocal, Full, Random, TopK, TopP, WithGlobals, attention
from semfocus.kernels.cpu.library import without_kernels


def inputs(num_queries=9, num_keys=9, key_heads=4, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    shapes = (2, 4, num_queries, 8), (2, key_heads, num_keys, 8), (2, key_heads, num_keys, 8)
    return [torch.randn(shape, generator=generator).to(dtype).requires_grad_() for shape in shapes]


CASES = {
    "top_k": (TopK(3), {}, {}),
    "causal": (Banded(3), {"causal": True}, {}),
    "masked": (Full(), {"mask": torch.arange(9) % 4 != 1}, {}),
    "globals": (WithGlobals(BlockLocal(4), 1), {}, {}),
    "top_p": (TopP(0.9), {}, {}),
    "random": (Random(3), {}, {}),
    "dropout": (TopK(3), {"dropout": 0.3}, {}),
    "dropout of top_p": (TopP(0.9), {"dropout": 0.3}, {}),
    "grouped": (TopK(3), {"enable_gqa": True, "causal": True}, {"key_heads": 2}),
    "decoding": (TopK(3), {"causal": True}, {"num_queries": 1}),
    "bfloat16": (TopK(3), {}, {"dtype": torch.bfloat16}),
}


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        *((name, "aot_eager") for name in CASES),
        # generates C++ and compiles it, up to a minute each
        *(pytest.param(name, "inductor", marks=pytest.mark.slow) for name in ("top_k", "top_p", "grouped")),
    ],
)
def test_one_graph_with_the_gradients_of_the_eager_call(name, backend):
    pattern, options, shape = CASES[name]
    tensors = inputs(**shape)

    def run(query, key, value):
        return attention(query, key, value, pattern, **options)

    torch._dynamo.reset()
    found = []
    for function in (torch.compile(run, fullgraph=True, backend=backend), run):
        torch.manual_seed(1)  # the draws of a graph are those of the eager call
        output = function(*tensors)
        found.append((output, *torch.autograd.grad(output.float().square().sum(), tensors)))
    for compiled, eager in zip(*found, strict=True):
        assert torch.allclose(compiled.float(), eager.float(), atol=1e-5)


class Attends(nn.Module):
    def __init__(self, pattern, options):
        super().__init__()
        self.pattern, self.options = pattern, options

    def forward(self, query, key, value):
        return attention(query, key, value, self.pattern, **self.options)


@pytest.mark.parametrize("name", ["top_k", "globals", "dropout", "grouped"])
def test_an_exported_program_computes_the_same(name):
    pattern, options, shape = CASES[name]
    tensors = tuple(tensor.detach() for tensor in inputs(**shape))
    module = Attends(pattern, options)
    program = torch.export.export(module, tensors).module()
    torch.manual_seed(1)
    expected = module(*tensors)
    torch.manual_seed(1)
    assert torch.allclose(program(*tensors), expected, atol=1e-5)


def test_an_exported_length_may_vary():
    length = torch.export.Dim("length", min=4, max=64)
    module = Attends(TopK(3), {"causal": True})
    tensors = tuple(tensor.detach() for tensor in inputs())
    program = torch.export.export(module, tensors, dynamic_shapes=({2: length},) * 3).module()
    longer = [tensor.detach() for tensor in inputs(17, 17)]
    assert torch.allclose(program(*longer), module(*longer), atol=1e-5)


def test_a_scale_that_a_graph_leaves_open():
    def run(query, key, value):
        return attention(query, key, value, TopK(3), scale=1 / math.sqrt(query.shape[-1]))

    torch._dynamo.reset()
    compiled = torch.compile(run, dynamic=True, fullgraph=True, backend="aot_eager")
    for width in (5, 7):
        tensors = [torch.randn(2, 2, 9, width, generator=torch.Generator().manual_seed(0)) for _ in range(3)]
        assert torch.allclose(compiled(*tensors), run(*tensors), atol=1e-5)


def test_without_kernels_there_is_one_graph_too():
    tensors = inputs()
    with without_kernels():
        torch._dynamo.reset()
        compiled = torch.compile(
            lambda *tensors: attention(*tensors, TopK(3)), fullgraph=True, backend="aot_eager"
        )
        assert torch.allclose(compiled(*tensors), attention(*tensors, TopK(3)), atol=1e-5)


def test_a_nan_that_nobody_may_see_stays_unseen_in_a_graph():
    query, key, value = inputs()
    key.data[:, :, 4] = torch.nan
    mask = torch.arange(9) != 4

    def run(query, key, value):
        return attention(query, key, value, TopP(0.9), mask=mask)

    torch._dynamo.reset()
    output = torch.compile(run, fullgraph=True, backend="aot_eager")(query, key, value)
    assert output.isfinite().all()
    assert all(each.isfinite().all() for each in torch.autograd.grad(output.sum(), (query, key, value)))
