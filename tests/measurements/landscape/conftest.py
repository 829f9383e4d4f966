"""Two tiny trained runs to look around in."""

from collections.abc import Callable

import pytest

from semfocus.runs import RunDirectory, RunSpec, Store
from semfocus.training import run

TinySpec = Callable[..., RunSpec]


@pytest.fixture
def trained(store: Store, tiny_spec: TinySpec) -> RunDirectory:
    spec = tiny_spec(model={"num_blocks": 2})
    run(spec, store, device="cpu")
    return store.directory(spec)
