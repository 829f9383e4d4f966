"""The full description of a classifier: architecture, pattern, and the sizes the task gives."""

from typing import Any

from pydantic import Field, field_serializer, field_validator

from semfocus.mechanisms import Full, Pattern, parse_pattern
from semfocus.settings import ModelSettings, Settings


class ModelConfig(ModelSettings):
    """Everything `Classifier` needs; `pattern` may be given as its string."""

    model_config = Settings.model_config | {"arbitrary_types_allowed": True}

    vocab_size: int = Field(ge=1)
    num_classes: int = Field(ge=1)
    max_length: int = Field(ge=1)
    pattern: Pattern = Full()

    @field_validator("pattern", mode="before")
    @classmethod
    def _read_pattern(cls, value: Any) -> Any:
        return parse_pattern(value) if isinstance(value, str) else value

    @field_serializer("pattern")
    def _write_pattern(self, value: Pattern) -> str:
        return str(value)

    @property
    def num_globals(self) -> int:
        """Global tokens appended to every sequence."""
        return self.pattern.global_tokens()
