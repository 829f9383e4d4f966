"""What was measured inside runs, put beside their records for mechanism tests and claims."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from semfocus.studies.mechanism_tests.looked import ALONG, HELD_OUT, KEY

if TYPE_CHECKING:
    from semfocus.runs import Store

Row = Mapping[str, Any]
#: quantities that a test looks at; runs may hold many more
OVERALL = (
    *("dispersion", "dispersion_ratio", "separation", "separation_ratio", "key_load", "effective_keys"),
    *("focus_chance", "mask_agreement_0.01", "lambda_w_local"),
    *("gradient_norm_query_key", "gradient_norm_value_out"),
)
BY_LAYER = ("dispersion", "score_norm", "token_norm")


def with_inside(store: "Store", records: Iterable[Row]) -> list[dict[str, Any]]:
    """The records, each with what was measured inside it and around it, if that can be read."""
    from semfocus.report.around import LANDSCAPES, steepness
    from semfocus.runs.directory import DamagedRun

    directories = {directory.name: directory for directory in store.directories()}
    found = []
    for record in records:
        added: dict[str, Any] = {}
        directory = directories.get(str(record.get("run")))
        try:
            rows = directory.probes() if directory is not None else []
            added[KEY] = [row for row in rows if _wanted(row) and not is_along(row)]
            noted = [*(record.get("probes") or ()), *filter(is_along, rows)]
            added[ALONG] = [row for row in noted if _wanted(row)]
            added[LANDSCAPES] = steepness(directory) if directory is not None else []
        except (DamagedRun, OSError):
            pass  # `semfocus status` tells of damage; what is here can be compared all the same
        found.append({**record, **{key: rows for key, rows in added.items() if rows}})
    return found


def is_along(row: Row) -> bool:
    """Whether a row is one of a few quantities along training."""
    return str(row.get("quantities", "")).startswith("along:")


def _wanted(row: Row) -> bool:
    name, layer = row.get("quantity"), row.get("layer")
    return row.get("data") == HELD_OUT and (name in OVERALL if layer is None else name in BY_LAYER)
