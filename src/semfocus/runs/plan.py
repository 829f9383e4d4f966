"""What a study plans, written down before it begins, so that others know what is still to come."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass, field

from semfocus.durable import write_durably
from semfocus.runs.store import Store


@dataclass(frozen=True)
class Plan:
    """A study's question, the command that runs it, and the digests of its runs in their order.

    `own_settings` names what may differ between the arms of one comparison, e.g. training.learning_rate.
    """

    name: str
    question: str
    command: str
    runs: list[str]
    own_settings: list[str] = field(default_factory=list)


def write_plan(store: Store, plan: Plan) -> None:
    """Write `plans/NAME-DIGEST.json`; the same plan again changes nothing."""
    text = json.dumps(asdict(plan), indent=1, sort_keys=True) + "\n"
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    # What a user calls a study must not become a path.
    readable = re.sub(r"[^A-Za-z0-9_.]+", "_", plan.name).lstrip(".")[:60]
    folder = store.path / "plans"
    path = folder / f"{readable}-{digest}.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_durably(path, text.encode())


def read_plans(store: Store) -> list[Plan]:
    """All plans, oldest first; a file that is not a plan is passed over."""
    paths = list((store.path / "plans").glob("*.json")) if store.path.is_dir() else []
    found = []
    for path in sorted(paths, key=lambda path: (path.stat().st_mtime_ns, path.name)):
        try:
            plan = Plan(**json.loads(path.read_text()))
        except (ValueError, TypeError, OSError):
            continue
        if isinstance(plan.runs, list) and all(isinstance(run, str) for run in plan.runs):
            found.append(plan)
    return found
