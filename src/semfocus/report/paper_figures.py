"""Figures for a paper, as PDF or SVG files, with matplotlib (an extra)."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semfocus.durable import write_durably
from semfocus.report.forest_figure import Heading, axis_range
from semfocus.report.overview import arm_groups, forest_lines, primary
from semfocus.report.palette import Ink, inks
from semfocus.report.perplexity_figure import NarrowLogarithmic, perplexities_on
from semfocus.report.sampling import epoch_grid, sample
from semfocus.report.scales import Logarithmic
from semfocus.report.texts import shortened

if TYPE_CHECKING:
    from semfocus.studies.analysis import TaskSummary

FORMATS = ("pdf", "svg")


def write_figures(summaries: Sequence["TaskSummary"], folder: Path, kind: str) -> list[Path]:
    """`speedups` for all tasks and one `curves-N` for each comparison; return their paths."""
    if kind not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {kind!r}")
    try:
        import matplotlib
    except ImportError:
        raise ValueError("PDF and SVG figures need matplotlib: pip install 'semfocus[plot]'") from None
    from matplotlib.figure import Figure

    settings: Any = {
        **{"font.size": 8, "svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "semfocus"},
        **{"axes.spines.top": False, "axes.spines.right": False, "text.parse_math": False},
    }
    folder.mkdir(parents=True, exist_ok=True)
    chosen = inks(arm_groups(summaries))
    paths = []
    with matplotlib.rc_context(settings):
        for name, figure in _figures(summaries, chosen, Figure):
            path, content = folder / f"{name}.{kind}", BytesIO()
            figure.savefig(content, format=kind, bbox_inches="tight")
            write_durably(path, content.getvalue())
            paths.append(path)
    return paths


def _figures(
    summaries: Sequence["TaskSummary"], chosen: Mapping[str, Ink], figure: Any
) -> list[tuple[str, Any]]:
    found = []
    if any(arm.speedup and arm.speedup.ratio for summary in summaries for arm in summary.arms):
        found.append(("speedups", _forest(primary(summaries), chosen, figure)))
    found += [
        (f"curves-{number}", _curves(summary, chosen, figure))
        for number, summary in enumerate(summaries, start=1)
    ]
    return found


def _curves(summary: "TaskSummary", chosen: Mapping[str, Ink], make: Any) -> Any:
    """Training and held-out accuracy (for text perplexity) side by side, medians with quartile bands."""
    figure = make(figsize=(6.8, 2.5), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    arms = summary.comparison.arms
    grid = epoch_grid([record for records in arms.values() for record in records])
    columns = (
        (("train_loss", "training perplexity"), ("held_out_loss", "held-out perplexity"))
        if summary.by_loss
        else (("train_accuracy", "training accuracy"), ("held_out_accuracy", "held-out accuracy"))
    )
    goals = {goal.column: goal for goal in (summary.goal, summary.second_goal)}
    for panel, (column, title) in zip(panels, columns, strict=True):
        for label, records in arms.items():
            sampled = (perplexities_on if summary.by_loss else sample)(records, column, grid)
            nan, unit = float("nan"), 1 if summary.by_loss else 100
            low, middle, high = (
                [nan if value is None else unit * value for value in values]
                for values in (sampled.lower, sampled.median, sampled.upper)
            )
            ink = chosen[label]
            panel.fill_between(grid, low, high, color=ink.light, alpha=0.12, linewidth=0)
            panel.plot(
                grid, middle, color=ink.light, linestyle=_dashes(ink), linewidth=1.3, label=shortened(label)
            )
        level = goals[column].perplexity if summary.by_loss else 100 * summary.target
        panel.axhline(level, color="0.6", linewidth=0.7, linestyle=":")
        panel.set(xlabel="epoch", title=title)
        panel.locator_params(axis="x", integer=True)
    if summary.by_loss:
        panels[0].set_yscale("log")
        low, high = panels[0].get_ylim()
        ticks = NarrowLogarithmic(low, high, 0, 1).ticks()
        panels[0].set_yticks(ticks, [f"{value:g}" for value in ticks])
        panels[0].set_yticks([], minor=True)
    else:
        panels[0].set_ylabel("%")
    figure.suptitle(shortened(summary.comparison.title, 60))
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False)
    return figure


def _forest(summaries: Sequence["TaskSummary"], chosen: Mapping[str, Ink], make: Any) -> Any:
    lines = forest_lines(summaries, chosen)
    colours = {ink.css_class: ink.light for ink in chosen.values()}
    figure = make(figsize=(6.4, 0.6 + 0.17 * len(lines)), layout="constrained")
    panel = figure.subplots()
    low, high = axis_range([line.speedup for line in lines if not isinstance(line, Heading) and line.speedup])
    for place, line in enumerate(lines):
        if isinstance(line, Heading) or line.speedup is None or line.speedup.ratio is None:
            continue
        speedup, colour = line.speedup, colours[line.ink]
        if speedup.low is not None or speedup.high is not None:
            panel.plot(
                [speedup.low or low, speedup.high or high], [place, place], color=colour, linewidth=1.3
            )
        marker = ">" if speedup.at_least else "<" if speedup.at_most else "s"
        panel.plot([speedup.ratio], [place], marker, color=colour, markersize=4)
    panel.axvline(1, color="0.2", linewidth=0.8)
    panel.set(xscale="log", xlim=(low, high), ylim=(len(lines), -1), xlabel="speedup over full attention")
    ticks = Logarithmic(low, high, 0, 1).ticks()
    panel.set_xticks(ticks, [f"{value:g}x" for value in ticks])
    panel.set_xticks([], minor=True)
    names = [shortened(line.text if isinstance(line, Heading) else f"   {line.label}", 40) for line in lines]
    panel.set_yticks(range(len(lines)), names)
    for label, line in zip(panel.get_yticklabels(), lines, strict=True):
        if isinstance(line, Heading):
            label.set_fontweight("bold")
            label.set_color(colours.get(line.css_class, "black"))
    panel.tick_params(axis="y", length=0)
    return figure


def _dashes(ink: Ink) -> Any:
    return (0, tuple(float(each) for each in ink.dash.split())) if ink.dash else "-"
