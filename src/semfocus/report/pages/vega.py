"""Vega for pages: its script, which draws in the reader's browser, and a process that draws static pictures
meanwhile.
"""

import atexit
import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from semfocus.durable import write_text

#: Vega starts in 0.4 s, with the first chart. A line of Vega-Lite comes in, a line with the picture goes out.
_PROGRAM = """
import json, signal, sys, vl_convert
signal.signal(signal.SIGINT, signal.SIG_IGN)
vl_convert.vegalite_to_svg({"data": {"values": [{}]}, "mark": "point", "encoding": {}})
for line in sys.stdin:
    try:
        drawn = vl_convert.vegalite_to_svg(line)
    except Exception:
        drawn = None
    print(json.dumps(drawn), flush=True)
"""


class Painter:
    """Draws in a process of its own while this one prepares the rest of a page.

    vl-convert holds Python's lock while it draws, so that a thread alone would gain nothing.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self.process = self._begun()

    def draw(self, described: str) -> "Future[str]":
        """The SVG of a chart, which need not be waited for yet."""
        return self._thread.submit(self._drawn, described)

    def _begun(self) -> "subprocess.Popen[str] | None":
        with suppress(OSError):
            # -P: a file of the working directory that is called like a module of ours is not it
            command = [sys.executable, "-P", "-X", "utf8", "-c", _PROGRAM]
            process = subprocess.Popen(
                command,
                encoding="utf-8",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            atexit.register(_end, process, os.getpid())
            return process
        return None

    def _drawn(self, described: str) -> str:
        with suppress(OSError, ValueError):
            if self.process and self.process.stdin and self.process.stdout:
                self.process.stdin.write(described + "\n")
                self.process.stdin.flush()
                drawn = json.loads(self.process.stdout.readline())
                if drawn:
                    return str(drawn)
        import vl_convert  # there is no other process, or it cannot draw this: say why here

        return vl_convert.vegalite_to_svg(described)


def _end(process: "subprocess.Popen[str]", owner: int) -> None:
    """Without anything more to draw it ends by itself; a fork leaves it to whoever began it."""
    if os.getpid() == owner:
        with suppress(OSError):
            process.communicate()


def painter() -> Painter:
    """The one of this process; the first call starts it."""
    return _painter(os.getpid())  # a fork has none


@cache
def _painter(process: int) -> Painter:
    return Painter()


#: of the library as vl-convert makes it, by version: what is read from the cache must be this and nothing else
_BUNDLES = {"1.9.0": "3425bd951a44d478d0505c6b5d1e8d57656b6e9a4da7bfe88a718ce61d76e572"}


def vega_bundle() -> str:
    """Vega, Vega-Lite and vega-embed as one script: made by vl-convert in seconds, or read from the user's cache."""
    import vl_convert

    expected = _BUNDLES.get(version("vl-convert-python"))
    place = None if expected is None else _cache()
    if place is not None:
        with suppress(OSError, ValueError):
            text = place.read_text(encoding="utf-8")
            if hashlib.sha256(text.encode()).hexdigest() == expected:
                return text
    text = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    text = text.replace("</script", "<\\/script")
    if place is not None and hashlib.sha256(text.encode()).hexdigest() == expected:
        with suppress(OSError):
            write_text(place, text)
    return text


def _cache() -> Path | None:
    """Where the library is kept; nowhere for a user without a home."""
    with suppress(RuntimeError):
        named = Path(os.environ.get("XDG_CACHE_HOME", ""))
        folder = named if named.is_absolute() else Path.home() / ".cache"
        return folder / "semfocus" / f"vega-{version('vl-convert-python')}.js"
    return None
