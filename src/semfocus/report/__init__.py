"""Reports: records become tables, figures and one page that answers the study's question."""

from typing import TYPE_CHECKING

from semfocus.lazy import lazy_exports

if TYPE_CHECKING:
    from semfocus.report.markdown import write_markdown
    from semfocus.report.pages.study_page import write_report

__all__ = ["write_markdown", "write_report"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {"write_markdown": "semfocus.report.markdown", "write_report": "semfocus.report.pages.study_page"},
)
