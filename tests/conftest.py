"""Shared fixtures: tiny specs that train in a fraction of a second."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from semfocus.runs import RunSpec, Store, open_store


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """Tests run side by side; a thread each keeps them from slowing one another."""
    torch.set_num_threads(1)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "runs")


@pytest.fixture
def tiny_spec() -> Callable[..., RunSpec]:
    """tiny_spec(pattern=..., model={...}, training={...}): changes to a spec that trains at once."""

    def build(**changes: Any) -> RunSpec:
        model = {"d_model": 8, "d_mlp": 8, "num_blocks": 1} | changes.pop("model", {})
        training = {"length": 6, "num_train": 60, "num_held_out": 30, "epochs": 4, "batch_size": 10}
        training |= changes.pop("training", {})
        return RunSpec(
            **({"task": "even_pairs", "pattern": "top_k(3)"} | changes), model=model, training=training
        )

    return build
