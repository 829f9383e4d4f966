"""What `apply` changed, as a value that prints well."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from semfocus.mechanisms import Pattern


@dataclass(frozen=True)
class AppliedLayer:
    """One attention module that was switched: its number and name in the model, and its pattern."""

    layer: int
    name: str
    pattern: Pattern


@dataclass(frozen=True, repr=False)
class Applied(Sequence[AppliedLayer]):
    """The layers that were switched, in the order of `model.named_modules()`."""

    layers: tuple[AppliedLayer, ...]
    num_attentions: int
    inverse_temperature: float

    @overload
    def __getitem__(self, index: int) -> AppliedLayer: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[AppliedLayer]: ...
    def __getitem__(self, index: int | slice) -> AppliedLayer | Sequence[AppliedLayer]:
        return self.layers[index]

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[AppliedLayer]:
        return iter(self.layers)

    def __repr__(self) -> str:
        sharper = (
            "" if self.inverse_temperature == 1.0 else f" at inverse temperature {self.inverse_temperature}"
        )
        lines = [f"{len(self.layers)} of {self.num_attentions} attention layers switched{sharper}"]
        width = max((len(str(each.pattern)) for each in self.layers), default=0)
        lines += [f"  {each.layer:>3}  {each.pattern!s:<{width}}  {each.name}" for each in self.layers]
        return "\n".join(lines)
