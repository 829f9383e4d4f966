"""One colour and one dash pattern for every arm: the hue says its group, shade and dashes which of the group it is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

#: hues that people with any common colour blindness tell apart (after Okabe and Ito), darkened for white paper;
#: each is a pair: on a light and on a dark background
HUES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "baseline": (("#3b4148", "#d7dce1"),),
    "input-dependent": (("#0068a8", "#4db2f2"), ("#3f8fd0", "#9ad3fa"), ("#00406b", "#1f8fd6")),
    "input-agnostic": (("#c94f00", "#ff9147"), ("#b97f00", "#f2c14e"), ("#8a2f00", "#e0662a")),
    "sharper full attention": (("#00805d", "#35cfa3"), ("#5b8c00", "#b4dd6c"), ("#00513b", "#119c78")),
    "pre-trained": (
        ("#5546c4", "#a99cff"),
        ("#8a6fe0", "#cfc4ff"),
        ("#2f2480", "#7a68f0"),
    ),
    # each of them changes something else, so they share no hue
    "control": (
        *(("#9c3d8b", "#e58bd3"), ("#b08a00", "#f0cf5a"), ("#c2334d", "#ff8296")),
        *(("#00838f", "#4dd0dc"), ("#7a4a21", "#d6a678")),
    ),
}
_OTHERS = (("#6b7280", "#a3acb8"), ("#8c8375", "#c4b8a5"))
DASHES = ("", "6 3", "2 2.5", "8 3 2 3")


@dataclass(frozen=True)
class Ink:
    """How one arm is drawn in every figure."""

    number: int
    light: str
    dark: str
    dash: str

    @property
    def css_class(self) -> str:
        return f"arm{self.number}"


def inks(groups: Mapping[str, str]) -> dict[str, Ink]:
    """An ink for every arm label, given its group; the order of the labels decides, so it must be the same
    everywhere.
    """
    taken: dict[str, int] = {}
    found = {}
    for number, (label, group) in enumerate(groups.items()):
        place = taken.get(group, 0)
        taken[group] = place + 1
        hues = HUES.get(group, _OTHERS)
        light, dark = hues[place % len(hues)]
        found[label] = Ink(number, light, dark, DASHES[place % len(DASHES)])
    return found


def stylesheet(chosen: Iterable[Ink]) -> str:
    """CSS classes that carry the inks, for both backgrounds."""
    inked = list(chosen)
    classes = "".join(
        f".{ink.css_class}{{--ink:var(--{ink.css_class});--dash:{ink.dash or 'none'}}}" for ink in inked
    )
    light, dark = (
        "".join(f"--{ink.css_class}:{getattr(ink, theme)};" for ink in inked) for theme in ("light", "dark")
    )
    return (
        f":root{{{light}}}{classes}@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}"
        f"@media screen{{:root[data-theme=dark]{{{dark}}}}}"
    )
