"""The full description of a model: architecture, pattern, and the sizes the task gives."""

from typing import Any

from pydantic import Field, field_serializer, field_validator, model_validator

from semfocus.mechanisms import Full, Pattern, parse_pattern
from semfocus.mechanisms.control_rules import refuse_controls
from semfocus.settings import ModelSettings, Settings


class ModelConfig(ModelSettings):
    """Everything `Classifier` and `LanguageModel` need; `pattern` may be given as its string."""

    model_config = Settings.model_config | {"arbitrary_types_allowed": True}

    vocab_size: int = Field(ge=1)
    num_classes: int = Field(ge=1)
    max_length: int = Field(ge=1)
    pattern: Pattern = Full()
    #: whether a query sees keys up to its own position only
    causal: bool = False

    @field_validator("pattern", mode="before")
    @classmethod
    def _read_pattern(cls, value: Any) -> Any:
        return parse_pattern(value) if isinstance(value, str) else value

    @field_serializer("pattern")
    def _write_pattern(self, value: Pattern) -> str:
        return str(value)

    @model_validator(mode="after")
    def _controls_go_with_the_pattern(self) -> "ModelConfig":
        refuse_controls(self, self.pattern)
        return self

    @model_validator(mode="after")
    def _globals_see_everything(self) -> "ModelConfig":
        if self.causal and self.num_globals:
            raise ValueError(
                f"{self.pattern}: global tokens are after all others, which causal attention forbids"
            )
        return self

    def plain(self) -> "ModelConfig":
        """Plain full attention in the same architecture."""
        return self.without_controls().model_copy(update={"pattern": Full()})

    @property
    def num_globals(self) -> int:
        """Global tokens appended to every sequence."""
        return self.pattern.global_tokens()
