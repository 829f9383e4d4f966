"""Every quantity that can be probed."""

from collections.abc import Callable, Mapping

from torch import Tensor

from semfocus.probes.covariance import covariance_norm
from semfocus.probes.dispersion import dispersion, dispersion_ratio
from semfocus.probes.entropy import effective_keys, entropy, participation
from semfocus.probes.focus import focus_chance, focus_mass, focus_share
from semfocus.probes.gradient_norms import GROUPS
from semfocus.probes.jacobian import norm_11, norm_22, norm_22_upper, norm_frobenius, norm_inf1
from semfocus.probes.key_load import key_degree, key_load, largest_key_load
from semfocus.probes.local_lipschitz import lambda_w_worst
from semfocus.probes.mask_agreement import NOISE_SIZES
from semfocus.probes.num_kept import num_kept
from semfocus.probes.quantity import Per, Quantity, View
from semfocus.probes.received_mass import largest_received_mass, received_mass
from semfocus.probes.retained_mass import retained_mass
from semfocus.probes.separation import separation, separation_ratio
from semfocus.probes.token_norm import token_norm


def of_scores(
    name: str, meaning: str, unit: str, measure: Callable[[View], Tensor], per: Per = "query"
) -> Quantity:
    """A quantity of scores and kept keys alone, so that a Gaussian twin has it too."""
    return Quantity(name, meaning, per, unit, measure, null="twin")


def of_tokens(
    name: str, meaning: str, unit: str, measure: Callable[[View], Tensor], needs: str | None = None
) -> Quantity:
    """A quantity of attended tokens, for a sample of queries."""
    return Quantity(name, meaning, "query", unit, measure, sampled=True, needs=needs)


_SCORES = [
    of_scores("dispersion", "Highest minus lowest kept score (δ).", "logits", lambda v: dispersion(v.trace)),
    of_scores(
        "dispersion_ratio",
        "Dispersion of the kept over that of all allowed scores (c1).",
        "ratio",
        lambda v: dispersion_ratio(v.trace),
    ),
    of_scores(
        "separation", "Lowest kept minus highest masked score (Δ).", "logits", lambda v: separation(v.trace)
    ),
    of_scores(
        "separation_ratio",
        "Separation over the dispersion of all allowed scores (c2).",
        "ratio",
        lambda v: separation_ratio(v.trace),
    ),
    of_scores(
        "key_load",
        "Queries that keep a key, over the mean number of keys that a query keeps.",
        "ratio",
        lambda v: key_load(v.trace, v.counted_queries),
        "key",
    ),
    of_scores(
        "key_degree",
        "Queries that keep a key.",
        "queries",
        lambda v: key_degree(v.trace, v.counted_queries),
        "key",
    ),
    of_scores(
        "largest_key_load",
        "Largest key load of a sequence (β).",
        "ratio",
        lambda v: largest_key_load(v.trace, v.counted_queries),
        "head",
    ),
    of_scores(
        "received_mass",
        "Attention that all queries together give to a key.",
        "mass",
        lambda v: received_mass(v.trace, v.counted_queries),
        "key",
    ),
    of_scores(
        "largest_received_mass",
        "Largest received mass of a sequence (C).",
        "mass",
        lambda v: largest_received_mass(v.trace, v.counted_queries),
        "head",
    ),
    of_scores(
        "retained_mass",
        "Mass that full attention on the same scores would give to the kept keys.",
        "mass",
        lambda v: retained_mass(v.trace),
    ),
    of_scores("num_kept", "Keys that a query keeps.", "keys", lambda v: num_kept(v.trace)),
    of_scores("entropy", "Entropy of the attention weights.", "nats", lambda v: entropy(v.trace)),
    of_scores(
        "effective_keys",
        "e to the entropy: how many keys a query effectively attends to.",
        "keys",
        lambda v: effective_keys(v.trace),
    ),
    of_scores(
        "participation",
        "1 / Σ p²: the same, counted by squared weights.",
        "keys",
        lambda v: participation(v.trace),
    ),
    of_scores("jacobian_11", "Softmax Jacobian, l1 to l1.", "norm", lambda v: norm_11(v.trace)),
    of_scores("jacobian_22", "Softmax Jacobian, spectral norm.", "norm", lambda v: norm_22(v.trace)),
    of_scores(
        "jacobian_22_upper",
        "Softmax Jacobian, upper bound on the spectral norm.",
        "norm",
        lambda v: norm_22_upper(v.trace),
    ),
    of_scores(
        "jacobian_inf1_low",
        "Softmax Jacobian, l∞ to l1, lower bound.",
        "norm",
        lambda v: norm_inf1(v.trace)[0],
    ),
    of_scores(
        "jacobian_inf1_high",
        "Softmax Jacobian, l∞ to l1, upper bound.",
        "norm",
        lambda v: norm_inf1(v.trace)[1],
    ),
    of_scores(
        "jacobian_frobenius",
        "Softmax Jacobian, Frobenius norm.",
        "norm",
        lambda v: norm_frobenius(v.trace),
    ),
]

_TOKENS = [
    Quantity(
        "token_norm",
        "Norm of an attention input (Xi is the largest).",
        "key",
        "norm",
        lambda v: token_norm(v.trace),
        of_pattern=False,
    ),
    of_tokens(
        "attended_covariance",
        "Spectral norm of the covariance of the attended tokens.",
        "norm²",
        lambda v: covariance_norm(v.trace, v.sample),
    ),
    of_tokens(
        "attended_diameter",
        "Largest distance between two kept tokens.",
        "norm",
        lambda v: v.diameter,
    ),
    of_tokens(
        "lambda_w_local",
        "Exact local Lipschitz constant of a query's output in W, mask fixed.",
        "norm³",
        lambda v: v.lambda_w,
        "projections",
    ),
    of_tokens(
        "lambda_w_ratio",
        "That constant over its worst case Upsilon Xi³.",
        "ratio",
        lambda v: v.lambda_w / lambda_w_worst(v.trace, v.value, v.sample, v.counted),
        "projections",
    ),
    of_tokens(
        "lambda_w_diameter",
        "Upper bound on that constant from the diameter of the kept tokens.",
        "norm³",
        lambda v: v.lambda_w_diameter,
        "projections",
    ),
]

_FOCUS = [
    Quantity(
        "focus_mass",
        "Attention mass on the tokens that decide the label.",
        "query",
        "mass",
        lambda v: focus_mass(v.trace, v.relevant_keys),
        null="focus_chance",
        needs="relevant",
    ),
    Quantity(
        "focus_share",
        "Share of the kept keys that decide the label.",
        "query",
        "share",
        lambda v: focus_share(v.trace, v.relevant_keys),
        null="focus_chance",
        needs="relevant",
    ),
    Quantity(
        "focus_chance",
        "Share of the allowed keys that decide the label: what uniform attention would give.",
        "query",
        "share",
        lambda v: focus_chance(v.trace, v.relevant_keys),
        of_pattern=False,
        needs="relevant",
    ),
]

_GAPS = [
    Quantity(name, meaning, "head", unit, null="twin", parts=("separation", "num_kept"))
    for name, meaning, unit in (
        ("gap_density", "Share of small separations over their size (rho0).", "1/logits"),
        ("average_slope", "1 + 4 rho0 / k: average move of the weights per move of a score.", "ratio"),
    )
]


def agreement_name(size: float) -> str:
    """mask_agreement_0.001"""
    return f"mask_agreement_{size:g}"


_AGREEMENT = [
    Quantity(
        agreement_name(size),
        f"Share of kept keys that stay kept under noise of {size:g} times the size of the embeddings.",
        "query",
        "share",
        needs="embedding",
    )
    for size in NOISE_SIZES
]

_WEIGHTS = [
    Quantity(name, f"Spectral norm of {what}.", "model", "norm", of_pattern=False, needs="classifier")
    for name, what in (
        ("score_norm", "W, the scaled query-key product with bias columns (Gamma)"),
        ("value_norm", "V, the output-value product with its bias column (Upsilon)"),
        ("expand_norm", "the MLP's first map with its bias column (P)"),
        ("contract_norm", "the MLP's second map with its bias column (R)"),
    )
]

_GRADIENTS = [
    Quantity(
        f"{kind}_{group}",
        f"{what}, parameters of {group}.",
        "model",
        "norm",
        of_pattern=False,
        needs="labels",
    )
    for kind, what in (
        ("gradient_norm", "Gradient norm of the loss of single sequences (a sample of them)"),
        ("mean_gradient_norm", "Norm of the gradient of the mean loss"),
    )
    for group in GROUPS
]

QUANTITIES: Mapping[str, Quantity] = {
    each.name: each for each in (*_SCORES, *_GAPS, *_TOKENS, *_FOCUS, *_AGREEMENT, *_WEIGHTS, *_GRADIENTS)
}
