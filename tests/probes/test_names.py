"""The words of the quantities stand in one place that needs no torch, and each quantity has its measure."""

import subprocess
import sys

from semfocus.probes import QUANTITIES, measures
from semfocus.probes.names import NAMES, QUESTIONS, TITLES, question_of, title_of


def test_words_do_not_wait_for_torch() -> None:
    code = "import semfocus.probes.names, sys; assert 'torch' not in sys.modules, 'torch was imported'"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_measure_has_a_name_and_every_quantity_of_a_trace_a_measure() -> None:
    assert measures._MEASURES.keys() <= NAMES.keys()
    without = {name for name, each in QUANTITIES.items() if each.measure is None}
    made_otherwise = {
        name
        for name, each in NAMES.items()
        if each.parts or each.per == "model" or each.needs == "embedding"  # of summaries, weights, two traces
    }
    assert without == made_otherwise


def test_questions_and_titles_are_about_quantities_that_exist() -> None:
    assert QUESTIONS.keys() | TITLES.keys() <= NAMES.keys()
    assert question_of("dispersion", "").asks.endswith("?")
    assert question_of("num_kept", "Keys.").reading == "Keys."
    assert title_of("num_kept") == "num kept"
