import pytest

from semfocus.studies import grid, put, run_study


def test_a_grid_is_every_combination_in_order() -> None:
    specs = grid({"task": "parity", "model": {"num_blocks": 2}}, model__d_model=[8, 16], seed=[0, 1])
    assert [(spec.model.d_model, spec.seed) for spec in specs] == [(8, 0), (8, 1), (16, 0), (16, 1)]
    assert {spec.model.num_blocks for spec in specs} == {2}


def test_a_misspelt_axis_is_an_error() -> None:
    with pytest.raises(ValueError, match="did you mean 'pattern'"):
        grid({"task": "parity"}, patern=["full"])
    with pytest.raises(ValueError, match="did you mean 'num_blocks'"):
        grid({"task": "parity"}, model__num_block=[1])


def test_the_base_is_not_changed() -> None:
    base = {"task": "parity", "model": {"num_blocks": 2}}
    grid(base, model__num_blocks=[3])
    assert base == {"task": "parity", "model": {"num_blocks": 2}}


def test_put_refuses_to_reach_into_a_value() -> None:
    with pytest.raises(ValueError, match="seed has no fields"):
        put({"seed": 3}, ["seed", "x"], 1)


def test_records_come_in_the_order_of_the_specs(store, tiny_spec) -> None:
    specs = [tiny_spec(seed=seed) for seed in (3, 1, 2)]
    assert [record["spec"]["seed"] for record in run_study(specs, store, executor="serial")] == [3, 1, 2]


def test_an_axis_is_a_list_that_is_not_empty_and_repeats_nothing() -> None:
    with pytest.raises(ValueError, match="axis seed is empty"):
        grid({"task": "parity"}, pattern=["full"], seed=[])
    with pytest.raises(ValueError, match="axis pattern must be a list of values, got 'full'"):
        grid({"task": "parity"}, pattern="full")
    with pytest.raises(
        ValueError, match=r"1 run is listed more than once, the first is parity top_k\(5\) seed 0"
    ):
        grid({"task": "parity"}, pattern=["top_k(5)", "full", "top_k( 5 )"])
