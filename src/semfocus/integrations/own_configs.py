"""Configs of transformers, copied for one model: a config may be shared with another model, which must not change."""

import copy
from dataclasses import dataclass, field
from typing import Any

from torch import nn


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
