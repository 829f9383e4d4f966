"""Defects of the compiled kernels."""

from tests.mutants.mutant import Mutant, defects

SOURCE = "kernels/cpu/source/"
NATIVE = "tests/kernels/test_native.py"

KERNELS: tuple[Mutant, ...] = (
    *defects(
        NATIVE,
        f"{SOURCE}select.inc",
        ("among few candidates ties go to the last key", "& (at < other));", "& (at > other));"),
        (
            "among many candidates a tie too many is kept",
            "(is_tied && boundary.tied > 0)",
            "(is_tied && boundary.tied >= 0)",
        ),
        (
            "later chunks of keys are passed over",
            "if (worst == std::numeric_limits<T>::infinity()) return;",
            "if (worst > T(0)) return;",
        ),
    ),
    *defects(
        NATIVE,
        f"{SOURCE}rows.inc",
        (
            "causal is off by one in the kernels",
            "p.keys - p.queries + query + 1));",
            "p.keys - p.queries + query));",
        ),
        ("a later chunk of keys has the mask of the first", "    mask += first_key * p.mask_key;\n", ""),
        (
            "dropout of the kernels does not scale up",
            "best.values[at] * keep_scale : T(0)",
            "best.values[at] : T(0)",
        ),
    ),
    *defects(
        NATIVE,
        f"{SOURCE}kept_backward.inc",
        (
            "the scale is forgotten in the backward pass",
            "grad_score[at] = T(p.scale) * weights[at] * centred;",
            "grad_score[at] = weights[at] * centred;",
        ),
        (
            "the mean gradient of a row is not taken off",
            "T((double)grad_score[at] - mean)",
            "T((double)grad_score[at])",
        ),
        (
            "the parts of several threads are not all added",
            "for (int64_t part = 1; part < parts; part++)",
            "for (int64_t part = 2; part < parts; part++)",
        ),
    ),
    *defects(
        "tests/mechanisms/test_changed_scores.py",
        f"{SOURCE}kept_backward.inc",
        (
            "the slope of a softcap is forgotten",
            "        grad_score[at] *= T(1 - share * share);\n",
            "        (void)share;\n",
        ),
    ),
    *defects(
        NATIVE,
        f"{SOURCE}by_score.inc",
        (
            "top-k has the mask of the first chunk of keys everywhere",
            "mark_row(p, batch, query, scores, chunk, count, surely_finite",
            "mark_row(p, batch, query, scores, 0, count, surely_finite",
        ),
    ),
    *defects(
        NATIVE,
        f"{SOURCE}full.inc",
        ("what was summed before is not scaled to a new maximum", "    work.total[at] *= factor;\n", ""),
    ),
    *defects(
        NATIVE,
        f"{SOURCE}by_position.inc",
        ("a band of the kernels leans to the left", "position - (p.size - 1) / 2)", "position - p.size / 2)"),
    ),
    *defects(
        NATIVE,
        f"{SOURCE}vectors.inc",
        (
            "the last feature of an odd width is left out",
            "for (int64_t at = whole; at < width; at++) total +=",
            "for (int64_t at = whole; at + 1 < width; at++) total +=",
        ),
    ),
    *defects(
        "tests/kernels/numerics/test_numerics.py tests/kernels/test_equality.py",
        f"{SOURCE}vectors.inc",
        ("ln 2 has one part", "  rest = rest + whole * 2.12194440e-4f;\n", ""),
        (
            "an exponential lacks its last term",
            "  V sum = spread(1.0f / 5040);\n  sum = sum * rest + 1.0f / 720;\n",
            "  V sum = spread(1.0f / 720);\n",
        ),
    ),
    *defects(
        "tests/kernels/numerics/test_numerics.py",
        f"{SOURCE}workspace.h",
        ("threads share their working memory", "static thread_local Buffer buffer;", "static Buffer buffer;"),
    ),
    *defects(
        "tests/kernels/test_passes.py",
        f"{SOURCE}passes.inc",
        ("LayerNorm forgets its epsilon", "std::sqrt(variance + epsilon)", "std::sqrt(variance)"),
        (
            "a unit that was dropped gets a gradient",
            "kept_product(result[at] > 0, gradient[at], keep_scale)",
            "kept_product(result[at] >= 0, gradient[at], keep_scale)",
        ),
    ),
    *defects(
        "tests/model/test_fused_block.py",
        f"{SOURCE}block_backward.inc",
        (
            "the fused block forgets a bias",
            "add_scaled(to_bias, bias + part * count, T(1), count);",
            "(void)to_bias;",
        ),
    ),
)
