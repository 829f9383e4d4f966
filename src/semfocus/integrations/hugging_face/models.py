"""Switching the attention modules of transformers: their configs name our functions, a point beside each
holds its pattern.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from semfocus.integrations.discovery import Found, names_of_forward
from semfocus.integrations.hugging_face.attention import ADDITIVE_NAME, NAME, SwitchedAttention, register
from semfocus.integrations.selection import as_pattern, checked_inverse_temperature, needs_places
from semfocus.mechanisms import AttachedPoint, Full, Pattern, WithGlobals
from semfocus.reminder import ENTRY


@dataclass
class OwnConfig:
    """A config as it came, and the copy that the model uses while it is switched."""

    theirs: Any
    ours: Any
    before: dict[str, Any] = field(default_factory=dict)

    def carry_over(self) -> None:
        """What was changed in the copy since `before` is meant for the config."""
        now = vars(self.ours)
        for key in now.keys() | self.before.keys():
            if key not in now:
                vars(self.theirs).pop(key, None)
            elif key not in self.before or _differ(now[key], self.before[key]):
                vars(self.theirs)[key] = now[key]


@dataclass
class OwnConfigs:
    """All configs of a model, and the modules that hold them."""

    configs: list[OwnConfig] = field(default_factory=list)
    holders: list[tuple[nn.Module, str, OwnConfig]] = field(default_factory=list)

    def take(self, model: nn.Module) -> None:
        """Give every module of the model a copy of its config."""
        memo: dict[int, Any] = {}
        known: dict[int, OwnConfig] = {}
        for module in model.modules():
            for name, value in list(vars(module).items()):
                if hasattr(type(value), "_attn_implementation"):
                    if id(value) not in known:
                        known[id(value)] = OwnConfig(value, _copied(value, memo))
                    vars(module)[name] = known[id(value)].ours
                    self.holders.append((module, name, known[id(value)]))
        self.configs = _with_parts(list(known.values()))

    def note(self) -> None:
        """From now on a change is the user's."""
        memo = {id(each.ours): each.ours for each in self.configs}
        for each in self.configs:
            each.before = copy.deepcopy(vars(each.ours), dict(memo))

    def put_back(self) -> None:
        """The modules hold what they held; one that was given another config since keeps it."""
        for each in self.configs:
            each.carry_over()
        for module, name, config in self.holders:
            if vars(module).get(name) is config.ours:
                vars(module)[name] = config.theirs


def _copied(config: Any, memo: dict[int, Any]) -> Any:
    try:
        return copy.deepcopy(config, memo)
    except Exception as error:
        raise ValueError(f"a {type(config).__name__} of the model cannot be copied: {error}") from error


def _with_parts(configs: list[OwnConfig]) -> list[OwnConfig]:
    """Configs may hold others, each of which says for itself which attention it uses."""
    found, pending = {id(each.ours): each for each in configs}, list(configs)
    while pending:
        config = pending.pop()
        for key in config.ours.sub_configs:
            part = getattr(config.ours, key, None)
            if part is not None and id(part) not in found:
                found[id(part)] = OwnConfig(getattr(config.theirs, key), part)
                pending.append(found[id(part)])
    return list(found.values())


def _differ(one: Any, other: Any) -> bool:
    try:
        return bool(one != other)
    except (RuntimeError, TypeError, ValueError):  # such as arrays, which do not compare as a whole
        return True


#: arguments of an attention call that say which keys to keep, which is what a pattern does
_OWN_SELECTION = {"indices=", "block_indices="}


@dataclass
class HuggingFaceUndo:
    """What to put back."""

    modules: list[nn.Module] = field(default_factory=list)
    configs: OwnConfigs = field(default_factory=OwnConfigs)

    def run(self) -> None:
        for module in self.modules:
            AttachedPoint.detach(module)
            for key, hook in list(module._forward_pre_hooks.items()):
                if isinstance(hook, OtherAttentionRefusal):
                    del module._forward_pre_hooks[key]
        self.configs.put_back()


def check_attention(found: Found, pattern: Pattern) -> None:
    """Refuse before anything is changed."""
    register()
    module, name = found.module, type(found.module).__name__
    if not _OWN_SELECTION.isdisjoint(names_of_forward(module) or ()):
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
    for each_config in undo.configs.configs:
        each_config.ours._attn_implementation_internal = _implementation(model, each_config.ours)
    for each, pattern in zip(found, patterns, strict=True):
        point = (
            SwitchedAttention(Full(), 1.0)
            if pattern is None
            else SwitchedAttention(pattern, inverse_temperature)
        )
        undo.modules.append(each.module)
        point.attach(each.module)
        module: Any = each.module
        ours = module.config._attn_implementation
        each.module.register_forward_pre_hook(OtherAttentionRefusal(ours))


def keep_choice(model: nn.Module, patterns: Sequence[Pattern | None], inverse_temperature: float) -> None:
    """Write the patterns of all attention layers, of whatever kind, into the model's config."""
    config = getattr(model, "config", None)
    if hasattr(config, "_attn_implementation"):
        texts = [None if pattern is None else str(pattern) for pattern in patterns]
        setattr(config, ENTRY, {"patterns": texts, "inverse_temperature": inverse_temperature})


def _implementation(model: nn.Module, config: Any) -> str:
    """With additive masks if a model of this config, or of one that it is a part of, declares no SDPA support."""
    models: list[Any] = [module for module in model.modules() if hasattr(type(module), "_supports_sdpa")]
    holders = [each for each in models if each.config is config] or [
        each
        for each in models
        if any(getattr(each.config, key, None) is config for key in each.config.sub_configs)
    ]
    holders = holders or models  # a config that nobody holds: what all of them can take
    return NAME if holders and all(each._supports_sdpa for each in holders) else ADDITIVE_NAME


@dataclass(frozen=True)
class OtherAttentionRefusal:
    """A hook of every switched module: `set_attn_implementation` would lose the pattern, or the masks it
    needs, unnoticed.
    """

    ours: str

    def __call__(self, module: Any, inputs: tuple[Any, ...]) -> None:
        implementation = module.config._attn_implementation
        if implementation != self.ours:
            raise ValueError(
                f"{type(module).__name__} was switched by semfocus.apply and then set to {implementation!r} attention, "
                f"not {self.ours!r}, which knows its pattern: call semfocus.apply(model) to switch it again, or semfocus.restore(model)"
            )


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
