"""Fixtures for the implementations."""

import pytest

from semfocus.mechanisms import blockwise


@pytest.fixture(scope="module")
def small_blocks():
    """The implementation "torch" in blocks of a row or a few, and gathering wherever it can."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blockwise, "NUMBERS_AT_ONCE", 64)
        patch.setattr(blockwise, "GATHER_ONE_OF", 1)
        yield
