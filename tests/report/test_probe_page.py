"""The page of probes: every number has its place, nothing a user names becomes markup."""

from typing import Any

import pytest

from semfocus.probes.names import Quantity
from semfocus.report.along_view import _over_epochs, along_lines, along_sentences
from semfocus.report.figures import FIGURES
from semfocus.report.figures.attention_map import map_frame
from semfocus.report.figures.layers import layer_frame
from semfocus.report.pages.probe_page import probe_page, series_groups, write_probe_page
from semfocus.report.palette import inks
from semfocus.report.probed_runs import Probed, ProbedRun, run_labels, slots_of
from tests.report.made_up import record_of, spec_of
from tests.report.pages import Page, charts_of, numbers
from tests.report.test_hostile import SOME_HOSTILE

PERCENTS = ("0", "5", "10", "25", "50", "75", "90", "95", "100")


def row(
    quantity: str = "dispersion", layer: int | None = 0, middle: float | None = 2.0, **more: Any
) -> dict[str, Any]:
    spread = dict(zip(PERCENTS, (0.1, 0.2, 0.3, 0.5, 1, 2, 3, 4, 9), strict=True))
    values = {each: None if middle is None else middle * factor for each, factor in spread.items()}
    return {
        **{"quantity": quantity, "layer": layer, "head": None if layer is None else 0, "pattern": "full"},
        **{"counterfactual": False, "num": 10, "num_infinite": 0, "num_missing": 0, "null": 1.5},
        **{"mean": middle, "quantiles": values, "epoch": 20, "data": "held_out", "samples": 64, **more},
    }


def maps_of(symbol: str = "0") -> dict[str, Any]:
    half = [[0.5, 0.5], [1.0, 0.0]]
    one = {"layer": 0, "head": 0, "weights": half, "kept": [[1, 1], [1, 0]]}
    return {
        **{
            "data": "held_out",
            "sequence": 0,
            "symbols": [symbol, "1"],
            "relevant": [True, False],
            "label": symbol,
        },
        **{"predicted": "1", "block": 1, "num_heads": 1, "left_out": 0, "maps": [one]},
    }


def probed(name: str = "harmless", pattern: str = "top_k(5)") -> Probed:
    runs = []
    for each, middle in (("full", 30), (pattern, 10)):
        record = record_of(spec_of(name, each, 1, training__length=16), middle=middle)
        rows = [
            row(layer=layer, middle=layer + 1.0, data=data)
            for layer in (0, 1)
            for data in ("held_out", "train")
        ]
        rows += [row(pattern=pattern, counterfactual=True), row("own_" + name, pattern=name)]
        rows.append(row("separation", middle=None, problems=[name]))
        along = [row(layer=layer, epoch=epoch) for layer in (0, 1) for epoch in (0, 10, 20)]
        runs.append(ProbedRun(record, 20, rows, along, maps_of(name)))
    return Probed(runs, {"dispersion": Quantity("dispersion", name, "query", name)}, f"semfocus probe {name}")


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(probe_page(probed()))


def test_the_page_is_whole_and_asks_its_questions(page: Page) -> None:
    assert page.problems == []
    for text in (
        "What happens inside these models?",
        "How far apart are the scores",
        "Where does each query look?",
        "full as top_k(5)",
        "What comes first",
        "held-out sequence 0, label harmless, answer 1 (wrong)",
        "layer 1: top_k(5)",
    ):
        assert text in page.text, text
    assert "How clear is the cut" not in page.text, "a quantity without any value has no figure"
    charts = charts_of(probe_page(probed()))
    assert sum("weight" in chart.rows[0] for chart in charts) == 2
    assert sum("member" in chart.rows[0] for chart in charts) == 3
    assert sum("mean" in chart.rows[0] for chart in charts) == 3, (
        "dispersion on both parts of the data, and the quantity of unknown name"
    )


@pytest.mark.parametrize("text", SOME_HOSTILE)
def test_nothing_a_user_names_becomes_markup(page: Page, text: str) -> None:
    hostile = Page(probe_page(probed(text)))
    assert hostile.problems == []
    assert hostile.tags == page.tags
    assert Page(probe_page(probed(pattern=f"my{text}"), title=text)).problems == []


def test_it_needs_nothing_but_itself(tmp_path) -> None:
    text = write_probe_page(probed(), tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    found = Page(text)
    assert not [
        value for _, name, value in found.values if name in ("src", "href") and not value.startswith("#")
    ]
    assert "default-src 'none'" in text


def test_a_page_of_rows_alone() -> None:
    whole = probed()
    bare = Probed([ProbedRun(each.record, each.epoch, each.rows) for each in whole.runs])
    found = Page(probe_page(bare))
    assert found.problems == []
    assert "Where does each query look" not in found.text
    assert "What comes first" not in found.text


def test_runs_are_named_by_what_tells_them_apart() -> None:
    def named(*changes: dict[str, Any]) -> list[str]:
        base = {"task": "parity", "pattern": "full", "seed": 1, "epoch": 3}
        runs = []
        for each in changes:
            values = base | each
            record = record_of(spec_of(values["task"], values["pattern"], values["seed"]), middle=10)
            runs.append(ProbedRun(record, values["epoch"], []))
        return list(run_labels(runs))

    assert named({}, {"pattern": "top_k(5)"}) == ["full", "top_k(5)"]
    assert named({}, {"seed": 2}) == ["full, seed 1", "full, seed 2"]
    assert named({}, {"epoch": 0}) == ["full, epoch 3", "full, epoch 0"]
    assert named({}, {}) == ["full (1)", "full (2)"]


def test_the_hue_of_a_pattern_on_other_scores_is_that_of_its_group() -> None:
    runs = probed().runs
    groups = series_groups(run_labels(runs), runs)
    assert groups["full as top_k(5)"] == groups["top_k(5)"] == "input-dependent"


def test_layers_stand_before_all_layers_together() -> None:
    rows = [row(layer=None, middle=9.0), row(layer=1), row(layer=0)]
    assert list(slots_of(rows)) == [(0, 0), (1, 0)]
    assert list(slots_of(rows[:1])) == [(None, None)]


def test_a_figure_says_what_was_left_out() -> None:
    (found,) = layer_frame({"full": [row(num_infinite=3, num_missing=2)]}).to_dicts()
    assert found["words"] == "3 infinite and 2 missing"
    assert (found["mean"], found["null"], found["q50"], found["q25"], found["q75"]) == (2, 1.5, 2, 1, 4)
    assert len(layer_frame({"full": [row(middle=None)]})) == 0


def test_a_map_by_hand() -> None:
    maps = maps_of("a")
    found = map_frame("full", maps["maps"][0], maps)
    cells = {
        (each["query"], each["key"]): (each["weight"], each["kept"], each["relevant"])
        for each in found.to_dicts()
    }
    assert cells == {
        (0, 0): (0.5, True, True),
        (0, 1): (0.5, True, False),
        (1, 0): (1.0, True, True),
        (1, 1): (0.0, False, False),
    }, "the diagonal is always there: it names the positions"


def looks(*epochs: int, focus: float = 0.1) -> Probed:
    """A run that was at chance until epoch 20, and at 100 % from epoch 24 on."""
    accuracies = [0.5] * 20 + [0.6, 0.8, 0.8, 0.9] + [1.0] * 7
    record = {
        **record_of(spec_of("parity", "full", 1), middle=10),
        "curve": {
            "epoch": list(range(31)),
            "train_accuracy": accuracies,
            "held_out_accuracy": accuracies,
        },
    }
    along = [
        row("focus_mass", layer, data="held_out", epoch=epoch, null=0.1)
        | {"mean": focus if layer and epoch else 0.1}
        for epoch in epochs
        for layer in (0, 1)
    ]
    return Probed([ProbedRun(record, 30, [], along)])


def test_looks_that_miss_the_moment_say_so() -> None:
    (far,) = along_sentences(looks(0, 15, 30), ["full"], "held_out", 0.95)
    assert numbers(far)[:3] == [21, 95, 24], "half-way, and at the target"
    assert "no look" in far
    (near,) = along_sentences(looks(0, 15, 22, 30, focus=0.35), ["full"], "held_out", 0.95)
    assert numbers(near)[:3] == [21, 95, 24]
    assert "no look" not in near
    assert numbers(near)[-4:-1] == [2, 3.5, 15], "layer, times as much as chance, epoch"
    (never,) = along_sentences(looks(0, 30), ["full"], "held_out", 1.5)
    assert 150 in numbers(never)


def test_lines_along_training_have_noise_and_the_moment() -> None:
    lines = along_lines(looks(0, 15, 30), ["full"], "held_out", 0.95)
    accuracy, held_out, focus = FIGURES["along"].of(lines, inks=inks({"full": "baseline"})).panels
    assert (accuracy.title, held_out.title) == ("Training accuracy", "Held-out accuracy")
    assert focus.title.startswith("Attention on the tokens that decide")
    for panel in (accuracy, held_out, focus):
        assert panel.rows["moment"].drop_nulls().to_list() == [24.0]
    assert focus.rows["null"].drop_nulls().to_list() == [0.1] * 3
    assert set(focus.rows["member"].drop_nulls()) == {"1.1", "2.1"}, "layers and heads"


def test_of_two_layers_the_band_goes_from_one_to_the_other() -> None:
    _, found = _over_epochs(looks(0, 15, focus=0.3).runs[0].along, "mean")
    assert (found.lower, found.upper) == ([0.1, 0.1], [0.1, 0.3])
    assert found.median[1] == pytest.approx(0.2)


def test_a_name_is_not_a_question(page: Page) -> None:
    assert "own harmless" in page.text
    assert "own harmless?" not in page.text
