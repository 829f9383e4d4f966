import pytest
from pydantic import ValidationError

from semfocus import TopK
from semfocus.model import ModelConfig
from semfocus.settings import explain

SIZES = {"vocab_size": 3, "num_classes": 2, "max_length": 40}


def test_pattern_may_be_a_value_or_its_string() -> None:
    assert ModelConfig(**SIZES, pattern="top_k(5)") == ModelConfig(**SIZES, pattern=TopK(5))


def test_a_configuration_survives_json() -> None:
    config = ModelConfig(**SIZES, pattern="banded(5)+G1", norm="post")
    assert ModelConfig.model_validate_json(config.model_dump_json()) == config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_block": 3}, r"unknown key 'num_block' \(did you mean 'num_blocks'\?\)"),
        ({"d_model": 64.0}, "d_model must be a valid integer"),
        ({"d_model": True}, "d_model must be a valid integer"),
        ({"d_model": 0}, "d_model must be .*greater than or equal to 1, got 0"),
        ({"dropout": 1.0}, "dropout must be .*less than 1"),
        ({"dropout": float("nan")}, "dropout must be "),
        ({"inverse_temperature": 0.0}, "inverse_temperature must be .*greater than 0"),
        ({"norm": "both"}, "norm must be .*'pre' or 'post', got 'both'"),
        ({"pattern": "topk(5)"}, r"pattern: unknown pattern 'topk' \(did you mean 'top_k'\?\)"),
        ({"projections": "joint", "num_heads": 2}, "one head, got num_heads=2"),
        ({"initial_scale": {"keys": 2.0}}, "initial_scale: unknown key 'keys'"),
    ],
)
def test_bad_values_are_refused_in_one_line(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ModelConfig(**(SIZES | changes))
    text = explain(caught.value)
    assert "\n" not in text
    with pytest.raises(ValueError, match=message):
        raise ValueError(text)


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        ModelConfig(**SIZES).d_model = 3
