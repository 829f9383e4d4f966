"""LayerNorm, MLP and block bounds on random layers; the sum over blocks by hand."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

from semfocus.theory import (
    ACTIVATION_LIPSCHITZ,
    block_lipschitz,
    lambda_x_pointwise,
    layernorm_lipschitz,
    log_lambda_w,
    model_lipschitz,
    topk_support,
)
from tests.theory.search import ROUNDING, searched, softmax


def norm(x: np.ndarray, eps: float) -> np.ndarray:
    """LayerNorm of tokens in the columns of (..., d, L)."""
    centred = x - x.mean(-2, keepdims=True)
    return centred / np.sqrt(centred.var(-2, keepdims=True) + eps)


@searched(d=st.integers(1, 8), eps=st.sampled_from([1e-5, 0.1]), scale=st.sampled_from([1e-2, 1.0, 5.0]))
def test_no_pair_of_tokens_exceeds_the_constant_of_layer_norm(
    rng: np.random.Generator, num: int, d: int, eps: float, scale: float
) -> None:
    first = scale * rng.normal(size=(num, d))
    second = first + rng.choice([1e-4, 0.1, 3.0], (num, 1)) * scale * rng.normal(size=(num, d))
    limit = np.maximum(layernorm_lipschitz(first, eps), layernorm_lipschitz(second, eps))
    changed = np.linalg.norm(norm(first[..., None], eps) - norm(second[..., None], eps), axis=1)[:, 0]
    assert (changed <= limit * np.linalg.norm(first - second, axis=1) * ROUNDING + 1e-12).all()


def test_the_constant_of_layer_norm_is_reached() -> None:
    x = np.array([1.0, 2.0, 4.0])
    across = np.cross(x - x.mean(), np.ones(3))
    step = 1e-6 * across / np.linalg.norm(across)
    slope = np.linalg.norm(norm((x + step)[:, None], 1e-5) - norm((x - step)[:, None], 1e-5)) / 2e-6
    assert slope == pytest.approx(layernorm_lipschitz(x, 1e-5), rel=1e-6)
    assert layernorm_lipschitz([1.0, 1.0], 0) == math.inf
    assert layernorm_lipschitz([1.0, 1.0], 1e-4) == pytest.approx(100)
    assert layernorm_lipschitz(np.ones((2, 3, 4)), 1.0).shape == (2, 3)
    with pytest.raises(ValueError, match="eps must be at least 0"):
        layernorm_lipschitz(x, -1e-5)


def test_the_slopes_of_the_activations() -> None:
    torch = pytest.importorskip("torch")
    x = torch.linspace(-12, 12, 200_001, dtype=torch.float64, requires_grad=True)
    for name, slope in ACTIVATION_LIPSCHITZ.items():
        (gradient,) = torch.autograd.grad(getattr(torch.nn.functional, name)(x).sum(), x)
        assert gradient.abs().max().item() == pytest.approx(slope, abs=1e-7)
        assert gradient.abs().max().item() <= slope


EPS = 1e-3


def run_block(kind: str, X: np.ndarray, p: dict[str, np.ndarray], kept: np.ndarray) -> dict[str, np.ndarray]:
    """The paper's block with a frozen mask, and everything that the constants are made of."""
    inside = X if kind == "post" else norm(X, EPS)
    scores = np.swapaxes(inside, -1, -2) @ np.swapaxes(p["W"], -1, -2) @ inside
    weights = softmax(scores, kept)
    attended = X + p["V"] @ inside @ np.swapaxes(weights, -1, -2)
    middle = norm(attended, EPS)
    carried = middle if kind == "post" else attended
    total = carried + np.swapaxes(p["R"], -1, -2) @ np.maximum(p["P"] @ middle, 0)
    first, second = (attended, total) if kind == "post" else (X, attended)
    return {
        "out": norm(total, EPS) if kind == "post" else total,
        "inside": inside,
        "middle": middle,
        "mass": weights.sum(-2).max(-1),
        "z1": layernorm_lipschitz(np.swapaxes(first, -1, -2), EPS).max(-1),
        "z2": layernorm_lipschitz(np.swapaxes(second, -1, -2), EPS).max(-1),
    }


def lengths_of(X: np.ndarray) -> np.ndarray:
    return np.linalg.norm(X, axis=-2)


@searched(
    kind=st.sampled_from(["post", "pre"]),
    what=st.sampled_from(["input", "W", "V", "P", "R"]),
    k=st.sampled_from([3, 6]),
    scale=st.sampled_from([0.2, 1.0]),
)
def test_no_small_move_exceeds_the_constants_of_a_block(
    rng: np.random.Generator, num: int, kind: str, what: str, k: int, scale: float
) -> None:
    d, length, width = 4, 6, 5
    shapes = {"W": (d, d), "V": (d, d), "P": (width, d), "R": (width, d)}
    X = rng.normal(size=(num, d, length))
    p = {name: scale * rng.normal(size=(num, *shape)) for name, shape in shapes.items()}
    kept = topk_support(rng.normal(size=(num, length, length)), k)
    step = 1e-5
    moved_X, moved = X, dict(p)
    if what == "input":
        moved_X = X + step * rng.normal(size=X.shape) * (rng.random((num, 1, length)) < 0.4)
    else:
        moved[what] = p[what] + step * rng.normal(size=p[what].shape)
    here, there = run_block(kind, X, p, kept), run_block(kind, moved_X, moved, kept)

    def largest(name: str) -> np.ndarray:
        return np.maximum(here[name], there[name])

    def spectral(name: str) -> np.ndarray:
        return np.maximum(*(np.linalg.norm(each[name], 2, axis=(1, 2)) for each in (p, moved)))

    token = np.maximum(*(lengths_of(each["inside"]).max(-1) for each in (here, there)))
    # along so short a way the pointwise constant may grow by a little
    attention = lambda_x_pointwise(spectral("V"), spectral("W"), token, largest("mass")) * (1 + 1e-3)
    in_w = np.exp(log_lambda_w(spectral("V"), token, 50.0, k, kind="exact"))
    mlp = np.maximum(*(lengths_of(each["middle"]).max(-1) for each in (here, there)))
    bounds = [
        block_lipschitz(kind, *row)
        for row in zip(
            largest("z1"), largest("z2"), np.ones(num), spectral("P"), spectral("R"), attention, in_w, token, mlp,
            strict=True,
        )
    ]  # fmt: skip
    limit = np.array([each[what] for each in bounds])
    changed = lengths_of(here["out"] - there["out"])
    if what == "input":
        found, distance = changed.sum(-1), lengths_of(X - moved_X).sum(-1)
    else:
        found, distance = changed.max(-1), np.linalg.norm(p[what] - moved[what], 2, axis=(1, 2))
    assert (found <= limit * distance * (1 + 1e-6) + 1e-12).all()


def test_two_blocks_by_hand() -> None:
    one = {"input": 2.0, "W": 3.0, "V": 5.0, "P": 7.0, "R": 11.0}
    two = {"input": 13.0, "W": 1.0, "V": 0.0, "P": 2.0, "R": 3.0}
    found = model_lipschitz([one, two], alpha=2.0, rho=0.5, Xi_out=4.0)
    assert found["W"] == pytest.approx([39, 1])
    assert found["V"] == pytest.approx([65, 0])
    assert found["R"] == pytest.approx([143, 3])
    assert found["readout"] == pytest.approx(8)
    assert found["input"] == pytest.approx(26)
    assert found["max"] == pytest.approx(143)
    squares = 39**2 + 1 + 65**2 + 91**2 + 2**2 + 143**2 + 3**2 + 8**2
    assert found["fro"] == pytest.approx(math.sqrt(squares))


def test_an_infinite_layer_norm_enlarges_nothing_that_does_not_change() -> None:
    given = {"z2": 1.1, "lsig": 1.0, "B_P": 0.8, "B_R": 0.7, "lx": 2.0, "lv": 2.0, "Xi": 2.0}
    post = block_lipschitz("post", z1=math.inf, lw=0.0, **given)
    assert post == {
        "input": math.inf,
        "W": 0.0,
        "V": math.inf,
        "P": pytest.approx(1.54),
        "R": pytest.approx(1.76),
    }
    pre = block_lipschitz("pre", z1=math.inf, lw=0.0, **(given | {"lx": 0.0}))
    assert pre["input"] == pytest.approx(1 + 1.1 * 0.8 * 0.7)
    assert block_lipschitz("post", z1=math.inf, lw=1.0, **(given | {"z2": 0.0}))["input"] == 0
    assert block_lipschitz("pre", z1=1.0, lw=1.0, **(given | {"B_P": math.inf, "B_R": 0.0}))["W"] == 1
    assert layernorm_lipschitz([[math.inf, 1.0], [1.0, -1.0]], 0.0) == pytest.approx([0.0, 1.0])


def test_many_blocks_become_infinite_and_not_nan() -> None:
    block = block_lipschitz("post", 300, 300, 1, 1, 1, 1e3, 1, 1, 1)
    found = model_lipschitz([block] * 60, 1.0, 1.0, 1.0)
    assert found["max"] == found["fro"] == found["W"][0] == math.inf
    assert math.isfinite(found["W"][-1])
    assert model_lipschitz([block] * 60, 1.0, 0.0, 1.0)["max"] == 1, "a readout of 0 hides everything"
    assert model_lipschitz([], 1.0, 2.0, 3.0)["input"] == 2


def test_nonsense_is_named() -> None:
    with pytest.raises(ValueError, match="kind must be 'post' or 'pre', got 'mid'"):
        block_lipschitz("mid", *[1.0] * 9)
    with pytest.raises(ValueError, match="B_P must be at least 0"):
        block_lipschitz("pre", 1, 1, 1, -1, 1, 1, 1, 1, 1)
    with pytest.raises(ValueError, match="rho must not be NaN"):
        model_lipschitz([], 1.0, math.nan, 1.0)


@pytest.mark.parametrize("what", ["W", "V", "P", "R"])
@pytest.mark.parametrize("kind", ["pre", "post"])
def test_the_constants_of_a_block_in_its_parameters_are_reached(kind: str, what: str) -> None:
    """Tokens ±y, matrices of rank one along them, and a move across: every step of the bound is an equality."""
    value, expand, contract, step = 0.7, 0.9, 0.6, 1e-6
    y = np.array([1.0, -1.0, 1.0, -1.0])
    across = np.array([1.0, 1.0, -1.0, -1.0]) / 2  # no mean, and no part along y
    unit = y / 2
    X = np.stack([y, y, -y, -y], axis=1)[None]
    hidden = np.array([1.0, 0.0])
    silent = np.zeros((1, 2, 4))
    p = {"W": np.zeros((1, 4, 4)), "V": np.zeros((1, 4, 4)), "P": silent, "R": silent}
    if what == "W":
        p["V"] = value * np.outer(across, unit)[None]
        direction = np.outer(unit, unit)
    elif what == "V":
        p["W"] = 50 * np.outer(unit, unit)[None]  # every token sees its own kind only
        direction = np.outer(across, unit)
    elif what == "P":
        p["P"], p["R"] = 1e-9 * np.outer(hidden, unit)[None], contract * np.outer(hidden, across)[None]
        direction = np.outer(hidden, unit)
    else:
        p["P"] = expand * np.outer(hidden, unit)[None]
        direction = np.outer(hidden, across)
    moved = p | {what: p[what] + step * direction[None]}
    kept = np.ones((1, 4, 4), bool)
    here, there = run_block(kind, X, p, kept), run_block(kind, X, moved, kept)
    slope = lengths_of(here["out"] - there["out"]).max() / step

    norms = {name: np.linalg.norm(matrix[0], 2) for name, matrix in p.items()}
    token, mlp = lengths_of(here["inside"]).max(), lengths_of(here["middle"]).max()
    in_w = float(np.exp(log_lambda_w(norms["V"], token, 0.0, 4, kind="exact")))
    z1, z2 = here["z1"][0], here["z2"][0]
    bound = block_lipschitz(kind, z1, z2, 1.0, norms["P"], norms["R"], 0.0, in_w, token, mlp)[what]
    assert slope / bound == pytest.approx(1, rel=2e-3)


def test_an_infinite_constant_times_a_tiny_one_is_infinite() -> None:
    """The tiny ones alone multiply to less than any number above 0; 0 times infinity would be NaN."""
    given = {"z1": 1.0, "B_P": 1.0, "B_R": 1.0, "lx": 1.0, "lw": 1.0, "lv": 1.0}
    found = block_lipschitz("post", z2=1e-308, lsig=1e-308, Xi=math.inf, **given)
    assert (found["P"], found["R"]) == (math.inf, math.inf)
