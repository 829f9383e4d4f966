"""On Ray as in this process. Run with: pytest -m ray tests/studies/landscape"""

import pytest

from semfocus.execution.executor import Conditions
from semfocus.execution.measurement_parts import survey
from semfocus.measurements import Landscape
from semfocus.measurements.landscape.plan import plan_landscape
from semfocus.measurements.landscape.surface import read_landscape
from semfocus.runs import RunDirectory
from tests.measurements.landscape.test_survey import copy_of

pytestmark = [pytest.mark.ray, pytest.mark.slow]


def test_ray_gives_the_same_bits_as_this_process(trained: RunDirectory) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    options = Landscape(points=5, pairs=2, hessian=1)
    found = []
    for executor, place in (("serial", trained), ("ray", copy_of(trained, "other"))):
        planned = plan_landscape(place, options, "cpu")
        survey(planned.places, Conditions(executor, workers=2, device="cpu"))
        found.append(read_landscape(planned).as_plain())
    assert found[0] == found[1]
