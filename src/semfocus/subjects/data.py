"""The user's data as sequences of one length: windows of a text, or labelled rows."""

import hashlib
from collections.abc import Collection
from pathlib import Path

import torch

from semfocus.subjects.batch import Batch, DataKind, TrialData
from semfocus.subjects.table import read_pairs, read_table
from semfocus.subjects.vocabulary import Vocabulary
from semfocus.tasks.data.text import HELD_OUT_SHARE, read_text

#: of a text, where neither the model nor the user says more
DEFAULT_CONTEXT = 128
_TABLES = (".csv", ".tsv", ".jsonl")


def kind_of(path: Path) -> DataKind:
    """A table is classification, anything else text, also that of all files in a folder."""
    if not path.exists():
        raise ValueError(f"{path}: no such data file")
    return "classification" if path.is_file() and path.suffix.lower() in _TABLES else "text"


def read_data(
    path: Path,
    vocabulary: Vocabulary,
    context: int | None = None,
    known: Collection[str] = (),
    kind: DataKind | None = None,
) -> TrialData:
    """`context`: the length of a text's windows; rows that are longer are cut to it. `known`: as for `read_table`.

    kind: by default that of the file; `pairs` for rows of a text and a target.
    """
    if context is not None and context < 2:
        raise ValueError(f"--context must be 2 tokens or more, got {context}")
    if context is not None and vocabulary.max_length is not None and context > vocabulary.max_length:
        raise ValueError(
            f"--context {context} is longer than the model allows: {vocabulary.max_length} positions"
        )
    if (kind or kind_of(path)) == "text":
        return _windows(path, vocabulary, context)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if kind == "pairs":
        return read_pairs(path, vocabulary, context, digest)
    return read_table(path, vocabulary, context, digest, known)


def _windows(path: Path, vocabulary: Vocabulary, context: int | None) -> TrialData:
    whole = read_text(path)
    text = whole.content.decode().replace("\r\n", "\n")
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
        whole.digest,
        f"{num} windows of {length} tokens ({vocabulary.name}), the last {held_out} held out",
    )
