"""What is computed around trained runs, as a command or a recipe says it."""

from dataclasses import dataclass

from semfocus.counts import count_of


@dataclass(frozen=True)
class LandscapeOptions:
    """The same for every run that is looked at. `samples`: None for all; `hessian`: how many eigenvalues, 0 for none."""

    points: int = 41
    radius: float = 1.0
    pairs: int = 1
    scaling: str = "tensor"
    data: str = "train"
    samples: int | None = None
    epoch: str = "last"
    hessian: int = 0

    def __str__(self) -> str:
        """In words, for a plan or a list."""
        pairs = f"{count_of(self.pairs, 'pair')} of directions"
        hessian = f", {count_of(self.hessian, 'eigenvalue')} of the Hessian" if self.hessian else ""
        return f"{self.epoch}: {self.points} x {self.points} points, {pairs}, {self.data} data{hessian}"
