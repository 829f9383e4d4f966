"""Checkpoints as safetensors files with a manifest written last: a damaged one is detected and passed over."""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from semfocus.durable import (
    make_directory,
    open_file,
    read,
    remove_tree,
    replace,
    sync_directory,
    write_whole,
)
from semfocus.runs.journal import seal, unseal

Tensors = dict[str, Tensor]
_MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Checkpoint:
    """The state after an epoch: named groups of tensors ("model", "optimiser").

    `problems`: why it may not be the run's own state to the last bit; empty for what a run itself saves.
    """

    epoch: int
    groups: dict[str, Tensors]
    problems: tuple[str, ...] = ()


class DamagedCheckpoint(Exception):
    """A checkpoint whose files are not what its manifest says."""


def save_checkpoint(
    parent: Path,
    kind: str,
    checkpoint: Checkpoint,
    keep: int | None,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Write `kind-EPOCH/`, complete or not at all, then remove all but the newest `keep` of this kind (None:
    keep all). What `check` raises, at the last moment, prevents it.
    """
    files, digests = {}, {}
    for group, tensors in checkpoint.groups.items():
        content = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
        digests[f"{group}.safetensors"] = hashlib.sha256(content).hexdigest()
        files[f"{group}.safetensors"] = content
    manifest: dict[str, Any] = {"epoch": checkpoint.epoch, "files": digests}
    if checkpoint.problems:
        manifest["problems"] = list(checkpoint.problems)
    files[_MANIFEST] = seal(manifest).encode()
    write_generation(parent / f"{kind}-{checkpoint.epoch:06d}", files, check)
    if keep is not None:
        remove_older(parent, kind, keep)


def write_generation(target: Path, files: dict[str, bytes], check: Callable[[], None] = lambda: None) -> None:
    """Write the files of a checkpoint beside its place, force them to disk, then move them there in one step."""
    partial = target.with_name(f".{target.name}.partial")
    remove_tree(partial)
    try:
        make_directory(partial)
        for name, content in files.items():
            with open_file(partial / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
                write_whole(file, content)
        sync_directory(partial)
        check()
        if target.exists():  # written by an earlier attempt that reached the same epoch
            remove_tree(target)
        replace(partial, target)
    except Exception:
        with suppress(OSError):
            remove_tree(partial)  # on a full disk, the journal needs the space
        raise
    sync_directory(target.parent)


def load_newest(parent: Path, kind: str) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint of this kind that can be read, and what was wrong with any newer ones.

    To go on from: an older one leads to the same result. To measure, see `newest_epoch` and `load_epoch`.
    """
    problems: list[str] = []
    for path in _generations(parent, kind):
        try:
            return load_checkpoint(path), problems
        except DamagedCheckpoint as error:
            problems.append(str(error))
        except OSError as error:
            problems.append(f"{path.name}: {error}")
    return None, problems


def newest_epoch(parent: Path, kind: str) -> int | None:
    """The epoch of the newest checkpoint of this kind, whether or not it can be read."""
    return next(map(_epoch_of, _generations(parent, kind)), None)


def load_epoch(parent: Path, epoch: int, kinds: Sequence[str]) -> tuple[Checkpoint | None, list[str]]:
    """The state after one epoch, of the first kind that has it undamaged, and what was wrong with the others.

    A disk that cannot be read at the moment is an OSError: it says nothing about the checkpoint.
    """
    problems: list[str] = []
    for path in (parent / f"{kind}-{epoch:06d}" for kind in kinds):
        if path.is_dir():
            try:
                return load_checkpoint(path), problems
            except DamagedCheckpoint as error:
                problems.append(str(error))
    return None, problems


def load_latest_before(parent: Path, epoch: int, kinds: Sequence[str]) -> Checkpoint | None:
    """The undamaged state of these kinds that comes next before an epoch."""
    known = {_epoch_of(path) for kind in kinds for path in _generations(parent, kind)}
    for earlier in sorted((each for each in known if each < epoch), reverse=True):
        found, _ = load_epoch(parent, earlier, kinds)
        if found is not None:
            return found
    return None


def load_checkpoint(path: Path) -> Checkpoint:
    """Verify every byte against the manifest before reading it as safetensors; nothing is ever unpickled.

    Damage includes a file that is missing; any other error of the disk is passed on.
    """
    try:
        manifest = unseal(read(path / _MANIFEST).decode())
        if manifest["epoch"] != _epoch_of(path):
            raise DamagedCheckpoint(f"{path.name}: its manifest is of epoch {manifest['epoch']}")
        groups = {}
        for name, digest in manifest["files"].items():
            content = read(path / name)
            if hashlib.sha256(content).hexdigest() != digest:
                raise DamagedCheckpoint(f"{path.name}: {name} is not the file that was saved")
            groups[name.removesuffix(".safetensors")] = load(content)
    except (
        *(FileNotFoundError, NotADirectoryError, IsADirectoryError),
        *(ValueError, KeyError, SafetensorError),
    ) as error:
        raise DamagedCheckpoint(f"{path.name}: {type(error).__name__}: {error}") from None
    return Checkpoint(manifest["epoch"], groups, tuple(manifest.get("problems", ())))


def _generations(parent: Path, kind: str) -> list[Path]:
    """Checkpoint directories of a kind, newest first."""
    found = [path for path in parent.glob(f"{kind}-*") if path.name.removeprefix(f"{kind}-").isdigit()]
    return sorted(found, key=_epoch_of, reverse=True)


def _epoch_of(path: Path) -> int:
    return int(path.name.split("-")[1])


def remove_after(parent: Path, kind: str, epoch: int) -> None:
    """Remove checkpoints of later epochs than one that training goes back to."""
    for path in _generations(parent, kind):
        if _epoch_of(path) > epoch:
            remove_tree(path)


def remove_older(parent: Path, kind: str, keep: int) -> None:
    """Remove all but the newest `keep` checkpoints of this kind."""
    older = _generations(parent, kind)[keep:]
    for path in older:
        remove_tree(path)
    if older:
        sync_directory(parent)


def weights_digest(tensors: Tensors) -> str:
    """One number for all weights, equal only if every bit is."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        digest.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()[:20]
