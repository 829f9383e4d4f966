"""The theory as pure functions of numbers, in three layers that are never mixed: published, exact, local measured."""

from typing import TYPE_CHECKING

from semfocus.lazy import lazy_exports

if TYPE_CHECKING:
    from semfocus.theory.algorithmic_stability import hrs_bound, stability_schedule
    from semfocus.theory.attention_in_inputs import (
        lambda_x_global,
        lambda_x_pointwise,
        log_lambda_x_global,
        log_lambda_x_pointwise,
        log_lambda_x_published,
    )
    from semfocus.theory.attention_in_weights import log_lambda_w
    from semfocus.theory.comparison import (
        c2_min_w,
        c2_min_x,
        lhs_w,
        lhs_x,
        maxform_margin,
        route_a,
        route_b,
    )
    from semfocus.theory.convergence import sgd_iterations, sgd_rate
    from semfocus.theory.gaps import average_topk_slope, gap_density
    from semfocus.theory.gaussian import gaussian_null, gaussian_null_at
    from semfocus.theory.jacobian import jacobian_norms
    from semfocus.theory.jumps import (
        largest_softmax_change,
        largest_topk_change,
        top_p_jump,
        width_jump,
    )
    from semfocus.theory.layers import ACTIVATION_LIPSCHITZ, block_lipschitz, layernorm_lipschitz
    from semfocus.theory.local import attended_cov, attended_diameter, flip_jump, lambda_w_local
    from semfocus.theory.published_table import PUBLISHED_K, PUBLISHED_TABLE
    from semfocus.theory.row_statistics import row_stats, topk_support
    from semfocus.theory.softmax_stability import critical_dispersion, log_xi_exact, log_xi_published
    from semfocus.theory.top_k_stability import log_xi_topk, topk_quasi
    from semfocus.theory.verdicts import compare, compare_numbers
    from semfocus.theory.whole_model import model_lipschitz

__all__ = [
    "ACTIVATION_LIPSCHITZ",
    "PUBLISHED_K",
    "PUBLISHED_TABLE",
    "attended_cov",
    "attended_diameter",
    "average_topk_slope",
    "block_lipschitz",
    "c2_min_w",
    "c2_min_x",
    "compare",
    "compare_numbers",
    "critical_dispersion",
    "flip_jump",
    "gap_density",
    "gaussian_null",
    "gaussian_null_at",
    "hrs_bound",
    "jacobian_norms",
    "lambda_w_local",
    "lambda_x_global",
    "lambda_x_pointwise",
    "largest_softmax_change",
    "largest_topk_change",
    "layernorm_lipschitz",
    "lhs_w",
    "lhs_x",
    "log_lambda_w",
    "log_lambda_x_global",
    "log_lambda_x_pointwise",
    "log_lambda_x_published",
    "log_xi_exact",
    "log_xi_published",
    "log_xi_topk",
    "maxform_margin",
    "model_lipschitz",
    "route_a",
    "route_b",
    "row_stats",
    "sgd_iterations",
    "sgd_rate",
    "stability_schedule",
    "top_p_jump",
    "topk_quasi",
    "topk_support",
    "width_jump",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "ACTIVATION_LIPSCHITZ": "semfocus.theory.layers",
        "PUBLISHED_K": "semfocus.theory.published_table",
        "PUBLISHED_TABLE": "semfocus.theory.published_table",
        "attended_cov": "semfocus.theory.local",
        "attended_diameter": "semfocus.theory.local",
        "average_topk_slope": "semfocus.theory.gaps",
        "block_lipschitz": "semfocus.theory.layers",
        "c2_min_w": "semfocus.theory.comparison",
        "c2_min_x": "semfocus.theory.comparison",
        "compare": "semfocus.theory.verdicts",
        "compare_numbers": "semfocus.theory.verdicts",
        "critical_dispersion": "semfocus.theory.softmax_stability",
        "flip_jump": "semfocus.theory.local",
        "gap_density": "semfocus.theory.gaps",
        "gaussian_null": "semfocus.theory.gaussian",
        "gaussian_null_at": "semfocus.theory.gaussian",
        "hrs_bound": "semfocus.theory.algorithmic_stability",
        "jacobian_norms": "semfocus.theory.jacobian",
        "lambda_w_local": "semfocus.theory.local",
        "lambda_x_global": "semfocus.theory.attention_in_inputs",
        "lambda_x_pointwise": "semfocus.theory.attention_in_inputs",
        "largest_softmax_change": "semfocus.theory.jumps",
        "largest_topk_change": "semfocus.theory.jumps",
        "layernorm_lipschitz": "semfocus.theory.layers",
        "lhs_w": "semfocus.theory.comparison",
        "lhs_x": "semfocus.theory.comparison",
        "log_lambda_w": "semfocus.theory.attention_in_weights",
        "log_lambda_x_global": "semfocus.theory.attention_in_inputs",
        "log_lambda_x_pointwise": "semfocus.theory.attention_in_inputs",
        "log_lambda_x_published": "semfocus.theory.attention_in_inputs",
        "log_xi_exact": "semfocus.theory.softmax_stability",
        "log_xi_published": "semfocus.theory.softmax_stability",
        "log_xi_topk": "semfocus.theory.top_k_stability",
        "maxform_margin": "semfocus.theory.comparison",
        "model_lipschitz": "semfocus.theory.whole_model",
        "route_a": "semfocus.theory.comparison",
        "route_b": "semfocus.theory.comparison",
        "row_stats": "semfocus.theory.row_statistics",
        "sgd_iterations": "semfocus.theory.convergence",
        "sgd_rate": "semfocus.theory.convergence",
        "stability_schedule": "semfocus.theory.algorithmic_stability",
        "top_p_jump": "semfocus.theory.jumps",
        "topk_quasi": "semfocus.theory.top_k_stability",
        "topk_support": "semfocus.theory.row_statistics",
        "width_jump": "semfocus.theory.jumps",
    },
)
