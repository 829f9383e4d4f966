"""The page of a probe, with what every quantity means."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semfocus.report.probed import ProbedRun


def write_page(found: "list[ProbedRun]", page: Path, command: str) -> None:
    """The quantities are known only where torch is loaded, which the report does without."""
    from semfocus.probes import QUANTITIES
    from semfocus.report.probe_page import write_probe_page
    from semfocus.report.probed import Probed, Quantity

    known = {
        each.name: Quantity(each.name, each.meaning, each.unit, each.per) for each in QUANTITIES.values()
    }
    write_probe_page(Probed(found, known, command), page)
