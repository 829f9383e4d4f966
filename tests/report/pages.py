"""Reading a page as a browser would: its tags in order, its text, its attributes, the charts that its script draws."""

import json
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any


def numbers(text: str) -> list[float]:
    """Every number of a text in order: what a sentence says, whatever its words. Those of names are left out.

    >>> numbers("top_k(5) was 3 times (2 to 4.5) as far, 95 % of 1 seed")
    [3.0, 2.0, 4.5, 95.0, 1.0]
    """
    return [float(each) for each in re.findall(r"(?<![\w.(])\d+(?:\.\d+)?|(?<= \()\d+(?:\.\d+)?", text)]


VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(HTMLParser):
    """`tags` is the structure without any text or value; `problems` are tags that do not close properly."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, str, tuple[str, ...]]] = []
        self.values: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.problems: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.problems += [f"{tag} is not closed" for tag in self._open]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(("start", tag, tuple(name for name, _ in attributes)))
        self.values += [(tag, name, value or "") for name, value in attributes]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(("end", tag, ()))
        if self._open and self._open[-1] == tag:
            self._open.pop()
        else:
            self.problems.append(f"{tag} closes {self._open[-1:]}")

    def handle_data(self, data: str) -> None:
        if not (self._open and self._open[-1] in ("script", "style")):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


class Lines(HTMLParser):
    """What a reader reads, a line for each paragraph, title and row of a table; pictures have words of their own."""

    BLOCKS = frozenset(
        [
            "p",
            "h1",
            "h2",
            "h3",
            "h4",
            "li",
            "tr",
            "div",
            "section",
            "figure",
            "figcaption",
            "summary",
            "details",
            "header",
            "footer",
            "nav",
            "pre",
            "dt",
            "dd",
            "button",
            "caption",
            "table",
            "ul",
            "dl",
            "main",
            "body",
            "title",
        ]
    )
    SKIPPED = frozenset(("script", "style", "svg"))

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._skipped = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._skipped += tag in self.SKIPPED
        if tag in self.BLOCKS or tag == "br":
            self.parts.append("\n")
        elif tag in ("td", "th"):
            self.parts.append(" | ")

    def handle_endtag(self, tag: str) -> None:
        self._skipped -= tag in self.SKIPPED
        if tag in self.BLOCKS:
            self.parts.append("\n")
        elif tag in ("a", "small", "span"):
            self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.parts.append(data.replace("\n", " "))

    @property
    def text(self) -> str:
        lines = (" ".join(line.split()).strip(" |") for line in "".join(self.parts).splitlines())
        return "\n".join(line for line in lines if line)


@dataclass(frozen=True)
class Chart:
    """What the script of a page is told to draw: the name of its box, its description, its own values and its rows."""

    title: str
    spec: dict[str, Any]
    values: dict[str, Any]
    rows: list[dict[str, Any]]


def charts_of(text: str) -> list[Chart]:
    """Every chart of a page, in order."""
    block = re.search(r'<script type="application/json" id="charts">(.*?)</script>', text, re.DOTALL)
    assert block is not None
    data = json.loads(block[1])
    boxes = [dict(attributes) for attributes in Boxes(text).found]
    found = []
    for box in sorted(boxes, key=lambda each: int(each["data-chart"])):
        chart = data["charts"][int(box["data-chart"])]
        columns = {name: unpacked(column) for name, column in chart["columns"].items()}
        rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
        found.append(Chart(box["aria-label"], data["specs"][chart["spec"]], chart["values"], rows))
    assert len(found) == len(data["charts"])
    return found


def unpacked(column: Any) -> list[Any]:
    """As the script does it."""
    if isinstance(column, list):
        return column
    if "tile" in column:
        return column["tile"] * column["times"]
    return [value for value, times in column["runs"] for _ in range(times)]


class Boxes(HTMLParser):
    """The boxes that charts are drawn in."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[list[tuple[str, Any]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if any(name == "data-chart" for name, _ in attributes):
            self.found.append(attributes)
