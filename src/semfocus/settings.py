"""Typed, frozen settings that refuse unknown keys, and those of a model's architecture."""

from functools import cache
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from semfocus.notation import did_you_mean

#: `field: Annotated[float, LATER] = Field(1.0)` for a field that is younger than the results in people's stores
LATER = "written only where it is not at its default"


class Settings(BaseModel):
    """Base of all settings: strict types, no unknown keys, no change after construction.

    A LATER field at its default is not written: a spec that does not use it keeps the text, and so the name, that it
    had before the field existed, and old and new records of one setting are equal.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_default=True
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, values: Any) -> Any:
        if isinstance(values, dict):
            for key in values:
                if key not in cls.model_fields:
                    known = ", ".join(cls.model_fields)
                    raise ValueError(
                        f"unknown key {key!r}{did_you_mean(str(key), cls.model_fields)}; known: {known}"
                    )
        return values

    @model_serializer(mode="wrap")
    def _leave_out_later_fields(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = write(self)
        for key, default in _later_fields(type(self)):
            if getattr(self, key) == default:
                values.pop(key, None)
        return values


@cache
def _later_fields(settings: type[Settings]) -> list[tuple[str, Any]]:
    return [(key, field.default) for key, field in settings.model_fields.items() if LATER in field.metadata]


def explain(error: ValidationError) -> str:
    """A pydantic error as one line: which key, what is wrong, what was given."""
    problems = []
    for each in error.errors():
        key = ".".join(map(str, each["loc"]))
        message = each["msg"].removeprefix("Value error, ")
        of_field, _, wanted = message.partition("Input should be ")  # the words of pydantic
        given = "" if isinstance(each["input"], dict) else f", got {each['input']!r}"
        given = "" if each["type"] == "value_error" else given
        if key and wanted and not of_field:
            problems.append(f"{key} must be {wanted}{given}")
        else:
            problems.append(f"{key}: {message}{given}" if key else f"{message}{given}")
    return "; ".join(problems)


class GroupFactors(Settings):
    """One factor for each group of parameters; 1 leaves it as it is."""

    embedding: float = Field(1.0, ge=0)
    query_key: float = Field(1.0, ge=0)
    value_out: float = Field(1.0, ge=0)
    mlp: float = Field(1.0, ge=0)
    readout: float = Field(1.0, ge=0)


class ModelSettings(Settings):
    """The architecture, apart from what the task and the pattern decide.

    `attention_dropout_in_evaluation` to `first_norm_eps` reproduce the authors' released code; see docs/deviations.md.
    The others separate causes; see docs/decisions.md. `score_gradient` is a factor on the gradient that flows back
    through the scores; `score_clip` limits the scores to (-c, c), c tanh(score / c), so that their dispersion
    stays below 2c. `match_entropy` and `match_dispersion` name a pattern, to whose effective number of keys,
    or largest minus smallest score, a factor brings each query on the same scores; with
    `match_keeps_gradient` the gradient of the scores is that of a factor of 1. `selection` hands queries the
    keys they attend to: those that decide the label, or those that the untrained model keeps.
    `selection_noise` adds so many standard deviations of normal noise to the scores by which keys are chosen,
    and to nothing else.
    """

    d_model: int = Field(64, ge=1)
    d_mlp: int = Field(64, ge=1)
    num_blocks: int = Field(5, ge=1)
    num_heads: int = Field(1, ge=1)
    activation: Literal["relu", "gelu", "mish"] = "relu"
    norm: Literal["pre", "post"] = "pre"
    projections: Literal["separate", "joint"] = "separate"
    inverse_temperature: float = Field(1.0, gt=0)
    dropout: float = Field(0.01, ge=0, lt=1)
    layer_norm_eps: float = Field(1e-5, ge=0)
    initial_scale: GroupFactors = GroupFactors()
    attention_dropout_in_evaluation: bool = False
    padding_takes_part: bool = False
    pad_to_multiple: int = Field(1, ge=1)
    first_norm_eps: float | None = Field(None, ge=0)
    score_gradient: Annotated[float, LATER] = Field(1.0, ge=0)
    score_clip: Annotated[float | None, LATER] = Field(None, gt=0)
    match_entropy: Annotated[str | None, LATER] = None
    match_dispersion: Annotated[str | None, LATER] = None
    match_keeps_gradient: Annotated[bool, LATER] = False
    selection: Annotated[Literal["relevant", "initial"] | None, LATER] = None
    selection_noise: Annotated[float, LATER] = Field(0.0, ge=0)

    def without_controls(self) -> Self:
        """The same architecture without what makes an arm: an inverse temperature of 1, and no control at work."""
        return self.model_copy(update=_WITHOUT_CONTROLS)

    @model_validator(mode="after")
    def _joint_has_one_head(self) -> "ModelSettings":
        if self.projections == "joint" and self.num_heads != 1:
            raise ValueError(f"projections='joint' has one head, got num_heads={self.num_heads}")
        return self


#: of a model: what can be switched on and off while it learns
_WITHOUT_CONTROLS = {
    "inverse_temperature": 1.0,
    "score_gradient": 1.0,
    "score_clip": None,
    "match_entropy": None,
    "match_dispersion": None,
    "match_keeps_gradient": False,
    "selection": None,
    "selection_noise": 0.0,
}
