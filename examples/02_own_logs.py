"""Learn a causal graph from your own logs: pandas frames, one per class."""

import numpy as np
import pandas as pd

import oocdm


class Room(oocdm.ObjectClass):
    temperature = oocdm.Real()
    heating = oocdm.Boolean(action=True)


class Weather(oocdm.ObjectClass):
    outside = oocdm.Real()


def log_house(rng: np.random.Generator, episode: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ten hours of a house whose three rooms lose warmth to the outside, not to each other."""
    inside, outside = rng.normal(18, 4, size=3), rng.normal(5, 6)
    rooms, weather = [], []
    for step in range(10):
        heating = rng.random(3) < 0.5
        rooms += [(episode, step, f"room {i}", inside[i], heating[i]) for i in range(3)]
        weather.append((episode, step, 0, outside))
        inside = inside + 0.2 * (outside - inside) + 4 * heating + rng.normal(0, 0.1, size=3)
        outside = outside + rng.normal(0, 1)
    keys = ["episode", "step", "object"]
    return (
        pd.DataFrame(rooms, columns=[*keys, "temperature", "heating"]),
        pd.DataFrame(weather, columns=[*keys, "outside"]),
    )


rng = np.random.default_rng(0)
rooms, weather = zip(*(log_house(rng, episode) for episode in range(150)), strict=True)
frames = {"Room": pd.concat(rooms), "Weather": pd.concat(weather)}
data = oocdm.Dataset.from_frames(frames, oocdm.Schema(Room, Weather))
print(data)

# After so short a training scores are noisy, so an edge must add 0.2 nats instead of 0.05.
quick = oocdm.Schedule(iterations=3, steps_per_iteration=60, polish_steps=50)
result = oocdm.fit(data, seed=0, schedule=quick, threshold=0.2)
print(result.graph)
