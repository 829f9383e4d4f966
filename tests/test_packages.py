"""One version everywhere, and packages that work when installed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from semfocus import __version__

PROJECT = Path(__file__).parents[1]


def test_citation_and_changelog_name_this_version() -> None:
    assert f"\nversion: {__version__}\n" in (PROJECT / "CITATION.cff").read_text(encoding="utf-8")
    newest = re.search(
        r"^## (\S+)( \(unreleased\))?$", (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert newest is not None
    release, _, development = __version__.partition(".dev")
    assert (newest[1], newest[2] is not None) == (release, development != "")


@pytest.mark.slow
def test_packages_install_and_run() -> None:
    """About 15 minutes: the same as `make packages`."""
    subprocess.run([sys.executable, ".ci/packages"], cwd=PROJECT, check=True)
