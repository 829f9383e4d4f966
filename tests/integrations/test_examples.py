"""The scripts that the how-to pages show run, and the code in the pages does too."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {
    "pytorch": "pytorch_model",
    "hugging_face": "hugging_face_model",
    "trial": "trial_of_my_model",
    "language_models": "language_model",
}


def needs(name):
    if name == "hugging_face":
        pytest.importorskip(
            "transformers", reason="transformers is not installed: pip install 'semfocus[hf]'"
        )


NAMES = [
    "pytorch",
    pytest.param("trial", marks=pytest.mark.slow),
    pytest.param("language_models", marks=pytest.mark.slow),
    pytest.param("hugging_face", marks=pytest.mark.hf),
]


@pytest.mark.parametrize("name", NAMES)
def test_the_script_runs_and_prints_what_the_page_shows(name):
    needs(name)
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    _, mentioned, after = page.partition(f"examples/{PAGES[name]}.py")
    assert mentioned
    result = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{PAGES[name]}.py")],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert result.returncode == 0, result.stderr
    shown = re.search(r"```text\n(.*?)```", after, re.DOTALL).group(1)
    assert comparable(name, result.stdout) == comparable(name, shown)


def comparable(name, text):
    """Numbers with a decimal point, and generated tokens, may differ between machines; so may the words of a
    verdict.
    """
    lines = re.sub(r"\d+\.\d+|\[[\d, ]+\]", "#", text).strip().splitlines()
    if name == "trial":
        tables = [line for line in lines if not line.endswith(".")]
        assert len(tables) == 4  # the data, and a line for each arm
        verdicts = " ".join(line.lower() for line in lines if line.endswith("."))
        assert all(arm in verdicts for arm in ("top_k(3)", "sharper full attention"))
        return tables
    return lines


@pytest.mark.parametrize("name", NAMES)
def test_the_code_of_the_page_runs(name):
    needs(name)
    blocks = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8"), re.DOTALL
    )
    assert blocks
    exec("\n".join(blocks), {"__name__": "page"})
