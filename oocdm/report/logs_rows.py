"""What fits to other people's simulators say, as rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

GRAPHS = ["simulator", "seed", "held", "missed", "unlisted", "Jaccard", "settled", "seconds"]
ROLLOUTS = ["simulator", "seed", "field", "model", "persistence", "velocity"]
SLOWED = ["simulator", "seed", "cases", "true", "believed", "half as much", "replay error"]


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
    >>> list(rollout_rows([{"env": "highway", "seed": 0, "rollouts": {"Car.x": errors}}]))
    [['highway', '0', 'Car.x', '0.1', '0.3 [-0.3, -0.1]', '0.2 [-0.2, 0.01]']]
    """
    for row in rows:
        for field, errors in row["rollouts"].items():
            guesses = [
                "{:.3g} [{:.3g}, {:.3g}]".format(errors[guess], *errors[f"over_{guess}"])
                for guess in ("persistence", "velocity")
            ]
            yield [row["env"], str(row["seed"]), field, f"{errors['model']:.3g}", *guesses]


def slowed_cells(row: Mapping[str, Any]) -> list[str]:
    """How much slower something is, or how much less far it gets, in truth and by the model.

    >>> slowed = {"cases": 5, "true_mean": -2.0, "believed_mean": -1.5, "half_as_much": 0.8}
    >>> slowed["replay_error"] = [1e-6, 0.42]
    >>> slowed_cells({"env": "highway", "seed": 0, "slowed": slowed})
    ['highway', '0', '5', '-2', '-1.5', '80 %', '1e-06, 0.42 at most']
    """
    found, start = row["slowed"], [row["env"], str(row["seed"])]
    if not found["cases"]:
        return [*start, "0", "", "", "", ""]
    half = "" if found["half_as_much"] is None else f"{100 * found['half_as_much']:.0f} %"
    means = (f"{found[name]:.3g}" for name in ("true_mean", "believed_mean"))
    usual, most = found["replay_error"]
    return [*start, str(found["cases"]), *means, half, f"{usual:.2g}, {most:.2g} at most"]
