"""Plain UTF-8 text from a file, a folder of files, or the Python standard library."""

import hashlib
import sysconfig
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from semfocus.tasks.data.files import not_utf8

#: `text:stdlib`: modules that every supported Python has as one file of that name, in this order; the last of
#: them are held out
STDLIB = "stdlib"
STDLIB_MODULES = tuple(
    """
    argparse ast base64 bdb bisect calendar cmd codecs configparser contextlib copy csv dataclasses
    difflib dis doctest enum fractions ftplib functools gettext glob gzip hashlib heapq hmac imaplib
    inspect ipaddress locale mailbox mimetypes ntpath numbers operator optparse os pdb pickle
    pickletools platform plistlib posixpath pprint pstats queue random sched selectors shelve shlex
    shutil smtplib socket socketserver statistics subprocess tarfile tempfile textwrap threading
    timeit tokenize trace traceback types typing uuid warnings wave weakref webbrowser
    """.split()  # noqa: SIM905
)
#: the last part of a text, by bytes: never trained on, and not seen by a tokenizer that is trained
HELD_OUT_SHARE = 0.1


@dataclass(frozen=True)
class Text:
    """The bytes of a text, equal to another by content."""

    content: bytes = field(repr=False, compare=False)
    digest: str

    @property
    def parts(self) -> tuple[bytes, bytes]:
        """Training and held-out part: one cut, between two characters."""
        cut = len(self.content) - round(HELD_OUT_SHARE * len(self.content))
        while 0 < cut < len(self.content) and self.content[cut] & 0xC0 == 0x80:
            cut -= 1
        return self.content[:cut], self.content[cut:]


def read_text(path: Path | None) -> Text:
    """The text of a file, of all files under a folder in the order of their paths, or (None) of the standard
    library.
    """
    files = _stdlib_files() if path is None else _files(path)
    stamps = tuple((file, file.stat().st_size, file.stat().st_mtime_ns) for file in files)
    text = _read(stamps)
    if not text.content:
        raise ValueError(f"{path}: the text is empty")
    return text


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise ValueError(f"{path}: no such file or folder")
    found = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
    ]
    if not found:
        raise ValueError(f"{path}: the folder has no files (hidden ones do not count)")
    return found


def _stdlib_files() -> list[Path]:
    folder = Path(sysconfig.get_path("stdlib"))
    files = [folder / f"{module}.py" for module in STDLIB_MODULES]
    missing = next((file for file in files if not file.is_file()), None)
    if missing is not None:
        raise ValueError(
            f"text:{STDLIB}: this Python comes without {missing}; use text:PATH with a text of your own"
        )
    return files


@lru_cache(maxsize=4)  # a study makes hundreds of specs of one text
def _read(stamps: tuple[tuple[Path, int, int], ...]) -> Text:
    content = b"".join(_ended(file, len(stamps) > 1) for file, *_ in stamps)
    return Text(content, hashlib.sha256(content).hexdigest())


def _ended(file: Path, is_one_of_several: bool) -> bytes:
    """The bytes of a file; those of one of several end in a new line, so that no two lines become one."""
    content = file.read_bytes()
    try:
        content.decode()
    except UnicodeDecodeError:
        raise ValueError(not_utf8(file)) from None
    needs_end = is_one_of_several and content and not content.endswith(b"\n")
    return content + b"\n" if needs_end else content
