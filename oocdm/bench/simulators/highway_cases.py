"""Braked cars of highway-env: how much slower is the one behind?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from oocdm.bench.simulators.case import Case, moments
from oocdm.data.dataset import Dataset
from oocdm.graph import Variable

HORIZON = 10
BRAKED = 8.0  # metres a second that the car ahead loses at once
GAP = (8.0, 40.0)  # metres between the two, in one lane
BESIDE = 1.0  # metres to the side that are still one lane
EVERY = 10  # steps between cases of one episode


def braked_cars(data: Dataset) -> Iterator[Case]:
    """Moments in which a car closely follows another one, which brakes."""
    for row in moments(data, HORIZON, EVERY):
        cars = np.flatnonzero(data.present["Car"][row])
        x, y, speed = (data.values["Car"][f][row] for f in ("x", "y", "speed"))
        for leader in cars.tolist():
            gaps = x[leader] - x[cars]
            is_close = (np.abs(y[leader] - y[cars]) < BESIDE) & (gaps > GAP[0]) & (gaps < GAP[1])
            if is_close.any():
                follower = int(cars[is_close][np.argmin(gaps[is_close])])
                do = {Variable("Car", leader, "speed"): float(speed[leader]) - BRAKED}
                yield Case(row, do, {Variable("Car", follower, "speed"): 1.0}, HORIZON)
                break
