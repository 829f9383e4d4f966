"""The marker of tests that open a page in a real browser."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "browser: opens a report in headless Chromium (skipped where there is none)"
    )
