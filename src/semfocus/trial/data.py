"""The user's data as sequences of one length: windows of a text, or labelled rows."""

import hashlib
from pathlib import Path

import torch

from semfocus.trial.batch import HELD_OUT_SHARE, Batch, Kind, TrialData
from semfocus.trial.encoding import Vocabulary
from semfocus.trial.table import read_table

#: of a text, where neither the model nor the user says more
DEFAULT_CONTEXT = 128
_TABLES = (".csv", ".tsv", ".jsonl")


def kind_of(path: Path) -> Kind:
    """A table is classification, anything else text."""
    if not path.is_file():
        raise ValueError(f"{path}: no such data file")
    return "classification" if path.suffix.lower() in _TABLES else "text"


def read_data(path: Path, vocabulary: Vocabulary, context: int | None = None) -> TrialData:
    """`context`: the length of a text's windows; rows that are longer are cut to it."""
    if context is not None and vocabulary.max_length is not None and context > vocabulary.max_length:
        raise ValueError(
            f"--context {context} is longer than the model allows: {vocabulary.max_length} positions"
        )
    read = _read_text if kind_of(path) == "text" else read_table
    return read(path, vocabulary, context, hashlib.sha256(path.read_bytes()).hexdigest())


def _read_text(path: Path, vocabulary: Vocabulary, context: int | None, digest: str) -> TrialData:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    length = context or min(DEFAULT_CONTEXT, vocabulary.max_length or DEFAULT_CONTEXT)
    ids = vocabulary.of_text(text)
    num = len(ids) // length
    if num < 10:
        raise ValueError(
            f"{path}: {len(ids)} tokens make {num} windows of {length}; a trial needs 10 or more: "
            "give a longer text, or a smaller --context"
        )
    windows = torch.tensor(ids[: num * length]).view(num, length)
    held_out = max(1, round(num * HELD_OUT_SHARE))
    return TrialData(
        "text",
        Batch(windows[: num - held_out]),
        Batch(windows[num - held_out :]),
        (),
        digest,
        f"{num} windows of {length} tokens ({vocabulary.name}), the last {held_out} held out",
    )
