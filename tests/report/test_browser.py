"""The page in a real browser: its script runs to the end, pointing at a curve says what it is, nothing overflows."""

import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from semfocus.report import write_report
from semfocus.report.probe_page import write_probe_page
from tests.report.made_up import PAPER_SEEDS, record_of, spec_of, study
from tests.report.test_probe_page import probed

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH"),
]

#: what a reader does: point at the first panel, then press the theme button; what happened goes into attributes
PROBE = """
const root = document.documentElement;
const panel = document.querySelector(".panel");
panel.scrollIntoView();
const box = panel.getBoundingClientRect();
panel.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + box.width * 0.5, clientY: box.top + box.height * 0.4}));
root.dataset.said = document.getElementById("tip").textContent;
root.dataset.seeds = String(document.querySelectorAll(".panel .arm.on .seed").length);
panel.dispatchEvent(new PointerEvent("pointerleave"));
const keys = [...document.querySelector(".comparison").querySelectorAll(".key")];
const pressed = () => keys.map((key) => key.getAttribute("aria-pressed")).join(" ");
root.dataset.pressed = pressed();
for (const place of [1, 2, 2]) { keys[place].click(); root.dataset.pressed += ", " + pressed(); }
document.getElementById("theme").click();
root.dataset.overflow = String(root.scrollWidth - root.clientWidth);
const clipped = [...document.querySelectorAll("svg.panel text, svg.forest text")].filter((text) => {
  const own = text.getBoundingClientRect(), all = text.ownerSVGElement.getBoundingClientRect();
  return own.width && (own.left < all.left - 1 || own.right > all.right + 1);
});
const wide = [...document.querySelectorAll("table.arms")].filter((table) => {
  const around = table.parentElement;
  return table.getBoundingClientRect().width > around.getBoundingClientRect().width + 1;
});
const spilled = [...document.querySelectorAll("table.arms td")].filter((cell) => cell.scrollWidth > cell.clientWidth + 1);
root.dataset.spilled = spilled.map((cell) => cell.textContent).join("; ");
root.dataset.wide = String(wide.length);
root.dataset.clipped = clipped.map((text) => text.textContent).join("; ");
"""


def opened(page: Path, width: int, folder: Path) -> str:
    """The document after its script, and the probe, have run; a copy without the policy that forbids other scripts."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text, count=1)
    probed = folder / f"probed-{width}.html"
    probed.write_text(text.replace("</body>", f"<script>{PROBE}</script></body>"), encoding="utf-8")
    return dump(probed, width)


def dump(page: Path, width: int = 1280) -> str:
    assert CHROMIUM is not None
    profile = page.parent / f"profile-{page.stem}"
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900"]
    done = subprocess.run(
        [*command, f"--user-data-dir={profile}", "--dump-dom", page.as_uri()],
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


def test_the_script_runs_under_its_own_policy(page: Path) -> None:
    document = dump(page)
    assert attribute(document, "ready") == "yes"
    assert attribute(document, "error") is None


@pytest.mark.parametrize("width", [1280, 820, 390])
def test_pointing_says_what_is_there_and_nothing_overflows(page: Path, width: int, tmp_path: Path) -> None:
    document = opened(page, width, tmp_path)
    said = attribute(document, "said")
    assert said is not None
    assert said.startswith("epoch 4") or said.startswith("epoch 5") or said.startswith("epoch 6")
    assert "top_k(5)" in said
    assert "its seeds: " in said
    assert int(attribute(document, "seeds") or 0) >= 3
    none, first, second, again = (attribute(document, "pressed") or "").split(", ")
    assert none == again == " ".join(["false"] * 7)
    assert first.split().index("true") == 1
    assert second.split().index("true") == 2
    assert second.split().count("true") == 1
    assert attribute(document, "theme") in ("dark", "light")
    assert attribute(document, "overflow") == "0"
    assert attribute(document, "clipped") == ""
    assert attribute(document, "error") is None


@pytest.mark.parametrize("width", [1280, 1120, 390])
def test_long_intervals_fit_their_table_and_their_card(width: int, tmp_path: Path) -> None:
    """Two seeds that disagree, and runs that were not there at the end: the longest texts that cells can hold."""
    middles = {
        "full": (90, 12),
        "top_k(5)": (9, 95),
        "banded(5)+G1": (math.inf, 60),
        "block_local(5)": (95, math.inf),
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


@pytest.mark.parametrize("width", [1280, 390])
def test_long_names_of_files_fit_the_page_of_probes(width: int, tmp_path: Path) -> None:
    name = "text:/home/me/everything_that_i_ever_wrote.txt"  # as long as nothing is left out
    document = opened(write_probe_page(probed(name), tmp_path / "probes.html"), width, tmp_path)
    assert attribute(document, "overflow") == "0"
    assert attribute(document, "wide") == "0"
    assert attribute(document, "spilled") == ""


def test_a_broken_script_would_be_noticed(page: Path, tmp_path: Path) -> None:
    """The guard of the first test, tried with the bug it is there for."""
    broken = tmp_path / "broken.html"
    text = re.sub(
        r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text(encoding="utf-8"), count=1
    )
    broken.write_text(text.replace('getElementById("theme")', 'getElementById("nothing")'), encoding="utf-8")
    assert attribute(dump(broken), "ready") is None
