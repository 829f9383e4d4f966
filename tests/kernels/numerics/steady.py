"""Whether the kernels always give the same bits: again, in threads, after forks and interrupts."""

import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from semfocus.mechanisms import Banded, BlockLocal, BottomK, Full, Pattern, Random, TopK, attention
from semfocus.model import Classifier, ModelConfig

PATTERNS: tuple[Pattern, ...] = (Full(), TopK(5), TopK(60), BottomK(5), Banded(9), BlockLocal(9), Random(5))


@contextmanager
def threads_of(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class Call:
    """A forward and backward pass by the kernels: of attention under a pattern, or of a whole model."""

    pattern: Pattern
    batch: int
    length: int = 97
    is_model: bool = False

    def results(self) -> list[Tensor]:
        """The same numbers every time."""
        generator = torch.Generator().manual_seed(self.length)
        if self.is_model:
            model = model_of(self.pattern, self.length)
            tokens = torch.randint(4, (self.batch, self.length), generator=generator)
            output = model(tokens, generator=generator)
            leaves = list(model.parameters())
        else:
            leaves = [
                torch.randn(self.batch, 1, self.length, 16, generator=generator).requires_grad_()
                for _ in range(3)
            ]
            output = attention(
                *leaves, self.pattern, dropout=0.1, generator=generator, implementation="native"
            )
        return [output.detach(), *torch.autograd.grad(output.square().sum(), leaves)]


@cache
def model_of(pattern: Pattern, length: int) -> Classifier:
    config = ModelConfig(
        vocab_size=5, num_classes=2, max_length=length, d_model=16, d_mlp=16, num_blocks=2, pattern=pattern
    )
    return Classifier(config, seed=0)


CALLS = tuple(
    Call(pattern, batch, is_model=is_model)
    for pattern, batch, is_model in itertools.product(PATTERNS, (1, 4), (False, True))
)


def differ(first: list[Tensor], again: list[Tensor]) -> bool:
    """In a single bit."""
    return any(
        not torch.equal(one.view(torch.int32), other.view(torch.int32))
        for one, other in zip(first, again, strict=True)
    )


def repeated(number: int, num_threads: int, at_once: int = 1) -> list[str]:
    """So many calls in `at_once` threads of Python, each beside other work, against those made first."""
    problems: list[str] = []
    with threads_of(num_threads):
        first = {call: call.results() for call in CALLS}

    def work(place: int) -> None:
        generator = torch.Generator().manual_seed(place)
        with threads_of(num_threads):  # PyTorch counts them for each thread of Python
            for at in range(place, number, at_once):
                size = int(torch.randint(1, 300, (), generator=generator))
                other = torch.randn(size, size)  # other memory, other values in the caches
                (other @ other).sum()
                call = CALLS[at % len(CALLS)]
                if differ(first[call], call.results()):
                    problems.append(f"{call} gave other bits at {num_threads} threads, repeat {at}")
        if place:
            raise _Ended

    workers = [threading.Thread(target=work, args=(place,)) for place in range(at_once)]
    with _quiet_threads():
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return problems


class _Ended(Exception):
    """How threads end here: an exception in one of them must not disturb the others."""


@contextmanager
def _quiet_threads() -> Iterator[None]:
    before = threading.excepthook
    threading.excepthook = lambda given: None if given.exc_type is _Ended else before(given)
    try:
        yield
    finally:
        threading.excepthook = before


def by_threads(numbers: tuple[int, ...] = (1, 2, 4)) -> list[str]:
    """The number of threads changes no bit of an output, nor of a gradient of attention where the batch has as many
    elements; elsewhere gradients are sums in another order.
    """
    problems = []
    for call in CALLS:
        found = []
        for number in numbers:
            with threads_of(number):
                found.append(call.results())
        for number, again in zip(numbers[1:], found[1:], strict=True):
            equal = again if call.batch >= number and not call.is_model else again[:1]
            if differ(found[0][: len(equal)], equal):
                problems.append(f"{call} gave other bits at {number} threads than at {numbers[0]}")
            largest = max(
                float(one.abs().max()) for one in found[0]
            )  # the key bias has no gradient but rounding
            for one, other in zip(found[0], again, strict=True):
                if (one - other).abs().max() > 1e-4 * largest:
                    problems.append(f"{call} gave other numbers at {number} threads than at {numbers[0]}")
    return problems


def after_forks(number: int) -> list[str]:
    """Processes forked after the kernels ran with two threads; each works with one (see docs/reliability.md)."""
    problems = []
    with threads_of(2):
        for call in CALLS:
            call.results()
    with threads_of(1):
        first = [call.results() for call in CALLS]
    for at in range(number):
        child = os.fork()
        if child == 0:
            code = 1
            with suppress(BaseException):
                signal.alarm(120)
                torch.set_num_threads(1)
                place = at % len(CALLS)
                code = 2 if differ(first[place], CALLS[place].results()) else 0
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code:
            problems.append(
                f"{CALLS[at % len(CALLS)]} after a fork: {'other bits' if code == 2 else f'exit {code}'}"
            )
    return problems


def after_interrupts(number: int) -> tuple[list[str], int]:
    """Ctrl-C at a random moment of a call, then the call again; how many of them came while it ran."""
    problems, during = [], 0
    call = Call(TopK(5), 4, length=300)
    first = call.results()
    started = time.monotonic()
    call.results()
    usual = time.monotonic() - started
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    generator = torch.Generator().manual_seed(0)
    try:
        for _ in range(number):
            delay = usual * float(torch.rand((), generator=generator))
            sender = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
            ended = False
            try:
                sender.start()
                call.results()
                ended = True
                sender.join()
                time.sleep(10)  # it is delivered at the next step of Python
                problems.append("Ctrl-C was lost")
            except KeyboardInterrupt:
                during += not ended
            sender.join()
            if differ(first, call.results()):
                problems.append("other bits after an interrupt")
    finally:
        signal.signal(signal.SIGINT, before)
    return problems, during
