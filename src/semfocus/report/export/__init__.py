"""All numbers as tables in a folder (Parquet or CSV), and back."""

from semfocus.report.export.archive import archive
from semfocus.report.export.folder import FORMATS, export, folders_of_tables, read_export, read_exported_plans
from semfocus.report.export.frames import curves_table, frames_of, runs_table, summary_table

__all__ = [
    "FORMATS",
    "archive",
    "curves_table",
    "export",
    "folders_of_tables",
    "frames_of",
    "read_export",
    "read_exported_plans",
    "runs_table",
    "summary_table",
]
