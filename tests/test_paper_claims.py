"""The paper's first claim at a scale that a test can afford. The picture must agree, not the numbers."""

import pytest

from semfocus.studies import grid, run_study


@pytest.mark.slow
@pytest.mark.parametrize("seed", [153476998, 235510766])
def test_top_k_reaches_95_percent_in_at_most_half_the_epochs_of_full(store, seed) -> None:
    specs = grid(
        {
            "task": "even_pairs",
            "seed": seed,
            "model": {"num_blocks": 3},
            "training": {
                "length": 20,
                "num_train": 2000,
                "num_held_out": 500,
                "epochs": 120,
                "stop_at": 0.95,
            },
        },
        pattern=["full", "top_k(5)"],
    )
    full, top_k = (record["summary"]["epochs_to_target"] for record in run_study(specs, store))
    assert top_k is not None, "top_k(5) must converge"
    assert full is not None, "full must converge"
    assert 2 * top_k <= full
