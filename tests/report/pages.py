"""Reading a page as a browser would: its tags in order, its text, its attributes."""

from html.parser import HTMLParser

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
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())
