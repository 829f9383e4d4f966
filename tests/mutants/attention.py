"""Defects of attention in Python: masks, ties, scales, positions, other libraries' meanings."""

from tests.mutants.mutant import Mutant, defects

ATTENTION: tuple[Mutant, ...] = (
    *defects(
        "tests/mechanisms/test_input_dependent.py",
        "mechanisms/pattern.py",
        (
            "ties go to the last key",
            "(tied.cumsum(-1, dtype=torch.int32) <= room)",
            "(tied.flip(-1).cumsum(-1, dtype=torch.int32).flip(-1) <= room)",
        ),
        (
            "all that tie are kept",
            "    return above | (tied & (tied.cumsum(-1, dtype=torch.int32) <= room))",
            "    return above | tied",
        ),
        (
            "a key that is not allowed may be kept",
            "tied = (ranked == smallest_kept) & allowed",
            "tied = ranked == smallest_kept",
        ),
        (
            "a NaN ranks last",
            "priority.masked_fill(priority.isnan(), torch.inf)",
            "priority.masked_fill(priority.isnan(), -torch.inf)",
        ),
    ),
    *defects(
        "tests/mechanisms/test_causal.py",
        "mechanisms/call.py",
        (
            "causal is off by one",
            "torch.arange(rows.num_keys, device=device) <= rows.positions(device)",
            "torch.arange(rows.num_keys, device=device) < rows.positions(device)",
        ),
        (
            "causal begins at the first key",
            "<= rows.positions(device)",
            "<= torch.arange(rows.first, rows.stop, device=device).unsqueeze(-1)",
        ),
    ),
    *defects(
        "tests/mechanisms/test_attention.py tests/mechanisms/test_gradients.py",
        "mechanisms/call.py",
        (
            "shared heads serve the wrong queries",
            "return tensor.repeat_interleave(query.shape[-3] // tensor.shape[-3], dim=-3)",
            "return tensor.repeat(*(1,) * (tensor.dim() - 3), query.shape[-3] // tensor.shape[-3], 1, 1)",
        ),
    ),
    *defects(
        "tests/mechanisms/test_blockwise.py",
        "mechanisms/call.py",
        (
            "every block of queries has the mask of the first",
            "mask[..., rows.first : rows.stop, :]",
            "mask[..., : rows.stop - rows.first, :]",
        ),
    ),
    *defects(
        "tests/mechanisms/test_blockwise.py",
        "mechanisms/blockwise.py",
        (
            "the last block alone gives keys their gradient",
            "                grad_key += gradients[1]\n",
            "                grad_key = gradients[1]\n",
        ),
    ),
    *defects(
        "tests/mechanisms/test_reference.py",
        "mechanisms/reference.py",
        (
            "the scale is forgotten",
            "scores = _products(query, key) * scale\n",
            "scores = _products(query, key)\n",
        ),
    ),
    *defects(
        "tests/mechanisms/test_empty_rows.py",
        "mechanisms/reference.py",
        (
            "a row that keeps nothing is a softmax of nothing",
            ".masked_fill(~kept, -torch.inf).masked_fill(nothing_kept, 0.0)",
            ".masked_fill(~kept, -torch.inf)",
        ),
    ),
    *defects(
        "tests/mechanisms/test_not_finite.py",
        "mechanisms/reference.py",
        (
            "a value that is not kept reaches the output as 0 times NaN",
            "        output = weights @ _finite(value)\n",
            "        output = weights @ value\n",
        ),
        ("a NaN score hides in a row", "output.masked_fill(has_nan, torch.nan)", "output"),
    ),
    *defects(
        "tests/mechanisms/test_input_agnostic.py",
        "mechanisms/input_agnostic.py",
        (
            "a band leans to the left",
            "2 * offset.abs() - (offset > 0).long()",
            "2 * offset.abs() - (offset < 0).long()",
        ),
        (
            "blocks begin one key late",
            "key_block = torch.arange(rows.num_keys, device=allowed.device) // size",
            "key_block = (torch.arange(rows.num_keys, device=allowed.device) - 1) // size",
        ),
    ),
    *defects(
        "tests/mechanisms/test_input_agnostic.py",
        "mechanisms/controls.py",
        (
            "random keys are not equally likely",
            "limit = choices - choices.clamp(max=num_kept) + place",
            "limit = choices - 1",
        ),
    ),
    *defects(
        "tests/mechanisms/test_global_tokens.py",
        "mechanisms/global_tokens.py",
        (
            "nobody sees the global tokens",
            "others = allowed.expand(*leading, *scores.shape[-2:])\n",
            "others = torch.zeros_like(allowed.expand(*leading, *scores.shape[-2:]))\n",
        ),
    ),
    *defects(
        "tests/mechanisms/test_observation.py",
        "mechanisms/observation.py",
        (
            "a capture goes on listening",
            "            point.listeners = tuple(each for each in point.listeners if each is not listener)\n",
            "",
        ),
    ),
    *defects(
        "tests/integrations/test_multihead.py",
        "integrations/mask_conversion.py",
        ("a mask of torch's means the contrary", "allowed, bias = ~mask, None", "allowed, bias = mask, None"),
    ),
    *defects(
        "tests/kernels/test_native.py",
        "mechanisms/native.py",
        (
            "dropout draws before the choice of random keys",
            "        selection_seed=draw_seed(generator) if isinstance(pattern, Random) else 0,\n        dropout_seed=draw_seed(generator) if dropout else 0,\n",
            "        dropout_seed=draw_seed(generator) if dropout else 0,\n        selection_seed=draw_seed(generator) if isinstance(pattern, Random) else 0,\n",
        ),
    ),
    *defects(
        "tests/kernels/test_native.py",
        "kernels/cpu/attention.py",
        (
            "a NaN that a band passes over is not looked for",
            "    if _library().forward(problem, query.dtype == torch.float64):\n",
            "    if _library().forward(problem, query.dtype == torch.float64) and False:\n",
        ),
    ),
)
