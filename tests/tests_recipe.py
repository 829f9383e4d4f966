"""A user's recipe file, shared by several tests."""

RECIPE = '''
"""My own pattern and task."""

from dataclasses import dataclass

import torch

from semfocus.mechanisms import Pattern, keep_largest
from semfocus.tasks.task import Task, at_least


@dataclass(frozen=True)
class EveryOther(Pattern):
    """The allowed keys at even positions."""

    step: int

    name = "every_other"
    family = "input-agnostic"

    def keep(self, scores, allowed, generator=None):
        position = torch.arange(allowed.shape[-1], device=allowed.device)
        return allowed & (position % self.step == 0)


@dataclass(frozen=True)
class FirstBit(Task):
    """What is the first bit?"""

    name = "first_bit"
    symbols = ("0", "1")
    num_classes = 2
    chance_accuracy = 0.5

    def allows_length(self, length):
        return at_least(1, length)

    def draw(self, num, length, generator):
        tokens = torch.randint(2, (num, length), generator=generator)
        return tokens, tokens[:, 0]

    def label_row(self, row):
        return row[0]
'''
