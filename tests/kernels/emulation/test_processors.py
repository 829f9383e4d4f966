"""The compiled kernels, as built, on this processor and on emulated ones; and what instructions they hold."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from semfocus.kernels.cpu.library import load_library
from tests.kernels.emulation import processors as room
from tests.kernels.emulation.processors import ARM, HASWELL, NEHALEM, SKYLAKE, Outcome, Workshop
from tests.kernels.emulation.vectors import pass_cases, write_cases

pytestmark = [
    pytest.mark.skipif(load_library() is None, reason="the kernels were not compiled (no C++ compiler)"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the self-test with"),
]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    return Workshop(tmp_path_factory.mktemp("emulation"))


def skip_without(processor):
    if missing := processor.missing():
        pytest.skip(f"no {missing} ({room.PACKAGES})")
    if processor is not ARM and not room.has_variants():
        pytest.skip("there are no kernels for AVX in this build")


def test_this_processor_passes_the_self_test(workshop):
    outcome = workshop.run(room.this_processor())
    assert outcome.problem() is None, outcome.printed


@pytest.mark.parametrize("processor", [NEHALEM, HASWELL], ids=lambda each: each.name)
def test_an_emulated_processor_passes_a_part_of_the_self_test(workshop, processor):
    skip_without(processor)
    outcome = workshop.run(processor, every=11)
    assert outcome.problem() is None, outcome.printed


@pytest.mark.slow
@pytest.mark.parametrize("processor", [NEHALEM, HASWELL, SKYLAKE, ARM], ids=lambda each: each.name)
def test_an_emulated_processor_passes_the_self_test(workshop, processor):
    skip_without(processor)
    outcome = workshop.run(processor)
    assert outcome.problem() is None, outcome.printed


def test_the_self_test_fails_on_a_wrong_number(workshop, tmp_path):
    case = next(each for each in pass_cases() if each.group == "relu")
    wrong = case.arrays | {"sum": case.arrays["sum"] + 1e-4}
    write_cases(tmp_path / "wrong.bin", [replace(case, arrays=wrong)])
    outcome = workshop.run(room.this_processor(), vectors=tmp_path / "wrong.bin")
    assert outcome.problem() == "exit code 1"
    assert re.search(r"^FAILED portable double: sum is off by .* in: case pass relu ", outcome.printed, re.M)


def test_a_wrong_choice_and_an_illegal_instruction_are_problems():
    printed = "instruction set: avx2\nchecks: 10, failed: 0, largest error: float 1e-07, double 2e-16\n"
    assert Outcome(HASWELL, 0, printed).problem() is None
    assert Outcome(HASWELL, 0, printed).row() == ("Haswell", "avx2", "10", "1e-07", "2e-16", "passed")
    assert Outcome(NEHALEM, 0, printed).problem() == "expected portable"
    assert Outcome(NEHALEM, 132, "").problem() == "illegal instruction"


def functions_of(library, objdump="objdump"):
    """Each function of a library, by its name: its instructions, one a line."""
    if shutil.which(objdump) is None:
        pytest.skip(f"no {objdump} (apt install binutils)")
    command = [objdump, "--disassemble", "--demangle", "--no-show-raw-insn", str(library)]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    parts = re.split(r"^[0-9a-f]+ <(.*)>:$", listing, flags=re.M)[1:]
    return [
        (name, re.findall(r"^ *[0-9a-f]+:\t(.*)$", body, re.M))
        for name, body in zip(parts[::2], parts[1::2], strict=True)
    ]


def test_no_instruction_beyond_what_was_chosen():
    """What the namespaces share (inline functions and templates of headers) exists once, and runs everywhere.

    A header included under a target pragma, or a pragma that is not taken back, would put AVX in there.
    """
    if not room.has_variants():
        pytest.skip("there are no kernels for AVX in this build")
    needs_avx, needs_avx512 = (
        re.compile(r"v[a-z]|.*%[yz]mm"),
        re.compile(r".*(%zmm|%k[0-7]|%[xy]mm(1[6-9]|[23]\d))"),
    )
    num_with_avx = {"avx2": 0, "avx512": 0, "shared": 0}
    for name, instructions in functions_of(load_library().path):
        owner = next((each for each in ("avx512", "avx2") if f"{each}::" in name), "shared")
        beyond = {"shared": needs_avx, "avx2": needs_avx512}.get(owner)
        assert not beyond or not list(filter(beyond.match, instructions)), name
        num_with_avx[owner] += any(map(needs_avx.match, instructions))
    assert min(num_with_avx["avx2"], num_with_avx["avx512"]) > 50  # they were looked at


@pytest.mark.slow
def test_the_portable_kernels_are_neon_on_aarch64(workshop):
    """Products, dot products, exponentials, the search for candidates and dropout: four floats an instruction."""
    skip_without(ARM)
    found = functions_of(workshop.kernels(ARM), "aarch64-linux-gnu-objdump")
    for function, instruction, least in (
        ("score_tile<float>", "fmla", 12),
        ("times_columns<float, false>", "fmla", 8),
        ("sum_rows<float>", "fmla", 4),
        ("forward_row<float>", "fmla", 1),
        ("finish_row<float>", "fmla", 7),
        ("forward_rows<float>", "fcmge", 1),
        ("relu_row<float>", "fmul", 1),
    ):
        bodies = [body for name, body in found if f"portable::{function}" in name]
        vectors = [line for body in bodies for line in body if re.match(rf"{instruction}\tv\d+\.4s", line)]
        assert len(vectors) >= least, (function, instruction)
