"""Labels beside each other without overlap."""

from collections.abc import Sequence


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places near the wanted ones, in the same order, at least `gap` apart, inside [low, high] if they fit.

    >>> spread([10, 10, 50], 12, 0, 100)
    [4.0, 16.0, 50.0]
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    clusters: list[list[float]] = []  # sum of (wanted - offset), count
    for index in order:
        clusters.append([wanted[index], 1])
        while len(clusters) > 1 and _end(clusters[-2], gap) > _start(clusters[-1], gap):
            total, count = clusters.pop()
            before, count_before = clusters[-1]
            clusters[-1] = [before + total, count_before + count]
    flat = [
        _start(cluster, gap) + gap * (step + 0.5) for cluster in clusters for step in range(int(cluster[1]))
    ]
    for step in range(len(flat)):  # keep inside, from the top, then from the bottom
        flat[step] = max(flat[step], low + gap * step, flat[step - 1] + gap if step else low)
    for step in reversed(range(len(flat))):
        limit = high - gap * (len(flat) - 1 - step)
        flat[step] = max(low, min(flat[step], limit))
    placed = [0.0] * len(wanted)
    for index, place in zip(order, flat, strict=True):
        placed[index] = float(place)
    return placed


def _start(cluster: Sequence[float], gap: float) -> float:
    return cluster[0] / cluster[1] - gap * cluster[1] / 2


def _end(cluster: Sequence[float], gap: float) -> float:
    return cluster[0] / cluster[1] + gap * cluster[1] / 2
