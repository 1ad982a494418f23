"""The time that training has, if it is limited."""

from __future__ import annotations

import time


class Clock:
    """How much of a phase's time is over, if time is limited.

    Learning rates fall and blurs shrink with time as they do with steps, so that training that
    must end early ends as it should.
    """

    def __init__(self, elapsed: float, max_seconds: float | None) -> None:
        """`elapsed` are the seconds that training took before an interruption."""
        self._origin, self.max_seconds = time.perf_counter() - elapsed, max_seconds
        self._begin, self._end = 0.0, 0.0

    def start(self, begin: float, share: float) -> None:
        """Start a phase that began then and has so much of the time that was left."""
        if self.max_seconds is not None:
            left = max(self.max_seconds - begin, 0.0)
            self._begin, self._end = begin, begin + share * left

    @property
    def share(self) -> float:
        """How much of the phase's time is over, from 0 to 1; 0 if time is not limited."""
        if self.max_seconds is None:
            return 0.0
        length = self._end - self._begin
        return min(max((self.elapsed - self._begin) / length, 0.0), 1.0) if length > 0 else 1.0

    @property
    def elapsed(self) -> float:
        """Seconds since training began."""
        return time.perf_counter() - self._origin
