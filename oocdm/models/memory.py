"""How much memory a piece of work takes, measured on little of it, and how much of it fits.

Nothing here looks at the machine: the same work within the same budget is always cut alike.
"""

from __future__ import annotations

import math
import re
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from oocdm.errors import ModelError, OocdmError
from oocdm.models.allocator import release_freed_memory

T = TypeVar("T")

GIB = 2**30
DEFAULT_MEMORY = 4 * GIB  # bytes that a fit may take
AT_ONCE = DEFAULT_MEMORY // 8  # bytes of work that can be divided, where nobody says a budget
SPARE = 1.7  # memory that work takes for each byte of its tensors: buffers do not fit gaps exactly
LIBRARIES = 96 * 2**20  # bytes that torch and others take when they are first used
UNITS = {"b": 1, "kib": 2**10, "mib": 2**20, "gib": GIB, "kb": 10**3, "mb": 10**6, "gb": 10**9}
WORTH_A_LOOK = 8  # what surely takes less than an eighth of the limit is not measured again
LARGEST_LEAP = 64  # how many times as much is tried next, so that small work is not repeated


@dataclass(frozen=True)
class Used:
    """Bytes of tensors that a piece of work made: all at once at most, and what was left."""

    peak: int
    kept: int


class TooMuch(Exception):
    """What raises where work would take more memory than it may."""


def within(most: int, work: Callable[[], T]) -> T:
    """The outcome of some work, or `TooMuch` before its tensors take more than so many bytes.

    >>> import torch
    >>> within(1000, lambda: torch.zeros(10**12))
    Traceback (most recent call last):
    ...
    oocdm.models.memory.TooMuch: more than 0 MiB
    """
    with _Meter(most):
        return work()


def measure(work: Callable[[], object]) -> Used:
    """Do some work, and tell what its tensors took; those of its outcome count as left.

    >>> import torch
    >>> measure(lambda: (torch.zeros(1000) + 1).sum())
    Used(peak=8000, kept=4)
    """
    with _Meter() as meter:
        outcome = work()
    kept = meter.now
    del outcome
    return Used(meter.peak, kept)


class _Meter(TorchDispatchMode):
    """Follows the storages of new tensors until they are freed."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Nothing here is compiled, and torch would load its compiler to be told so: a second.
        return False

    def __init__(self, most: float = math.inf) -> None:
        super().__init__()
        self.now = self.peak = 0
        self.most = most  # bytes, from which on it raises `TooMuch`
        self._alive: dict[int, weakref.ref[Any]] = {}

    def __torch_dispatch__(
        self,
        function: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        given = {
            id(storage) for storage in _storages((args, (*kwargs.values(),) if kwargs else ()))
        }
        if args and not given and self.now + _least_bytes(args[0]) > self.most:
            raise TooMuch(f"more than {say_memory(self.most)}")
        found = function(*args, **(kwargs or {}))
        for storage in _storages(found):
            # A view has the storage of what it is a view of.
            if id(storage) not in given and id(storage) not in self._alive:
                self._follow(storage)
        return found

    def _follow(self, storage: Any) -> None:
        key, size = id(storage), storage.nbytes()

        def forget(_: object) -> None:
            del self._alive[key]
            self.now -= size

        self._alive[key] = weakref.ref(storage, forget)
        self.now += size
        self.peak = max(self.peak, self.now)
        if self.now > self.most:
            raise TooMuch(f"more than {say_memory(self.most)}")


def _least_bytes(shape: object) -> int:
    """What a new tensor of some shape takes at least; 0 if this is no shape."""
    is_shape = isinstance(shape, list | tuple) and all(isinstance(each, int) for each in shape)
    return math.prod(shape) if is_shape else 0  # type: ignore[call-overload]


def _storages(tree: object) -> Iterator[Any]:
    """Storages of all tensors in what a function of torch takes or gives."""
    if isinstance(tree, Tensor):
        yield tree.untyped_storage()
    elif isinstance(tree, list | tuple):
        for leaf in tree:
            yield from _storages(leaf)


@dataclass(frozen=True)
class Fit:
    """How many of something fit at once, none if not even one does, and the bytes they take."""

    size: int
    taken: int


def largest_fit(
    taken: Callable[[int], int], most: int, limit: int, at_most: int | None = None
) -> Fit:
    """The largest number up to `most` whose work takes at most `limit` bytes.

    Where a single one takes more than half of that, twice as much as it takes is fine, if it is
    `at_most` so many bytes.

    Work takes something whatever its size, and more for each further piece: so n times as much work
    takes at most n times as much memory. The next larger number to try is one that surely fits, or
    else twice as much; between one that fits and one that does not, memory grows at most evenly.

    >>> largest_fit(lambda n: 1000 + 10 * n, most=100, limit=1500)
    Fit(size=50, taken=1500)
    """
    size, now, slope = 1, taken(1), 0.0
    limit = limit if at_most is None else min(max(limit, 2 * now), at_most)
    if now > limit:
        return Fit(0, now)
    while size < most:
        more = min(max(size * limit // max(now, 1), 2 * size), LARGEST_LEAP * size, most)
        if size > 1 and more == most and now * most <= limit * size // WORTH_A_LOOK:
            return Fit(most, int(now + slope * (most - size)))
        release_freed_memory()  # work of another size does not fit where this one was
        then = taken(more)
        slope = (then - now) / (more - size)
        if then > limit:
            extra = int((limit - now) / slope)
            return Fit(size + extra, int(now + slope * extra))
        size, now = more, then
    return Fit(size, now)


def rows_at_once(work: Callable[[int], object], most: int, limit: int = AT_ONCE) -> int:
    """How many rows of some work are within a limit of bytes: all of `most`, or as many as fit.

    A single row is done in any case: `work(1)` is, to see what it takes.

    >>> import torch
    >>> rows_at_once(lambda n: torch.zeros(n, 1000), most=50, limit=40_000)
    10
    """

    def taken(rows: int) -> int:
        return measure(lambda: work(rows)).peak

    if taken(1) * most <= limit:
        return most
    return max(largest_fit(taken, most, limit).size, 1)


def read_memory(where: str, given: object, error: type[OocdmError] = ModelError) -> int:
    """A number of bytes, or words such as `4GiB`, as a number.

    >>> read_memory("fit", "1.5 GiB")
    1610612736
    """
    number: float = -1
    if isinstance(given, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", given.lower())
        if match and match[2] in UNITS:
            number = float(match[1]) * UNITS[match[2]]
    elif isinstance(given, int | float) and not isinstance(given, bool):
        number = given
    if not 1 <= number < 2**63:
        raise error(
            f"{where}: `memory`: expected a number of bytes, or words such as '4GiB', got "
            f"{given!r:.80}."
        )
    return int(number)


def say_memory(size: float) -> str:
    """Bytes in words.

    >>> say_memory(1610612736), say_memory(5_000_000)
    ('1.5 GiB', '5 MiB')
    """
    return f"{size / GIB:.1f} GiB" if size >= GIB else f"{size / 2**20:.0f} MiB"
