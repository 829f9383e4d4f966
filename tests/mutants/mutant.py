"""A defect as a change of text, and the tests that should catch it."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    """In `file` of the package `old`, which stands there once, becomes `new`."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def is_compiled(self) -> bool:
        """Whether the kernels must be built again."""
        return "/source/" in self.file

    def text(self, package: Path) -> str:
        """The file with the defect; ValueError where the defect no longer fits."""
        text = (package / self.file).read_text(encoding="utf-8")
        found = text.count(self.old)
        if found != 1 or self.old == self.new:
            raise ValueError(
                f"{self.name}: in {self.file} the text to change is found {found} times, not once"
            )
        return text.replace(self.old, self.new)


def defects(tests: str, file: str, *changes: tuple[str, str, str]) -> tuple[Mutant, ...]:
    """Several in one file that the same tests should catch: name, text, and what it becomes."""
    return tuple(Mutant(name, file, old, new, tuple(tests.split())) for name, old, new in changes)
