"""What agents earn, as rows of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RETURNS = ["agent", "start", "seed", "return", "paper", "steps an episode", "ms a step"]
UNSEEN = [
    *("agent", "seed", "AILL train", "AILL seen", "AILL unseen"),
    *("return seen", "return unseen", "ms a step"),
]
# What the paper reports: mean over five seeds.
PAPER_RETURNS = {
    "id": {"oocdm": 80.1, "oofull": 77.9, "gnn": 6.6, "cdl": 3.9, "mlp": 0.6, "ticsa": -0.8,
           "grader": -1.2, "cdl-a": -5.0},
    "ood": {"oocdm": 75.1, "oofull": 62.2, "cdl": 1.8, "gnn": 0.6, "grader": -0.4, "cdl-a": -0.9,
            "ticsa": -1.2, "mlp": -1.3},
}  # fmt: skip
PAPER_UNSEEN = {
    "oocdm": {"aill_train": 26.9, "aill_seen": 25.4, "aill_unseen": 24.8, "seen": 94.8,
              "unseen": 88.8},
    "oofull": {"aill_train": 30.7, "aill_seen": 22.5, "aill_unseen": 7.9, "seen": 77.0,
               "unseen": 70.8},
}  # fmt: skip
PLANNING = ["environment", "threads", "fast ms", "reference ms", "ratio", "same actions"]
GROWTH = ["objects", "threads", "ms an action"]
ONLINE = [
    *("environment", "seed", "return online", "return offline", "difference"),
    *("AILL online", "AILL offline"),
]
_STARTS = {"id": "i.d.", "ood": "o.o.d."}


def returns_cells(cell: Mapping[str, Any]) -> list[str]:
    """One cell of `oocdm bench paper --table returns` as text.

    >>> cell = {"agent": "oocdm", "kind": "id", "seed": 0, "mean_return": 90.0}
    >>> cell |= {"standard_error": 2.0, "lengths": [300, 200], "ms_a_step": 250.0}
    >>> returns_cells(cell)
    ['oocdm', 'i.d.', '0', '90.0 ± 2.0', '80.1', '250', '250']
    """
    paper = PAPER_RETURNS[cell["kind"]].get(cell["agent"])
    return [
        cell["agent"],
        _STARTS[cell["kind"]],
        str(cell["seed"]),
        _earned(cell),
        "" if paper is None else f"{paper}",
        f"{sum(cell['lengths']) / len(cell['lengths']):.0f}",
        f"{cell['ms_a_step']:.0f}",
    ]


def unseen_cells(cell: Mapping[str, Any]) -> list[str]:
    """One cell of `oocdm bench paper --table unseen` as text, the paper's figures in brackets.

    >>> earned = {"mean_return": 9.0, "standard_error": 1.0, "ms_a_step": 0.1}
    >>> unseen_cells({"agent": "random", "seed": 0, "seen": earned, "unseen": earned})
    ['random', '0', '', '', '', '9.0 ± 1.0', '9.0 ± 1.0', '0']
    """
    paper = PAPER_UNSEEN.get(cell["agent"], {})
    bracket = {name: f" ({value})" for name, value in paper.items()}
    return [
        cell["agent"],
        str(cell["seed"]),
        *(
            f"{cell[name]:.1f}{bracket.get(name, '')}" if name in cell else ""
            for name in ("aill_train", "aill_seen", "aill_unseen")
        ),
        *(_earned(cell[kind]) + bracket.get(kind, "") for kind in ("seen", "unseen")),
        f"{cell['unseen']['ms_a_step']:.0f}",
    ]


def planning_cells(row: Mapping[str, Any]) -> list[str]:
    """One row of `oocdm bench planning` as text.

    >>> row = {"env": "mouse", "threads": 1, "fast_ms": 400.0, "reference_ms": 8000.0}
    >>> planning_cells(row | {"ratio": 20.0, "same_actions": 2, "actions": 2})
    ['mouse', '1', '400', '8,000', '20.0x', '2 of 2']
    """
    return [
        row["env"],
        str(row["threads"]),
        f"{row['fast_ms']:,.0f}",
        f"{row['reference_ms']:,.0f}",
        f"{row['ratio']:.1f}x",
        f"{row['same_actions']} of {row['actions']}",
    ]


def growth_cells(row: Mapping[str, Any]) -> list[str]:
    """One number of objects of `oocdm bench planning` as text.

    >>> growth_cells({"objects": 13, "threads": 1, "ms": 412.3})
    ['13', '1', '412']
    """
    return [str(row["objects"]), str(row["threads"]), f"{row['ms']:,.0f}"]


def online_cells(cell: Mapping[str, Any]) -> list[str]:
    """One cell of `oocdm bench online` as text; AILL is on data of the random policy.

    >>> earned = {"mean_return": 9.0, "standard_error": 1.0, "aill_random": 12.0}
    >>> both = {"online": earned, "offline": earned, "difference": 0.0, "standard_error": 0.5}
    >>> online_cells({"env": "mouse", "seed": 0, **both})
    ['mouse', '0', '9.0 ± 1.0', '9.0 ± 1.0', '0.0 ± 0.5', '12.00', '12.00']
    """
    ways = [cell["online"], cell["offline"]]
    return [
        cell["env"],
        str(cell["seed"]),
        *map(_earned, ways),
        f"{cell['difference']:.1f} ± {cell['standard_error']:.1f}",
        *(f"{way['aill_random']:.2f}" for way in ways),
    ]


def _earned(cell: Mapping[str, Any]) -> str:
    error = cell["standard_error"]
    return f"{cell['mean_return']:.1f}" + ("" if error is None else f" ± {error:.1f}")
