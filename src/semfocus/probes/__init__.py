"""What is measured inside a model: one quantity a file, functions of attention traces; `probe_rows` has them all."""

from semfocus.probes.attention_map import AttentionMap, attention_map
from semfocus.probes.catalog import QUANTITIES
from semfocus.probes.counterfactual import counterfactual
from semfocus.probes.covariance import attended_covariance, covariance_norm
from semfocus.probes.dispersion import dispersion, dispersion_of_allowed, dispersion_ratio
from semfocus.probes.entropy import effective_keys, entropy, participation
from semfocus.probes.focus import focus_chance, focus_mass, focus_share
from semfocus.probes.gap_density import average_slope, gap_density_of
from semfocus.probes.gradient_norms import mean_gradient_norms, sample_gradient_norms
from semfocus.probes.jacobian import norm_11, norm_22, norm_22_upper, norm_frobenius, norm_inf1
from semfocus.probes.key_load import key_degree, key_load, largest_key_load
from semfocus.probes.local_lipschitz import (
    attended_diameter,
    lambda_w_diameter,
    lambda_w_local,
    lambda_w_worst,
)
from semfocus.probes.mask_agreement import NOISE_SIZES, mask_agreement
from semfocus.probes.null import gaussian_twin
from semfocus.probes.num_kept import num_kept
from semfocus.probes.projections import score_matrices, value_matrices
from semfocus.probes.quantity import Quantity, View
from semfocus.probes.received_mass import largest_received_mass, received_mass
from semfocus.probes.retained_mass import retained_mass
from semfocus.probes.rows import probe_rows
from semfocus.probes.sampled_queries import QueryPlaces, sample_queries
from semfocus.probes.separation import separation, separation_ratio
from semfocus.probes.summary import Summary
from semfocus.probes.token_norm import token_norm
from semfocus.probes.weight_norms import weight_norms

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
