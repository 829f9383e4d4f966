"""A full or read-only disk: a clear error, the old state intact, and the same call continues later."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from semfocus.runs import study_digest
from semfocus.studies import run_study
from tests.execution.minis import mini_study

# Runs in a mount namespace of its own, so that the small disk is seen by nobody else.
PROGRAM = """
import json, os, subprocess, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.execution.minis import mini_study
from semfocus.runs import open_store, study_digest
from semfocus.studies import run_study

disk, executor = Path(sys.argv[1]), sys.argv[2]
store, specs, found = open_store(disk / "runs"), mini_study(4), dict()

def mount(*options):
    # "ignore": else the owner is read from the list of mounts, whose number has no meaning inside
    subprocess.run(["mount", "--options-mode", "ignore", *options, disk], check=True)

def attempt(name):
    try:
        found[name] = study_digest(run_study(specs, store, executor=executor, workers=1))
    except OSError as error:
        found[name] = [error.errno, str(error)]
    found[name + " states"] = sorted(record["state"] for record in store.records())

# in pages, which are what files take: enough for one run and a bit, on whatever size of page
mount("-t", "tmpfs", "-o", f"size={{25 * os.sysconf('SC_PAGE_SIZE')}}", "none")
attempt("full")
ended = dict((path, path.read_bytes()) for path in store.path.glob("*/record.json"))
mount("-o", "remount,ro")
attempt("read-only")
mount("-o", "remount,rw,size=100m")
attempt("mended")
found["kept"] = len(ended)
found["intact"] = all(path.read_bytes() == content for path, content in ended.items())
print(json.dumps(found))
"""


def in_a_namespace(*command: str) -> list[str]:
    return ["unshare", "-Urm", *command]


@pytest.mark.parametrize("executor", ["serial", pytest.param("pool", marks=pytest.mark.slow)])
def test_disk_full_then_read_only_then_mended(tmp_path: Path, executor: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        mounts = 'mount -t tmpfs none "$0" && mount --options-mode ignore -o remount,ro "$0"'
        command = in_a_namespace("sh", "-c", mounts, str(disk))
        allowed = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        allowed = False
    if not allowed:
        pytest.skip("this system does not let its users mount in a namespace of their own (unshare -Urm)")
    program = PROGRAM.format(root=str(Path(__file__).parents[2]))
    done = subprocess.run(
        in_a_namespace(sys.executable, "-c", program, str(disk), executor), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["full"][0] == 28
    assert "No space left on device" in found["full"][1]
    assert found["read-only"][0] == 30
    assert "Read-only file system" in found["read-only"][1]
    assert "done" in found["full states"]
    assert len(found["full states"]) < 4, "the study stopped at the first run that met the full disk"
    assert found["read-only states"] == found["full states"]
    assert found["kept"] >= 1
    assert found["intact"]
    assert found["mended"] == study_digest(run_study(mini_study(4), tmp_path / "whole", executor="serial"))
