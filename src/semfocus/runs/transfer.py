"""The files of a run as bytes, to continue it on another machine and to bring back what came of it."""

from collections.abc import Container
from dataclasses import dataclass, field

from semfocus.durable import make_directory, read, remove_tree, write_durably
from semfocus.runs.checkpoints import write_generation
from semfocus.runs.directory import RunDirectory

_PLAIN = ("spec.json", "env.json", "journal.jsonl", "record.json")  # the record last: then the run has ended


@dataclass(frozen=True)
class Parcel:
    """`generations`: all checkpoints there are; `checkpoints`: the files of those that the receiver lacks."""

    plain: dict[str, bytes]
    generations: list[str] = field(default_factory=list)
    checkpoints: dict[str, dict[str, bytes]] = field(default_factory=dict)


def pack(directory: RunDirectory, known: Container[str] = ()) -> Parcel:
    """What the owner of a run has on disk, without the checkpoints that the receiver knows."""
    paths = [directory.path / name for name in _PLAIN]
    generations = sorted(path for path in directory.checkpoints.glob("[!.]*") if path.is_dir())
    return Parcel(
        plain={path.name: read(path) for path in paths if path.exists()},
        generations=[path.name for path in generations],
        checkpoints={
            path.name: {file.name: read(file) for file in sorted(path.iterdir())}
            for path in generations
            if path.name not in known
        },
    )


def unpack(directory: RunDirectory, parcel: Parcel) -> None:
    """Make a directory equal to the one that was packed; cut short at any moment, it can be continued.

    The journal comes before the checkpoints whose epochs it must cover, and the record last. RunBusy if the owner
    has lost the run.
    """
    directory.check_owner()
    make_directory(directory.checkpoints)
    for name in _PLAIN:
        if name == "journal.jsonl" and name in parcel.plain:
            directory.replace_journal(parcel.plain[name])
        elif name in parcel.plain and name != "record.json":
            write_durably(directory.path / name, parcel.plain[name], directory.check_owner)
    for name, files in parcel.checkpoints.items():
        write_generation(directory.checkpoints / name, files, directory.check_owner)
    for path in directory.checkpoints.glob("[!.]*"):
        if path.name not in parcel.generations:
            remove_tree(path)
    if "record.json" in parcel.plain:
        write_durably(directory.path / "record.json", parcel.plain["record.json"], directory.check_owner)
