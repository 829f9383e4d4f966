"""The quantities once more, as plain loops over queries and keys."""

import math
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from semfocus.mechanisms import AttentionTrace

NAN, INF = math.nan, math.inf


def rows_of(trace: AttentionTrace) -> Iterator[tuple[int, int, int, list[float], list[bool], list[float]]]:
    """Batch, head, query, and the query's scores, kept keys and weights."""
    batch, heads, queries, _ = trace.scores.shape
    for b in range(batch):
        for h in range(heads):
            for i in range(queries):
                yield b, h, i, *(part[b, h, i].tolist() for part in (trace.scores, trace.kept, trace.weights))


def per_query(
    trace: AttentionTrace, value: Callable[[list[float], list[bool], list[float]], float]
) -> Tensor:
    result = torch.empty(trace.scores.shape[:-1], dtype=torch.float64)
    for b, h, i, scores, kept, weights in rows_of(trace):
        result[b, h, i] = value(scores, kept, weights)
    return result


def kept_of(values: list[float], kept: list[bool]) -> list[float]:
    return [value for value, keeps in zip(values, kept, strict=True) if keeps]


def allowed_of(scores: list[float]) -> list[float]:
    return [score for score in scores if score > -INF]


def dispersion(scores: list[float], kept: list[bool], weights: list[float]) -> float:
    seen = kept_of(scores, kept)
    return max(seen) - min(seen) if seen else NAN


def dispersion_ratio(scores: list[float], kept: list[bool], weights: list[float]) -> float:
    allowed = allowed_of(scores)
    whole = max(allowed) - min(allowed) if allowed else 0.0
    return dispersion(scores, kept, weights) / whole if whole > 0 else NAN


def separation(scores: list[float], kept: list[bool], weights: list[float]) -> float:
    seen = kept_of(scores, kept)
    masked = [s for s, keeps in zip(scores, kept, strict=True) if not keeps and s > -INF]
    if not seen:
        return NAN
    return min(seen) - max(masked) if masked else INF


def separation_ratio(scores: list[float], kept: list[bool], weights: list[float]) -> float:
    allowed = allowed_of(scores)
    whole = max(allowed) - min(allowed) if allowed else 0.0
    return separation(scores, kept, weights) / whole if whole > 0 else NAN


def num_kept(scores: list[float], kept: list[bool], weights: list[float]) -> float:
    return float(sum(kept))


def retained_mass(scores: list[float], kept: list[bool], weights: list[float]) -> float:
    seen = kept_of(scores, kept)
    if not seen:
        return NAN
    return math.fsum(map(math.exp, seen)) / math.fsum(map(math.exp, allowed_of(scores)))


def entropy(scores: list[float], kept: list[bool], weights: list[float]) -> float:
    seen = kept_of(weights, kept)
    return -sum(p * math.log(p) for p in seen if p > 0) if seen else NAN


def effective_keys(scores: list[float], kept: list[bool], weights: list[float]) -> float:
    return math.exp(entropy(scores, kept, weights))


def participation(scores: list[float], kept: list[bool], weights: list[float]) -> float:
    seen = kept_of(weights, kept)
    return 1 / sum(p * p for p in seen) if seen else NAN


def jacobian(weights: list[float], kept: list[bool]) -> np.ndarray | None:
    if not any(kept):
        return None
    p = np.array(weights)
    return np.diag(p) - np.outer(p, p)


def norm_11(scores: list[float], kept: list[bool], weights: list[float]) -> float:
    matrix = jacobian(weights, kept)
    return NAN if matrix is None else float(np.abs(matrix).sum(0).max())


def norm_22(scores: list[float], kept: list[bool], weights: list[float]) -> float:
    matrix = jacobian(weights, kept)
    return NAN if matrix is None else float(np.linalg.norm(matrix, 2))


def norm_frobenius(scores: list[float], kept: list[bool], weights: list[float]) -> float:
    matrix = jacobian(weights, kept)
    return NAN if matrix is None else float(np.linalg.norm(matrix))


def norm_22_upper(scores: list[float], kept: list[bool], weights: list[float]) -> float:
    """Half the largest l1 distance of two rows of J, from which the closed form comes."""
    matrix = jacobian(weights, kept)
    if matrix is None:
        return NAN
    if len(weights) == 1:
        return 0.0
    return max(0.5 * float(np.abs(one - other).sum()) for one in matrix for other in matrix)


def norm_inf1(weights: list[float], kept: list[bool]) -> float:
    """All sets of keys, one by one."""
    if not any(kept):
        return NAN
    masses = [
        math.fsum(p for place, p in enumerate(weights) if number >> place & 1)
        for number in range(2 ** len(weights))
    ]
    return max(4 * mass * (1 - mass) for mass in masses)


def key_degree(trace: AttentionTrace, counted: Tensor) -> Tensor:
    result = torch.zeros(*trace.scores.shape[:2], trace.scores.shape[-1], dtype=torch.float64)
    for b, h, i, _, kept, _ in rows_of(trace):
        for j, keeps in enumerate(kept):
            if keeps and counted[b, i]:
                result[b, h, j] += 1
    return result


def mean_kept(trace: AttentionTrace, counted: Tensor, b: int, h: int) -> float:
    sizes = [
        sum(kept)
        for other, head, i, _, kept, _ in rows_of(trace)
        if (other, head) == (b, h) and counted[b, i]
    ]
    sizes = [size for size in sizes if size]
    return sum(sizes) / len(sizes) if sizes else NAN


def key_load(trace: AttentionTrace, counted: Tensor) -> Tensor:
    result = key_degree(trace, counted)
    for b in range(result.shape[0]):
        for h in range(result.shape[1]):
            result[b, h] /= mean_kept(trace, counted, b, h)
    return result


def received_mass(trace: AttentionTrace, counted: Tensor) -> Tensor:
    result = torch.zeros(*trace.scores.shape[:2], trace.scores.shape[-1], dtype=torch.float64)
    for b, h, i, _, _, weights in rows_of(trace):
        for j, weight in enumerate(weights):
            if counted[b, i]:
                result[b, h, j] += weight
    return result


def focus(trace: AttentionTrace, relevant: Tensor) -> dict[str, Tensor]:
    result = {
        name: torch.empty(trace.scores.shape[:-1], dtype=torch.float64)
        for name in ("mass", "share", "chance")
    }
    for b, h, i, scores, kept, weights in rows_of(trace):
        marks = relevant[b].tolist()
        allowed = [score > -INF for score in scores]
        hits = sum(mark and keeps for mark, keeps in zip(marks, kept, strict=True))
        chances = sum(mark and may for mark, may in zip(marks, allowed, strict=True))
        mass = sum(weight for mark, weight in zip(marks, weights, strict=True) if mark)
        result["mass"][b, h, i] = mass if any(kept) else NAN
        result["share"][b, h, i] = hits / sum(kept) if any(kept) else NAN
        result["chance"][b, h, i] = chances / sum(allowed) if any(allowed) else NAN
    return result


def covariance(trace: AttentionTrace, b: int, h: int, i: int) -> np.ndarray:
    tokens, weights = trace.inputs[b].numpy(), trace.weights[b, h, i].tolist()
    mean = sum(weight * token for weight, token in zip(weights, tokens, strict=True))
    parts = (w * np.outer(token - mean, token - mean) for w, token in zip(weights, tokens, strict=True))
    return sum(parts)  # type: ignore[return-value]


def diameter(trace: AttentionTrace, b: int, h: int, i: int) -> float:
    kept = [trace.inputs[b, j].numpy() for j, keeps in enumerate(trace.kept[b, h, i].tolist()) if keeps]
    return max(float(np.linalg.norm(one - other)) for one in kept for other in kept)
