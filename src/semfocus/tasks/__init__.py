"""Tasks: sequence classification, one per file, each with a sampler and an independent evaluator; and text."""

from semfocus.tasks.catalog import BUILT_IN, TASKS, parse_task, register_task
from semfocus.tasks.data.files import write_rows
from semfocus.tasks.dataset import Dataset, Samples, count_overlap, draw_dataset
from semfocus.tasks.file_task import FileTask, read_samples
from semfocus.tasks.task import Length, Task, checked_length
from semfocus.tasks.text_task import TextTask

__all__ = [
    "BUILT_IN",
    "TASKS",
    "Dataset",
    "FileTask",
    "Length",
    "Samples",
    "Task",
    "TextTask",
    "checked_length",
    "count_overlap",
    "draw_dataset",
    "parse_task",
    "read_samples",
    "register_task",
    "write_rows",
]
