"""Agents of mpe2 that are put in another one's way: how much less far does that one get?

Distances are compared and not velocities: these are damped by a quarter in each step, and whoever
bounced back is soon as fast as who was not stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oocdm.bench.simulators.case import Case, moments
from oocdm.data.dataset import Dataset
from oocdm.graph import Variable

HORIZON = 5
SIZES = {"Predator": 0.075, "Prey": 0.05, "Landmark": 0.2}  # simple_tag/simple_tag.py:271,280
FAST = 0.5  # the least speed of the one that is stopped
GAP = 0.02  # between the two: they touch in the next step
FAR = 0.5  # the least distance of the other one before, so that it is not missed where it was
EVERY = 10  # steps between cases of one episode


def agents_in_the_way(data: Dataset) -> Iterator[Case]:
    """Moments in which the fastest agent finds the farthest one at rest before it."""
    for row in moments(data, HORIZON, EVERY):
        scene = _Scene.of(data, row)
        speeds = np.linalg.norm(scene.velocity, axis=1)
        runner = int(np.argmax(speeds))
        distances = np.linalg.norm(scene.place - scene.place[runner], axis=1)
        other = int(np.argmax(np.where(scene.is_agent, distances, 0.0)))
        if speeds[runner] <= FAST or distances[other] <= FAR:
            continue
        way = scene.velocity[runner] / speeds[runner]
        ahead = scene.size[runner] + scene.size[other] + GAP
        there = scene.place[runner] + ahead * way
        if scene.is_free(there, scene.size[other], [runner, other]):
            do = scene.variables(other, {"x": there[0], "y": there[1], "vx": 0.0, "vy": 0.0})
            watched = scene.variables(runner, {"x": way[0], "y": way[1]})
            yield Case(row, do, watched, HORIZON)


@dataclass(frozen=True)
class _Scene:
    """All objects of a row: (object), or (object, direction)."""

    names: list[tuple[str, int]]
    place: np.ndarray
    velocity: np.ndarray  # 0 of obstacles
    size: np.ndarray
    is_agent: np.ndarray

    @staticmethod
    def of(data: Dataset, row: int) -> _Scene:
        names = [(c, int(i)) for c in SIZES for i in np.flatnonzero(data.present[c][row])]

        def number(c: str, i: int, f: str) -> float:
            column = data.values[c].get(f)
            return 0.0 if column is None else float(column[row, i])

        place, velocity = (
            np.array([[number(*name, f) for f in fields] for name in names])
            for fields in (("x", "y"), ("vx", "vy"))
        )
        size = np.array([SIZES[c] for c, _ in names])
        is_agent = np.array([c != "Landmark" for c, _ in names])
        return _Scene(names, place, velocity, size, is_agent)

    def is_free(self, place: np.ndarray, size: float, but: list[int]) -> bool:
        """Whether nobody but some objects would be touched at a place."""
        gaps = np.linalg.norm(self.place - place, axis=1) - self.size - size
        return bool((np.delete(gaps, but) > 0).all())

    def variables(self, i: int, values: dict[str, float]) -> dict[Variable, float]:
        """Numbers for fields of one object."""
        return {Variable(*self.names[i], f): float(value) for f, value in values.items()}
