"""Help and reading records must not wait for torch."""

import subprocess
import sys

import pytest

WITHOUT_TORCH = [
    "import semfocus",
    "from semfocus.runs import open_store; open_store('.').records()",
    "from semfocus.studies.analysis import analyse; from semfocus.studies.tables import summary_rows; analyse([])",
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


def test_the_public_names_are_there() -> None:
    import semfocus

    for name in semfocus.__all__:
        assert getattr(semfocus, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        semfocus.nonsense  # noqa: B018
