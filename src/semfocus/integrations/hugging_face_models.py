"""Switching the attention modules of transformers: their configs name our functions, a point beside each holds its pattern."""

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from semfocus.integrations.discovery import Found, source_of_forward
from semfocus.integrations.hugging_face import NAME, SwitchedAttention, needs_places, register
from semfocus.integrations.selection import as_pattern, checked_inverse_temperature
from semfocus.mechanisms import AttachedPoint, Full, Pattern, WithGlobals

#: the entry of a config that remembers the choice, so that it is saved and loaded with the model
ENTRY = "semfocus"

#: arguments of an attention call that say which keys to keep, which is what a pattern does
_OWN_SELECTION = re.compile(r"\b(indices|block_indices)=")


@dataclass
class HuggingFaceUndo:
    """What to put back."""

    modules: list[nn.Module] = field(default_factory=list)
    configs: list[tuple[Any, str | None]] = field(default_factory=list)
    entry: tuple[Any, Any] | None = None

    def run(self) -> None:
        for module in self.modules:
            AttachedPoint.detach(module)
        for config, implementation in self.configs:
            config._attn_implementation_internal = implementation
        if self.entry is not None:
            config, before = self.entry
            if before is None:
                delattr(config, ENTRY)
            else:
                setattr(config, ENTRY, before)


def check_attention(found: Found, pattern: Pattern) -> None:
    """Refuse before anything is changed."""
    register()
    module, name = found.module, type(found.module).__name__
    if _OWN_SELECTION.search(source_of_forward(module)):
        raise ValueError(
            f"{found.name} ({name}) selects its keys by itself, which leaves nothing to a pattern"
        )
    if not getattr(module, "is_causal", False):
        return
    if isinstance(pattern, WithGlobals):
        raise ValueError(
            f"{pattern} cannot be causal, as {found.name} ({name}) is: a global token sees everything"
        )
    if needs_places(pattern) and _sliding_window(module) is not None:
        raise ValueError(
            f"{pattern} counts positions, which the cache of a sliding window moves ({found.name}, {name}); "
            "use Banded, or a pattern of scores such as TopK(5)"
        )


def _sliding_window(module: Any) -> int | None:
    config = module.config
    return getattr(module, "sliding_window", None) or getattr(config, "sliding_window", None)


def switch_attentions(
    model: nn.Module,
    found: Sequence[Found],
    patterns: Sequence[Pattern | None],
    inverse_temperature: float,
    undo: HuggingFaceUndo,
) -> None:
    """From now on these modules call our functions; a layer without a pattern is full attention as before."""
    configs = _own_configs(model)
    for each, pattern in zip(found, patterns, strict=True):
        point = (
            SwitchedAttention(Full(), 1.0)
            if pattern is None
            else SwitchedAttention(pattern, inverse_temperature)
        )
        point.attach(each.module)
        undo.modules.append(each.module)
    for config in configs:
        undo.configs.append((config, config._attn_implementation))
        config._attn_implementation_internal = NAME
    config = getattr(model, "config", None)
    if hasattr(config, "_attn_implementation"):
        undo.entry = config, getattr(config, ENTRY, None)
        texts = [None if pattern is None else str(pattern) for pattern in patterns]
        setattr(config, ENTRY, {"patterns": texts, "inverse_temperature": inverse_temperature})


def _own_configs(model: nn.Module) -> list[Any]:
    """The configs of all modules, as copies of their own: a config may be shared with another model."""
    memo: dict[int, Any] = {}
    copies: dict[int, Any] = {}
    for module in model.modules():
        for name, value in list(vars(module).items()):
            if hasattr(type(value), "_attn_implementation"):
                own = copy.deepcopy(value, memo)
                vars(module)[name] = own
                memo[id(own)] = own  # a module met twice keeps its copy
                copies[id(own)] = own
    pending = list(copies.values())
    while pending:
        config = pending.pop()
        for key in config.sub_configs:
            part = getattr(config, key, None)
            if part is not None and id(part) not in copies:
                copies[id(part)] = part
                pending.append(part)
    return list(copies.values())


def remembered(model: nn.Module, number: int) -> tuple[list[Pattern | None], float]:
    """The choice that a config keeps, for `number` attention layers."""
    entry = getattr(getattr(model, "config", None), ENTRY, None)
    if entry is None:
        raise ValueError(f"give a pattern: {type(model).__name__} has no config that remembers one")
    try:
        texts, inverse_temperature = entry["patterns"], entry["inverse_temperature"]
    except (TypeError, KeyError):
        raise ValueError(f"cannot read the entry {ENTRY!r} of the config: {entry!r}") from None
    if len(texts) != number:
        raise ValueError(
            f"the config remembers patterns for {len(texts)} attention layers, this model has {number}: give a pattern"
        )
    patterns = [None if text is None else as_pattern(text) for text in texts]
    return patterns, checked_inverse_temperature(inverse_temperature)
