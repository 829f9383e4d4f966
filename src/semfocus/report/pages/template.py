"""The templates of the pages, their style and their script; everything that a template prints is escaped."""

import base64
import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup, escape

from semfocus import __version__
from semfocus.analysis.wording import UNKNOWN, setting_text, value_text
from semfocus.report.pages.album import legend_html
from semfocus.report.palette import Ink, stylesheet
from semfocus.words import count_of, listed, percent, shortened, visible

if TYPE_CHECKING:
    from semfocus.report.pages.album import Album

_TEMPLATES = Path(__file__).parent


@cache
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
        "legend": legend_html,
        "options": _options,
        "number": lambda value: "none" if value is None else f"{value:.3g}",
    }
    return found


def render(name: str, album: "Album", chosen: Mapping[str, Ink], **values: Any) -> str:
    """A page of that template: its policy names the digest of each script, so that no other one runs."""
    scripts = [Markup((_TEMPLATES / "script.js").read_text(encoding="utf-8")), *filter(None, [album.bundle])]
    style = (_TEMPLATES / "style.css").read_text(encoding="utf-8") + stylesheet(chosen.values())
    page = (
        environment()
        .get_template(name)
        .render(
            version=__version__,
            style=Markup(style),
            scripts=scripts,
            digests=[base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts],
            charts=album.data,
            inks=chosen,
            made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            **values,
        )
    )
    return album.complete(page)


def _unbroken(text: str) -> str:
    """A number and its percent sign, and an interval, stay on one line."""
    return re.sub(
        r" (?:%|points)|[(\[][^()\[\]]{1,20}[)\]]", lambda found: found[0].replace(" ", "\u00a0"), text
    )


def _options(text: str) -> Markup:
    """An option of a command and its number stay on one line."""
    escaped = str(escape(_unbroken(visible(text))))  # a substitution in Markup would escape what it puts in
    return Markup(re.sub(r"--\w[\w-]*(?: \d+)?", r'<span class="unbroken">\g<0></span>', escaped))


def _accuracy(share: float | None) -> str:
    return UNKNOWN if share is None else percent(share)
