"""Which implementation serves a call."""

import pytest
import torch

from semfocus.mechanisms import TopK, attention, dispatch
from semfocus.mechanisms.dispatch import Implementation
from tests.mechanisms.cases import inputs


def marked(mark, refusal=None):
    """An implementation that answers with its mark."""
    return Implementation(run=lambda call: torch.tensor(mark), refuses=lambda call: refusal)


@pytest.fixture
def implementations(monkeypatch):
    monkeypatch.setattr(
        dispatch,
        "IMPLEMENTATIONS",
        {"narrow": marked(1, "only on Sundays"), "fast": marked(2), "slow": marked(3)},
    )


@pytest.mark.usefixtures("implementations")
def test_auto_is_the_first_that_does_not_refuse():
    assert attention(*inputs(), TopK(2)) == 2


@pytest.mark.usefixtures("implementations")
def test_the_one_asked_for_serves():
    assert attention(*inputs(), TopK(2), implementation="slow") == 3


@pytest.mark.usefixtures("implementations")
def test_the_one_asked_for_says_why_it_cannot_serve():
    with pytest.raises(ValueError, match="implementation 'narrow' cannot serve this call: only on Sundays"):
        attention(*inputs(), TopK(2), implementation="narrow")


@pytest.mark.usefixtures("implementations")
def test_an_unknown_one_is_answered_with_those_available():
    with pytest.raises(ValueError, match="'warp' is not available here; available: auto, narrow, fast, slow"):
        attention(*inputs(), TopK(2), implementation="warp")


@pytest.mark.usefixtures("implementations")
@pytest.mark.parametrize("name", ["fast", "warp"])
def test_the_info_comes_from_the_reference_alone(name):
    with pytest.raises(
        ValueError, match=f"return_info comes from the reference implementation, not '{name}'"
    ):
        attention(*inputs(), TopK(2), implementation=name, return_info=True)


def test_the_reference_is_there_and_refuses_nothing():
    output = attention(*inputs(), TopK(2), implementation="reference")
    torch.testing.assert_close(output, attention(*inputs(), TopK(2)))
