"""Whether the studies that open claims name would decide them."""

import pytest

from semfocus.analysis.claims import CLAIMS, Claim
from semfocus.analysis.claims.claim import PAPER_SIZE, SCALED_DOWN
from semfocus.analysis.claims.convergence import TIMES
from semfocus.analysis.summaries import analyse
from semfocus.cli.claims import _runs_of
from semfocus.runs import RunSpec
from semfocus.runs.arms import arm_of
from semfocus.runs.paper_settings import PAPER_SEEDS, PAPER_TASKS
from semfocus.runs.record import Record
from tests.analysis.why.planted import EPOCHS, both
from tests.analysis.why.planted import record as planted

ALL_TASKS = (*PAPER_TASKS, "marked_pair")


def world(spec: RunSpec) -> Record:
    """A run of a world in which speed follows dispersion, and every arm has its place."""
    plain, place = spec.model_dump(mode="json"), ALL_TASKS.index(spec.task)
    label, seed = arm_of(plain).label, 0.01 * PAPER_SEEDS.index(spec.seed)
    speed = {"full": 1.0, "top_k(5)": 4.0 - 0.15 * place, "top_k(15)": 1.0, "top_k(39)": 1.0}.get(label, 2.0)
    rows = [
        *both("dispersion", 10.0 if label == "full" else 20.0 if TIMES in label else 2.0 + 0.3 * place),
        *both("effective_keys", 16 / speed),
        *both("mask_agreement_0.01", 1.0),
        *(
            each
            for fixed in ("banded(5)", "block_local(5)")
            for each in both("dispersion_ratio", 0.6, pattern=fixed, counterfactual=True, null=0.6)
        ),
    ]
    found = planted(spec.task, spec.pattern, spec.seed, 80 / (speed * (1 + seed)))
    steepness = {"epoch": EPOCHS, "grid": "5 x 5", "steepness": 1 / speed, "grids": 1}
    return Record(
        {**found, "run": spec.digest, "spec": plain},
        measurements={"inside": rows, "landscape": [steepness]},
    )


@pytest.mark.parametrize("name", [claim.name for claim in CLAIMS])
def test_the_studies_that_a_claim_names_would_decide_it(name: str) -> None:
    """With outcomes as clear as can be: a study with too few tasks, seeds or values would leave it open."""
    (claim,) = (each for each in CLAIMS if each.name == name)
    for command, size in ((claim.small_recipe, SCALED_DOWN), (claim.recipe, PAPER_SIZE)):
        specs, _ = _runs_of(command)
        judged = claim.judge(analyse([world(spec) for spec in specs]))
        assert judged.verdict != "undecided", command
        assert judged.size == size, command


@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim.contrast], ids=lambda claim: claim.name)
def test_the_study_of_a_claim_has_both_sides_of_its_contrast(claim: Claim) -> None:
    specs, _ = _runs_of(claim.recipe)
    arms = {arm_of(spec.model_dump(mode="json")) for spec in specs}
    there = {arm.label for arm in arms} | {arm.group for arm in arms}
    there |= {f"{arm.group}+G1" for arm in arms if arm.label.endswith("+G1")}
    assert claim.contrast is not None
    assert {*claim.contrast} <= there
