"""A user's own patterns and tasks: classes in a Python file that is named on the command line."""

import hashlib
import sys
from pathlib import Path
from types import ModuleType

from semfocus.mechanisms import Pattern, register_pattern
from semfocus.tasks import Task, register_task


def load_recipe(path: Path) -> tuple[ModuleType, str]:
    """Run the file, make its patterns and tasks known, and return the module with the source's digest.

    The digest becomes part of the spec of every run that uses the file. Nothing stored in a run is
    ever imported by name: whoever resumes such a run names the file again.
    """
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ValueError(f"cannot read the recipe file {path}: {error.strerror}") from None
    digest = hashlib.sha256(source).hexdigest()
    name = f"semfocus_recipe_{digest[:16]}"
    if name in sys.modules:
        return sys.modules[name], digest
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
        for value in list(vars(module).values()):
            if isinstance(value, type) and value.__module__ == name:
                if issubclass(value, Pattern):
                    register_pattern(value)
                elif issubclass(value, Task):
                    register_task(value)
    except BaseException:
        del sys.modules[name]
        raise
    return module, digest
