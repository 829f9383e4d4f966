"""What a study plans, written down before it begins, so that others know what is still to come."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any

from semfocus.durable import make_directory, read, write_durably
from semfocus.runs.store import Store


@dataclass(frozen=True)
class Plan:
    """A study's question, the command that runs it, and the digests of its runs in their order.

    `own_settings` names what may differ between the arms of one comparison, e.g. training.learning_rate.
    `contrasts` are the pairs of arms, by their labels, that the study is about; the first is primary.
    `looks`: the numbers of seeds at which a study that ends once it is decided may end.
    """

    name: str
    question: str
    command: str
    runs: list[str]
    own_settings: list[str] = field(default_factory=list)
    contrasts: list[list[str]] = field(default_factory=list)
    looks: list[int] = field(default_factory=list)


def write_plan(store: Store, plan: Plan) -> Plan:
    """Write `plans/NAME-DIGEST.json` and return it; the same name and runs again are the same plan, with its
    newest command.

    A study that has looked at its seeds has done so under any other command too.
    """
    known = [each for each in read_plans(store) if each.looks and each.name == plan.name]
    looked = next((each.looks for each in known if {*each.runs} & {*plan.runs}), [])
    plan = replace(plan, looks=plan.looks or looked)
    text = json.dumps(asdict(plan), indent=1, sort_keys=True) + "\n"
    digest = hashlib.sha256(json.dumps(_identity(plan)).encode()).hexdigest()[:12]
    # What a user calls a study must not become a path.
    readable = re.sub(r"[^A-Za-z0-9_.]+", "_", plan.name).lstrip(".")[:60]
    folder = store.path / "plans"
    path = folder / f"{readable}-{digest}.json"
    make_directory(folder)
    if not path.exists() or read(path) != text.encode():
        write_durably(path, text.encode())
    return plan


def _identity(plan: Plan) -> tuple[str, tuple[str, ...]]:
    """One study may be asked for in many words: --seeds 2, or the two seeds themselves."""
    return plan.name, tuple(sorted(plan.runs))


def read_plans(store: Store) -> list[Plan]:
    """All plans, oldest first; a file that is not a plan is passed over, of two files of one plan the older."""
    paths = list((store.path / "plans").glob("*.json")) if store.path.is_dir() else []
    found: dict[tuple[str, tuple[str, ...]], Plan] = {}
    for path in sorted(paths, key=lambda path: (path.stat().st_mtime_ns, path.name)):
        try:
            plan = Plan(**json.loads(read(path)))
        except (ValueError, TypeError, OSError):
            continue
        if _is_sound(plan):
            found.pop(_identity(plan), None)
            found[_identity(plan)] = plan
    return list(found.values())


def _is_sound(plan: Plan) -> bool:
    """Whether a file held what the types say; JSON may hold anything."""
    lists: list[Any] = [plan.runs, plan.own_settings, plan.contrasts, plan.looks]
    if not all(isinstance(each, list) for each in lists):
        return False
    if not all(isinstance(each, list) and len(each) == 2 for each in plan.contrasts):
        return False
    texts = [plan.name, plan.question, plan.command, *plan.runs, *plan.own_settings, *chain(*plan.contrasts)]
    return all(isinstance(text, str) for text in texts) and all(type(look) is int for look in plan.looks)


def declared_contrasts(plans: Sequence[Plan]) -> list[tuple[str, str]]:
    """Pairs of an arm and its baseline that any of these studies is about, each once."""
    return list(dict.fromkeys((arm, baseline) for plan in plans for arm, baseline in plan.contrasts))
