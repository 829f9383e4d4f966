"""Which controls of a study go with which pattern, so that no run means something else than its label says."""

from semfocus.mechanisms.catalog import parse_pattern
from semfocus.mechanisms.controls import BottomK, Random
from semfocus.mechanisms.input_agnostic import Full
from semfocus.mechanisms.pattern import Pattern
from semfocus.settings import ModelSettings


def refuse_controls(model: ModelSettings, pattern: Pattern) -> None:
    """ValueError in one line for controls that make no sense together or under this pattern."""
    for name in ("match_entropy", "match_dispersion"):
        text = getattr(model, name)
        if text is not None:
            _refuse_matching(name, model, pattern, parse_pattern(text))
    if model.match_keeps_gradient:
        if model.match_entropy is None and model.match_dispersion is None:
            raise ValueError("match_keeps_gradient needs match_entropy or match_dispersion")
        if model.score_gradient != 1:
            raise ValueError(
                f"match_keeps_gradient decides about the gradient, got score_gradient={model.score_gradient:g}"
            )
    if model.selection is not None:
        _refuse_selection(f"selection={model.selection!r}", model, pattern)
        if model.selection == "relevant" and not isinstance(pattern, Full):
            raise ValueError(
                f"selection='relevant' hands every query its keys: pattern must be full, got {pattern}"
            )
        if model.selection == "initial" and not _chooses_by_score(pattern):
            raise ValueError(f"selection='initial' needs a pattern that chooses by score, got {pattern}")
    if model.selection_noise:
        name = f"selection_noise={model.selection_noise:g}"
        _refuse_selection(name, model, pattern)
        if model.selection is not None or model.score_clip is not None:
            raise ValueError(
                f"{name} disturbs a choice by plain scores, not one by selection or of clipped scores"
            )
        if not _chooses_by_score(pattern):
            raise ValueError(f"{name} needs a pattern that chooses by score, got {pattern}")


def _refuse_selection(name: str, model: ModelSettings, pattern: Pattern) -> None:
    _refuse_joint(name, model)
    if pattern.global_tokens():
        raise ValueError(f"{name} does not go with global tokens, got {pattern}")
    if model.match_entropy is not None or model.match_dispersion is not None:
        raise ValueError(f"{name} does not go with match_entropy or match_dispersion")


def _chooses_by_score(pattern: Pattern) -> bool:
    return pattern.family == "input-dependent" or isinstance(pattern, BottomK)


def _refuse_matching(name: str, model: ModelSettings, pattern: Pattern, other: Pattern) -> None:
    _refuse_joint(name, model)
    if model.match_entropy is not None and model.match_dispersion is not None:
        raise ValueError("match_entropy and match_dispersion are two factors on the same scores: choose one")
    if model.score_clip is not None:
        raise ValueError(f"{name} is a factor on plain scores, got score_clip={model.score_clip:g}")
    for each in (pattern, other):
        if each.global_tokens():
            raise ValueError(f"{name} does not go with global tokens, got {each}")
        if isinstance(each, Random) and not each.fixed:
            raise ValueError(f"{name} needs a pattern that chooses the same keys again, got {each}")
    if other == pattern:
        raise ValueError(f"{name}={other} is what pattern {pattern} has already")
    if name == "match_entropy" and not isinstance(pattern, Full):
        raise ValueError(f"match_entropy sharpens full attention, got pattern {pattern}")
    if name == "match_dispersion" and isinstance(pattern, Full):
        raise ValueError(f"match_dispersion is for a pattern that leaves keys out, got pattern {pattern}")


def _refuse_joint(name: str, model: ModelSettings) -> None:
    if model.projections == "joint":
        raise ValueError(f"{name} needs projections='separate', got 'joint'")
