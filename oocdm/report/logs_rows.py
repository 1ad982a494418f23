"""What fits to other people's simulators say, as rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

GRAPHS = ["simulator", "seed", "held", "missed", "unlisted", "Jaccard", "settled", "seconds"]
ROLLOUTS = ["seed", "field", "model", "persistence", "velocity"]
BRAKES = ["seed", "cases", "true m/s", "believed m/s", "brake half as much", "replay error"]


def graph_cells(row: Mapping[str, Any]) -> list[str]:
    """What a graph has of what the code reads.

    >>> row = {"env": "highway", "seed": 0, "common": 9, "missed": ["a"], "unlisted": []}
    >>> graph_cells({**row, "jaccard": 0.9, "settled": None, "processor_seconds": 7.2})
    ['highway', '0', '8 of 9', 'a', '', '0.90', '', '7']
    """
    return [
        row["env"],
        str(row["seed"]),
        f"{row['common'] - len(row['missed'])} of {row['common']}",
        ", ".join(row["missed"]),
        ", ".join(row["unlisted"]),
        "" if row["jaccard"] is None else f"{row['jaccard']:.2f}",
        {None: "", True: "yes", False: "no"}[row["settled"]],
        f"{row['processor_seconds']:.0f}",
    ]


def rollout_rows(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[str]]:
    """Errors of each field, and how much larger the model's are than those of guesses.

    >>> errors = {"model": 0.1, "persistence": 0.3, "velocity": 0.2}
    >>> errors |= {"over_persistence": [-0.3, -0.1], "over_velocity": [-0.2, 0.01]}
    >>> list(rollout_rows([{"seed": 0, "rollouts": {"Car.x": errors}}]))
    [['0', 'Car.x', '0.1', '0.3 [-0.3, -0.1]', '0.2 [-0.2, 0.01]']]
    """
    for row in rows:
        for field, errors in row["rollouts"].items():
            guesses = [
                "{:.3g} [{:.3g}, {:.3g}]".format(errors[guess], *errors[f"over_{guess}"])
                for guess in ("persistence", "velocity")
            ]
            yield [str(row["seed"]), field, f"{errors['model']:.3g}", *guesses]


def brake_cells(row: Mapping[str, Any]) -> list[str]:
    """How much the car behind a braked one is slower, in the simulator and by the model.

    >>> brakes = {"cases": 5, "true_mean": -2.0, "believed_mean": -1.5, "brakes": 0.8}
    >>> brake_cells({"seed": 0, "brakes": {**brakes, "replay_error": [0.0, 0.4]}})
    ['0', '5', '-2.00', '-1.50', '80 %', '0.00, 0.40 at most']
    """
    found = row["brakes"]
    if not found["cases"]:
        return [str(row["seed"]), "0", "", "", "", ""]
    brakes = "" if found["brakes"] is None else f"{100 * found['brakes']:.0f} %"
    means = (f"{found[name]:.2f}" for name in ("true_mean", "believed_mean"))
    usual, most = found["replay_error"]
    return [
        str(row["seed"]), str(found["cases"]), *means, brakes, f"{usual:.2f}, {most:.2f} at most",
    ]  # fmt: skip
