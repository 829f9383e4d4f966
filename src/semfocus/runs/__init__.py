"""Runs on disk: specs, directories, journals, checkpoints, records."""

from typing import TYPE_CHECKING

from semfocus.lazy import lazy_exports

if TYPE_CHECKING:
    from semfocus.runs.directory import RunBusy, RunDirectory
    from semfocus.runs.recipe_file import load_recipe
    from semfocus.runs.record import result_digest, study_digest
    from semfocus.runs.spec import RunSpec
    from semfocus.runs.store import Store, open_store
    from semfocus.runs.training_settings import TrainingSettings

__all__ = [
    "RunBusy",
    "RunDirectory",
    "RunSpec",
    "Store",
    "TrainingSettings",
    "load_recipe",
    "open_store",
    "result_digest",
    "study_digest",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "RunBusy": "semfocus.runs.directory",
        "RunDirectory": "semfocus.runs.directory",
        "RunSpec": "semfocus.runs.spec",
        "Store": "semfocus.runs.store",
        "TrainingSettings": "semfocus.runs.training_settings",
        "load_recipe": "semfocus.runs.recipe_file",
        "open_store": "semfocus.runs.store",
        "result_digest": "semfocus.runs.record",
        "study_digest": "semfocus.runs.record",
    },
)
