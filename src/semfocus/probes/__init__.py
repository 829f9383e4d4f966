"""What is measured inside a model: functions of attention traces; `probe_rows` has all quantities, `names`
their words.
"""

from typing import TYPE_CHECKING

from semfocus.lazy import lazy_exports

if TYPE_CHECKING:
    from semfocus.probes.measures import QUANTITIES, View
    from semfocus.probes.names import NOISE_SIZES, Quantity
    from semfocus.probes.quantities.focus import focus_chance, focus_mass, focus_share
    from semfocus.probes.quantities.gradient_norms import mean_gradient_norms, sample_gradient_norms
    from semfocus.probes.quantities.keys import (
        key_degree,
        key_load,
        largest_key_load,
        largest_received_mass,
        mask_agreement,
        num_kept,
        received_mass,
        retained_mass,
    )
    from semfocus.probes.quantities.local_lipschitz import (
        attended_diameter,
        lambda_w_diameter,
        lambda_w_local,
        lambda_w_worst,
    )
    from semfocus.probes.quantities.scores import (
        average_slope,
        dispersion,
        dispersion_of_allowed,
        dispersion_ratio,
        gap_density_of,
        separation,
        separation_ratio,
    )
    from semfocus.probes.quantities.tokens import attended_covariance, covariance_norm, token_norm
    from semfocus.probes.quantities.weight_norms import score_matrices, value_matrices, weight_norms
    from semfocus.probes.quantities.weights import (
        effective_keys,
        entropy,
        norm_11,
        norm_22,
        norm_22_upper,
        norm_frobenius,
        norm_inf1,
        participation,
    )
    from semfocus.probes.rows import probe_rows
    from semfocus.probes.sequences import QueryPlaces, sample_queries
    from semfocus.probes.summary import Summary
    from semfocus.probes.traces import AttentionMap, attention_map, counterfactual, gaussian_twin

__all__ = [
    "NOISE_SIZES",
    "QUANTITIES",
    "AttentionMap",
    "Quantity",
    "QueryPlaces",
    "Summary",
    "View",
    "attended_covariance",
    "attended_diameter",
    "attention_map",
    "average_slope",
    "counterfactual",
    "covariance_norm",
    "dispersion",
    "dispersion_of_allowed",
    "dispersion_ratio",
    "effective_keys",
    "entropy",
    "focus_chance",
    "focus_mass",
    "focus_share",
    "gap_density_of",
    "gaussian_twin",
    "key_degree",
    "key_load",
    "lambda_w_diameter",
    "lambda_w_local",
    "lambda_w_worst",
    "largest_key_load",
    "largest_received_mass",
    "mask_agreement",
    "mean_gradient_norms",
    "norm_11",
    "norm_22",
    "norm_22_upper",
    "norm_frobenius",
    "norm_inf1",
    "num_kept",
    "participation",
    "probe_rows",
    "received_mass",
    "retained_mass",
    "sample_gradient_norms",
    "sample_queries",
    "score_matrices",
    "separation",
    "separation_ratio",
    "token_norm",
    "value_matrices",
    "weight_norms",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "AttentionMap": "semfocus.probes.traces",
        "NOISE_SIZES": "semfocus.probes.names",
        "QUANTITIES": "semfocus.probes.measures",
        "Quantity": "semfocus.probes.names",
        "QueryPlaces": "semfocus.probes.sequences",
        "Summary": "semfocus.probes.summary",
        "View": "semfocus.probes.measures",
        "attended_covariance": "semfocus.probes.quantities.tokens",
        "attended_diameter": "semfocus.probes.quantities.local_lipschitz",
        "attention_map": "semfocus.probes.traces",
        "average_slope": "semfocus.probes.quantities.scores",
        "counterfactual": "semfocus.probes.traces",
        "covariance_norm": "semfocus.probes.quantities.tokens",
        "dispersion": "semfocus.probes.quantities.scores",
        "dispersion_of_allowed": "semfocus.probes.quantities.scores",
        "dispersion_ratio": "semfocus.probes.quantities.scores",
        "effective_keys": "semfocus.probes.quantities.weights",
        "entropy": "semfocus.probes.quantities.weights",
        "focus_chance": "semfocus.probes.quantities.focus",
        "focus_mass": "semfocus.probes.quantities.focus",
        "focus_share": "semfocus.probes.quantities.focus",
        "gap_density_of": "semfocus.probes.quantities.scores",
        "gaussian_twin": "semfocus.probes.traces",
        "key_degree": "semfocus.probes.quantities.keys",
        "key_load": "semfocus.probes.quantities.keys",
        "lambda_w_diameter": "semfocus.probes.quantities.local_lipschitz",
        "lambda_w_local": "semfocus.probes.quantities.local_lipschitz",
        "lambda_w_worst": "semfocus.probes.quantities.local_lipschitz",
        "largest_key_load": "semfocus.probes.quantities.keys",
        "largest_received_mass": "semfocus.probes.quantities.keys",
        "mask_agreement": "semfocus.probes.quantities.keys",
        "mean_gradient_norms": "semfocus.probes.quantities.gradient_norms",
        "norm_11": "semfocus.probes.quantities.weights",
        "norm_22": "semfocus.probes.quantities.weights",
        "norm_22_upper": "semfocus.probes.quantities.weights",
        "norm_frobenius": "semfocus.probes.quantities.weights",
        "norm_inf1": "semfocus.probes.quantities.weights",
        "num_kept": "semfocus.probes.quantities.keys",
        "participation": "semfocus.probes.quantities.weights",
        "probe_rows": "semfocus.probes.rows",
        "received_mass": "semfocus.probes.quantities.keys",
        "retained_mass": "semfocus.probes.quantities.keys",
        "sample_gradient_norms": "semfocus.probes.quantities.gradient_norms",
        "sample_queries": "semfocus.probes.sequences",
        "score_matrices": "semfocus.probes.quantities.weight_norms",
        "separation": "semfocus.probes.quantities.scores",
        "separation_ratio": "semfocus.probes.quantities.scores",
        "token_norm": "semfocus.probes.quantities.tokens",
        "value_matrices": "semfocus.probes.quantities.weight_norms",
        "weight_norms": "semfocus.probes.quantities.weight_norms",
    },
)
