"""Help and reading records must not wait for torch."""

import subprocess
import sys

import pytest

from semfocus.runs import Store

WITHOUT_TORCH = [
    "import semfocus",
    "from semfocus.runs import open_store; open_store('.').records()",
    "from semfocus.analysis.summaries import analyse; from semfocus.analysis.tables import summary_rows; analyse([])",
    "from typer.testing import CliRunner; from semfocus.cli.app import app; "
    "assert CliRunner().invoke(app, ['--help']).exit_code == 0",
    "from typer.testing import CliRunner; from semfocus.cli.app import app; "
    "assert CliRunner().invoke(app, ['train', '--help']).exit_code == 0",
    "from typer.testing import CliRunner; from semfocus.cli.app import app; "
    "assert CliRunner().invoke(app, ['status', '--store', '.']).exit_code == 0",
    "import semfocus.studies",
]


@pytest.mark.parametrize("code", WITHOUT_TORCH)
def test_does_not_import_torch(code: str) -> None:
    check = f"{code}\nimport sys\nassert 'torch' not in sys.modules, 'torch was imported'"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_a_report_on_landscapes_does_not_import_torch(store: Store, tiny_spec) -> None:
    """Grids of losses are plain numbers; reading them must not load what computed them."""
    from semfocus.execution.executor import Conditions
    from semfocus.execution.measurement_parts import survey
    from semfocus.measurements.landscape.grids import Landscape as LandscapeOptions
    from semfocus.measurements.landscape.plan import plan_landscape
    from semfocus.measurements.landscape.surface import steepness
    from semfocus.training import run

    spec = tiny_spec()
    run(spec, store, device="cpu")
    planned = plan_landscape(store.directory(spec), LandscapeOptions(points=5), "cpu")
    survey(planned.places, Conditions("serial", device="cpu"))
    (record,) = store.records()
    assert steepness(record), "there is something to read"
    arguments = ["report", "--store", str(store.path)]
    test_does_not_import_torch(
        "from typer.testing import CliRunner; from semfocus.cli.app import app; "
        f"done = CliRunner().invoke(app, {arguments!r}); assert done.exit_code == 0, done.output"
    )


def test_the_public_names_are_there() -> None:
    import semfocus

    for name in semfocus.__all__:
        assert getattr(semfocus, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        semfocus.nonsense  # noqa: B018
