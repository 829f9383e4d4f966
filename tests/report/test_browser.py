"""The page in a real browser: its script runs to the end, pointing at a curve says what it is, nothing overflows."""

import base64
import hashlib
import html
import json
import math
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from semfocus.report import write_report
from semfocus.report.pages.landscape_page import write_landscape_page
from semfocus.report.pages.probe_page import write_probe_page
from semfocus.report.pages.trial_page import write_trial_page
from tests.report.made_up import PAPER_SEEDS, record_of, spec_of, study
from tests.report.test_landscape_page import made_up
from tests.report.test_probe_page import probed
from tests.trial.test_trial import made_up as trial_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH"),
]

#: what a reader does: point at a curve, click two names of the legend, press the theme button; what happened
#: goes into attributes
PROBE = """
const root = document.documentElement;
const seen = (box) => [...box.querySelectorAll(".mark-line path")].filter((mark) => +(mark.getAttribute("opacity") ?? 1) > 0.3).length;
const waited = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const probe = async () => {
  while (root.dataset.ready !== "yes") await waited(20);
  const box = document.querySelector(POINTED);
  box.scrollIntoView();
  const svg = box.querySelector("svg"), area = svg.getBoundingClientRect();
  for (const share of [0.3, 0.4, 0.5, 0.6, 0.7]) {
    for (const height of [0.3, 0.5, 0.7]) {
      const at = {clientX: area.left + area.width * share, clientY: area.top + area.height * height, bubbles: true};
      (document.elementFromPoint(at.clientX, at.clientY) || svg).dispatchEvent(new PointerEvent("pointermove", at));
      (document.elementFromPoint(at.clientX, at.clientY) || svg).dispatchEvent(new PointerEvent("pointerover", at));
      await waited(30);
      const tip = document.querySelector("#vg-tooltip-element.visible");
      if (tip && !root.dataset.said) root.dataset.said = tip.innerText.replaceAll("\\n", " ").replaceAll("\\t", " ");
    }
  }
  const scope = box.closest(".comparison");
  const keys = scope ? [...scope.querySelectorAll(".key")] : [];
  const pressed = () => keys.map((key) => key.getAttribute("aria-pressed")).join(" ");
  root.dataset.pressed = pressed();
  root.dataset.seen = String(seen(box));
  for (const place of keys.length ? [0, 1, 1] : []) {
    keys[place].click();
    await waited(60);
    root.dataset.pressed += ", " + pressed();
    root.dataset.seen += " " + seen(box);
  }
  const inked = box.querySelector(".role-axis-label text");
  const colours = [getComputedStyle(inked).fill];
  document.getElementById("theme").click();
  colours.push(getComputedStyle(inked).fill);
  root.dataset.colours = colours.join(";");
  root.dataset.overflow = String(root.scrollWidth - root.clientWidth);
  root.dataset.drawn = [...document.querySelectorAll(".chart")].filter((each) => each.clientWidth).map((each) => each.dataset.drawn).join(" ");
  const wide = [...document.querySelectorAll("table.arms")].filter((table) => {
    const around = table.parentElement;
    return table.getBoundingClientRect().width > around.getBoundingClientRect().width + 1;
  });
  const spilled = [...document.querySelectorAll("table.arms td")].filter((cell) => cell.scrollWidth > cell.clientWidth + 1);
  root.dataset.spilled = spilled.map((cell) => cell.textContent).join("; ");
  root.dataset.wide = String(wide.length);
  root.dataset.probed = "yes";
};
probe().catch((error) => { root.dataset.error = String(error); });
"""

WIDE = pytest.param(1280, marks=pytest.mark.slow)  # what fits a phone is the harder case


def opened(page: Path, width: int, folder: Path, pointed: str = ".comparison .panels .chart") -> str:
    """The document after its script and the probe have run, under its own policy with the probe's digest
    beside the others.
    """
    script = PROBE.replace("POINTED", json.dumps(pointed))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text = page.read_text(encoding="utf-8").replace("script-src ", f"script-src 'sha256-{digest}' ", 1)
    probed = folder / f"probed-{width}.html"
    whole, end = text[: text.rindex("</body>")], text[text.rindex("</body>") :]
    probed.write_text(f"{whole}<script>{script}</script>{end}", encoding="utf-8")
    document = dump(probed, width)
    assert attribute(document, "error") is None
    assert attribute(document, "blocked") is None
    assert attribute(document, "probed") == "yes"
    return document


def dump(page: Path, width: int = 1280) -> str:
    return chromium(page, f"--window-size={width},900", "--dump-dom")


def chromium(page: Path, *options: str) -> str:
    assert CHROMIUM is not None
    profile = page.parent / f"profile-{page.stem}"
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=30000"]
    done = subprocess.run(
        [*command, f"--user-data-dir={profile}", *options, page.as_uri()],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    return done.stdout


def attribute(document: str, name: str) -> str | None:
    found = re.search(rf'<html[^>]* data-{name}="([^"]*)"', document)
    return found and found[1]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(study(tasks=2, seeds=3), tmp_path_factory.mktemp("page") / "report.html")


def test_every_chart_is_drawn_under_the_strict_policy(page: Path) -> None:
    document = dump(page)
    assert attribute(document, "ready") == "yes"
    assert attribute(document, "error") is None
    assert attribute(document, "blocked") is None, "Vega needs neither eval nor the network"
    assert document.count('data-drawn="yes"') == document.count('data-chart="') == 1 + 2 * 3


@pytest.mark.parametrize("width", [WIDE, 390])
def test_pointing_names_seed_epoch_and_value_and_a_click_isolates_an_arm(
    page: Path, width: int, tmp_path: Path
) -> None:
    document = opened(page, width, tmp_path)
    said = attribute(document, "said") or ""
    for word in ("attention", "seed", "epoch", "value"):
        assert word in said, said
    none, first, second, again = (attribute(document, "pressed") or "").split(", ")
    assert none == again == " ".join(["false"] * 7)
    assert first.split().index("true") == 0
    assert second.split().index("true") == 1
    assert second.split().count("true") == 1
    everything, one, other, back = map(int, (attribute(document, "seen") or "").split())
    assert everything == back == 7 * (1 + 3), "medians and seeds of seven arms"
    assert one == other == 1 + 3
    before, after = (attribute(document, "colours") or "").split(";")
    assert before != after, "charts follow the theme"
    assert set((attribute(document, "drawn") or "").split()) == {"yes"}
    assert attribute(document, "overflow") == "0"


PAGES: dict[str, tuple[Callable[[Path], Path], str, str]] = {
    "probe": (lambda path: write_probe_page(probed(), path), "#along .chart", "epoch"),
    "landscape": (
        lambda path: write_landscape_page([made_up("full"), made_up("top_k(5)")], path),
        "#cuts .chart",
        "value",
    ),
    "trial": (
        lambda path: write_trial_page(trial_of([4.0, 2.0, 1.0, 1.0, 1.0], None), path),
        "#curves .chart",
        "step",
    ),
}


@pytest.mark.parametrize("kind", PAGES)
@pytest.mark.parametrize("width", [WIDE, 390])
def test_the_other_pages_answer_a_pointer_too(kind: str, width: int, tmp_path: Path) -> None:
    write, pointed, word = PAGES[kind]
    document = opened(write(tmp_path / "page.html"), width, tmp_path, pointed)
    assert word in (attribute(document, "said") or "")
    everything, one, *_ = map(int, (attribute(document, "seen") or "").split())
    assert 0 < one < everything
    assert set((attribute(document, "drawn") or "").split()) == {"yes"}
    assert attribute(document, "overflow") == "0"


@pytest.mark.parametrize("width", [WIDE, pytest.param(1120, marks=pytest.mark.slow), 390])
def test_long_intervals_fit_their_table_and_their_card(width: int, tmp_path: Path) -> None:
    """Three seeds that disagree, and runs that were not there at the end: the longest texts that cells can hold."""
    middles = {
        "full": (90, 12, 40),
        "top_k(5)": (3, 95, 2),
        "banded(5)+G1": (math.inf, 60, 70),
        "block_local(5)": (95, math.inf, 80),
    }
    records = [
        record_of(spec_of("even_pairs", pattern, PAPER_SEEDS[place]), middle=middle)
        for pattern, both in middles.items()
        for place, middle in enumerate(both)
    ]
    page = write_report(records, tmp_path / "report.html")
    assert "under 0.01, 1000+" in page.read_text(encoding="utf-8").replace("\u00a0", " ")
    document = opened(page, width, tmp_path)
    assert attribute(document, "overflow") == "0"
    assert attribute(document, "wide") == "0"


@pytest.mark.parametrize("width", [WIDE, 390])
def test_long_names_of_files_fit_the_page_of_probes(width: int, tmp_path: Path) -> None:
    name = "text:/home/me/everything_that_i_ever_wrote.txt"  # as long as nothing is left out
    document = opened(write_probe_page(probed(name), tmp_path / "probes.html"), width, tmp_path)
    assert attribute(document, "overflow") == "0"
    assert attribute(document, "wide") == "0"
    assert attribute(document, "spilled") == ""


def test_a_broken_script_would_be_noticed(page: Path, tmp_path: Path) -> None:
    """The guard of the first test, tried with the bug it is there for."""
    broken = tmp_path / "broken.html"
    text = page.read_text(encoding="utf-8")
    broken.write_text(text.replace('getElementById("theme")', 'getElementById("nothing")'), encoding="utf-8")
    assert attribute(dump(broken), "ready") is None, "another script has another digest"


def test_a_need_for_eval_would_be_noticed(page: Path, tmp_path: Path) -> None:
    """Without the interpreter of expressions Vega makes functions of texts, which the policy forbids."""
    text = page.read_text(encoding="utf-8")
    script = next(
        each for each in re.findall(r"<script>(.*?)</script>", text, re.DOTALL) if "vegaEmbed(box" in each
    )
    digests = [
        base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()
        for each in (script, script.replace("ast: true", "ast: false"))
    ]
    compiled = tmp_path / "compiled.html"
    compiled.write_text(text.replace("ast: true", "ast: false").replace(*digests), encoding="utf-8")
    assert attribute(dump(compiled), "blocked") == "script-src"


#: Chromium with scripting off takes no orders from its command line either. A frame that may not run scripts
#: shows the same page.
MEASURE = """
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {
  const root = frame.contentDocument.documentElement, all = (what) => [...root.querySelectorAll(what)];
  const high = (each) => each.getBoundingClientRect().height;
  const figures = all(".static").filter((each) => !each.closest("details:not([open])"));
  const found = {
    answer: all("#answer :is(p, td)").filter(high).map((each) => each.innerText.length).reduce((one, other) => one + other, 0),
    rows: all("tbody tr").filter(high).length,
    figures: figures.map((each) => ({high: high(each.querySelector("svg")), marks: each.querySelectorAll("path").length})),
    boxes: all(".chart").filter(high).length,
    bare: all("section:has(.chart)").filter((each) => !figures.some((one) => each.contains(one))).length,
    wide: root.scrollWidth - root.clientWidth,
    letters: Math.min(...figures.flatMap((each) => [...each.querySelectorAll("text")]).map(high).filter((each) => each)),
  };
  document.documentElement.dataset.measured = encodeURIComponent(JSON.stringify(found));
});
"""


def without_scripts(page: Path, width: int) -> dict[str, Any]:
    """What a reader has before their eyes whose browser runs no scripts."""
    outer = page.with_name(f"without-scripts-{width}.html")
    frame = f'sandbox="allow-same-origin" style="border:0;width:{width}px;height:900px"'
    inner = html.escape(page.read_text(encoding="utf-8"))
    outer.write_text(
        f'<!doctype html><html><iframe {frame} srcdoc="{inner}"></iframe><script>{MEASURE}</script></html>',
        encoding="utf-8",
    )
    measured = attribute(dump(outer), "measured")
    assert measured is not None
    return dict(json.loads(unquote(measured)))


SCRIPTLESS = [
    "study",
    *(pytest.param(each, marks=pytest.mark.slow) for each in ("trial", "probe", "landscape")),
]


@pytest.mark.parametrize("kind", SCRIPTLESS)
@pytest.mark.parametrize("width", [WIDE, 390])
def test_without_scripts_answer_table_and_figures_are_there(
    kind: str, width: int, page: Path, tmp_path: Path
) -> None:
    written = page if kind == "study" else PAGES[kind][0](tmp_path / "page.html")
    found = without_scripts(written, width)
    assert found["answer"] > 20 or kind == "landscape", "its answer is figures"
    assert found["rows"] >= 2
    assert found["figures"]
    for figure in found["figures"]:
        assert figure["high"] > 30
        assert figure["marks"] > 3
    assert found["bare"] == 0, "every section that has charts has a static one"
    assert found["boxes"] == 0, "no empty room for charts that nobody draws"
    assert found["wide"] <= 0
    assert found["letters"] > 9, "a static figure is scrolled, not shrunk until nobody can read it"


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="no pdftotext on the PATH (poppler-utils)")
@pytest.mark.slow
def test_a_printed_page_has_its_figures_whole(page: Path, tmp_path: Path) -> None:
    """The ticks of its curves, line by line: those of a figure that is cut or covered by another are missing
    or mixed.
    """
    printed = tmp_path / "page.pdf"
    chromium(page, "--no-pdf-header-footer", f"--print-to-pdf={printed}")
    command = ["pdftotext", "-bbox", str(printed), "-"]
    text = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    ticks = ["20", "40", "60", "80", "100"]
    lines: dict[tuple[int, str], list[tuple[float, str]]] = {}
    for number, sheet in enumerate(text.split("<page ")):
        for left, top, word in re.findall(r'<word xMin="([\d.]+)" yMin="([\d.]+)" [^>]*>(\w+)</word>', sheet):
            if word in ticks:
                lines.setdefault((number, top), []).append((float(left), word))
    drawn = [[word for _, word in sorted(line)] for line in lines.values() if len(line) >= len(ticks) - 1]
    assert sum(len(line) // len(ticks) for line in drawn) == 2 * 3, "training, held-out, seeds on their way"
    assert all(line == ticks * (len(line) // len(ticks)) for line in drawn), drawn
    assert text.count(">0.5x<") == 1, "and the speedups"
