"""How much of its worst case the dispersion uses: a row a task, a dot a layer and seed, untrained and trained."""

from collections.abc import Sequence

from markupsafe import Markup

from semfocus.report.scales import Linear
from semfocus.report.svg import Drawing
from semfocus.report.texts import shortened
from semfocus.studies.mechanism_tests.worst_case import WorstCase

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 760.0, 150.0, 740.0, 40.0, 30.0
_CLASSES = {"start": "source-same", "end": "source-own"}


def worst_case_figure(title: str, cases: Sequence[WorstCase]) -> Markup | None:
    """None without cases."""
    if not cases:
        return None
    tasks = list(dict.fromkeys(each.task for each in cases))
    height = _TOP + _ROW * len(tasks) + 34
    highest = max(share for each in cases for share in each.shares.values())
    scale = Linear(0.0, max(1.0, highest), _LEFT, _RIGHT)
    drawing = Drawing(_WIDTH, height, title, "bounds")
    for place, (when, words) in enumerate((("start", "untrained"), ("end", "after training"))):
        with drawing.group(css_class=_CLASSES[when]):
            drawing.add("circle", css_class="spot", cx=_LEFT + 120.0 * place + 6, cy=12.0, r=4.0)
        drawing.add("text", words, css_class="tick", x=_LEFT + 120.0 * place + 16, y=16.0)
    drawing.add("text", "a dot: one layer of one seed", css_class="tick", x=_RIGHT, y=16.0, text_anchor="end")
    bottom = height - 30
    for value in scale.ticks(6):
        x = scale(value)
        drawing.add("line", css_class="one" if value == 1 else "grid", x1=x, x2=x, y1=_TOP - 10, y2=bottom)
        drawing.add("text", f"{value:.0%}", css_class="tick", x=x, y=bottom + 14, text_anchor="middle")
    drawing.add(
        "text",
        "largest dispersion / (2 Γ Ξ²)",
        css_class="tick",
        x=(_LEFT + _RIGHT) / 2,
        y=bottom + 28,
        text_anchor="middle",
    )
    for place, task in enumerate(tasks):
        y = _TOP + _ROW * place + _ROW / 2
        drawing.add(
            "text", shortened(task, 22), css_class="row-label", x=_LEFT - 12, y=y + 4, text_anchor="end"
        )
        for each in cases:
            if each.task != task:
                continue
            with drawing.group(css_class=_CLASSES[each.when]):
                for seed, share in each.shares.items():
                    tip = f"{task}, layer {each.layer + 1}, seed {seed}: {share:.0%}"
                    drawing.add(
                        "circle",
                        css_class="spot",
                        cx=scale(share),
                        cy=y + (5 if each.when == "end" else -5),
                        r=3.6,
                        tip=tip,
                    )
    return drawing.markup()
