"""The tables of `semfocus probe` in a log."""

import pytest

from semfocus.cli.probe_table import cell_text, print_tables
from semfocus.report.probed_runs import ProbedRun
from tests.analysis.why.planted import record, row


def test_no_number_is_cut_where_no_terminal_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    patterns = [f"top_k({k})" for k in range(1, 9)]
    quantiles = {q: 0.0027123 * (int(q) + 1) for q in ("0", "5", "10", "25", "50", "75", "90", "95", "100")}
    rows = [row("dispersion", quantiles, layer=0, head=0, null=0.123)]
    rows += [each | {"pattern": pattern, "counterfactual": True} for pattern in patterns for each in rows[:1]]
    print_tables([ProbedRun(record("parity", "full", 1, 10), 5, rows)])
    output = capsys.readouterr().out
    assert output.count(cell_text(rows[0])) == 1 + len(patterns)
    assert "…" not in output
    for pattern in patterns:
        assert pattern in output
