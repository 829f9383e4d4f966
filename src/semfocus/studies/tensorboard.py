"""Curves for TensorBoard, written while a study runs."""

import re
from pathlib import Path
from typing import Any

from semfocus.execution.progress import Watcher
from semfocus.runs import RunSpec
from semfocus.runs.record import Record

_CURVES = {
    "accuracy/train": "train_accuracy",
    "accuracy/held_out": "held_out_accuracy",
    "loss/train": "train_loss",
    "loss/held_out": "held_out_loss",
    "learning_rate": "learning_rate",
}


class TensorBoardLog(Watcher):
    """One folder of scalars a run; runs that had ended before get theirs from the record."""

    def __init__(self, path: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise ValueError(
                "--log tensorboard needs TensorBoard: pip install 'semfocus[tensorboard]' (or pip install tensorboard)"
            ) from None
        self.new_writer = SummaryWriter
        self.path = path
        self.writers: dict[str, Any] = {}

    def folder(self, spec: RunSpec) -> Path:
        """What people read in TensorBoard; the digest keeps runs apart, and no name becomes a path."""
        readable = re.sub(r"[^A-Za-z0-9_()+,-]+", "_", f"{spec.task} {spec.pattern} seed {spec.seed}")[:80]
        return self.path / f"{readable}_{spec.digest[:8]}"

    def epoch_ended(self, spec: RunSpec, row: dict[str, Any]) -> None:
        writer = self.writers.get(spec.digest)
        if writer is None:  # epochs that an earlier attempt logged and this one trains again count once
            writer = self.new_writer(str(self.folder(spec)), purge_step=row["epoch"])
            self.writers[spec.digest] = writer
        for name, key in _CURVES.items():
            writer.add_scalar(name, row[key], row["epoch"])
        writer.flush()

    def run_failed(self, spec: RunSpec, attempt: int, reason: str) -> None:
        self._close(spec)

    def run_ended(self, spec: RunSpec, record: Record) -> None:
        curve = record.get("curve") or {}
        if not self.folder(spec).exists():
            for values in zip(*curve.values(), strict=True):
                self.epoch_ended(spec, dict(zip(curve, values, strict=True)))
        self._close(spec)

    def _close(self, spec: RunSpec) -> None:
        writer = self.writers.pop(spec.digest, None)
        if writer is not None:
            writer.close()
