"""The templates of the pages, their style and their script; everything that a template prints is escaped."""

import base64
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from semfocus.counts import count_of
from semfocus.report.palette import Ink, stylesheet
from semfocus.report.texts import listed, shortened, visible
from semfocus.report.wording import UNKNOWN, setting_text, value_text
from semfocus.studies.wording import percent

_TEMPLATES = Path(__file__).parent / "templates"


def environment() -> Environment:
    """Everything that a template prints is escaped, after characters that cannot be seen became visible."""

    def harmless(value: Any) -> Any:
        return value if isinstance(value, Markup) else _unbroken(visible(value))

    found = Environment(
        loader=DictLoader(
            {path.stem: path.read_text(encoding="utf-8") for path in _TEMPLATES.glob("*.html")}
        ),
        autoescape=True,
        finalize=harmless,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "short": shortened,
        "percent": _accuracy,
        "value": value_text,
        "setting": setting_text,
        "listed": listed,
        "count_of": count_of,
    }
    return found


def style_and_script(
    chosen: Iterable[Ink], script_file: str = "script.js", more_style: str | None = None
) -> dict[str, Any]:
    """What every page carries in itself; its policy names the digest of the script, so that no other one runs."""
    script = (_TEMPLATES / script_file).read_text(encoding="utf-8")
    styles = ["style.css"] if more_style is None else ["style.css", more_style]
    own = "".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in styles)
    return {
        "style": Markup(own + figure_style(chosen)),
        "script": Markup(script),
        "script_digest": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }


def figure_style(chosen: Iterable[Ink]) -> str:
    """What figures need, on a page or in a file of their own."""
    return (_TEMPLATES / "figure.css").read_text(encoding="utf-8") + stylesheet(chosen)


def _unbroken(text: str) -> str:
    """A number and its percent sign, and an interval, stay on one line."""
    return re.sub(
        r" (?:%|points)|[(\[][^()\[\]]{1,20}[)\]]", lambda found: found[0].replace(" ", "\u00a0"), text
    )


def _accuracy(share: float | None) -> str:
    return UNKNOWN if share is None else percent(share)
