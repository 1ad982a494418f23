"""What many fits of generated worlds say together: errors, power, and nats below the truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats

from oocdm.errors import OocdmError

# What edges are worth, in nats a number of the target, in the classes in which power is told.
STRONG, VISIBLE = 0.02, 0.007
LEVELS = ((STRONG, np.inf), (VISIBLE, STRONG))
CURVE = (0.0, 0.001, 0.003, 0.005, 0.007, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, np.inf)
TAIL = 95.0  # percentile of nats below the truth
PLACES = ("id", "ood")
POOLED = "all"

World = Mapping[str, Any]  # a cell of the benchmark


def summarise_families(worlds: Sequence[World]) -> dict[str, Any]:
    """Figures of each family in the order of the worlds, and of all together as "all"."""
    if not worlds:
        raise OocdmError("bench calibration: expected at least one family and one seed, got none.")
    families = dict.fromkeys(world["family"] for world in worlds)
    found = {f: summarise([w for w in worlds if w["family"] == f]) for f in families}
    return {**found, POOLED: summarise(worlds)}


def summarise(worlds: Sequence[World]) -> dict[str, Any]:
    """Figures of some worlds, JSON-ready.

    The share that is wrong among what was found is a mean over worlds, as the control of false
    discoveries is defined; its interval is that of a mean of independent worlds. If no world
    has any wrong edge it has no width. Power counts edges, with intervals of Wilson.
    """
    edges = [edge for world in worlds for edge in world["edges"]]
    true = [edge for edge in edges if edge["is_true"]]
    wrong = [_count(w, is_true=False, is_found=True) for w in worlds]
    found = [wrong[i] + _count(w, is_true=True, is_found=True) for i, w in enumerate(worlds)]
    shares = np.array(wrong) / np.maximum(found, 1)
    seconds = np.array([w["processor_seconds"] for w in worlds])
    return {
        "worlds": len(worlds),
        "found": sum(found),
        "wrong": sum(wrong),
        "wrong_share": float(shares.mean()),
        "wrong_interval": mean_interval(shares),
        "power": [_power(true, low, high) for low, high in LEVELS],
        "curve": [_power(true, low, high) for low, high in pairwise(CURVE)],
        "exact": float(np.mean([_is_exact(w) for w in worlds])),
        "strong_found": float(np.mean([_has_strong(w) for w in worlds])),
        **{place: _fields([w["fields"][place] for w in worlds]) for place in PLACES},
        "settled": _mean([float(w["settled"]) for w in worlds if w["settled"] is not None]),
        "processor_seconds": {"median": float(np.median(seconds)), "most": float(seconds.max())},
    }


def mean_interval(values: np.ndarray) -> list[float]:
    """The 95 % interval of the mean of shares in independent worlds, by Student's t.

    >>> [round(end, 3) for end in mean_interval(np.array([0.0, 0.1, 0.2]))]
    [0.0, 0.348]
    """
    low, high = t_interval(values)
    return [max(low, 0.0), min(high, 1.0)]


def t_interval(values: np.ndarray) -> list[float]:
    """The 95 % interval of a mean of independent numbers; infinite if there are not two.

    >>> [round(end, 3) for end in t_interval(np.array([0.0, 0.1, 0.2]))]
    [-0.148, 0.348]
    """
    if len(values) < 2:
        return [-np.inf, np.inf]
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    return [float(values.mean() - half), float(values.mean() + half)]


def share_interval(hits: int, total: int) -> list[float]:
    """The 95 % interval of a share, by Wilson.

    >>> [round(end, 3) for end in share_interval(9, 10)]
    [0.596, 0.982]
    """
    if total == 0:
        return [0.0, 1.0]
    low, high = stats.binomtest(hits, total).proportion_ci(0.95, "wilson")
    return [float(low), float(high)]


def _count(world: World, is_true: bool, is_found: bool) -> int:
    kind = (is_true, is_found)
    return sum((edge["is_true"], edge["is_found"]) == kind for edge in world["edges"])


def _power(true: Iterable[Mapping[str, Any]], low: float, high: float) -> dict[str, Any]:
    """How many of the edges that are worth so much were found, with what they are worth."""
    edges = [edge for edge in true if low <= edge["worth"] < high]
    found = sum(edge["is_found"] for edge in edges)
    return {
        "low": low,
        "high": None if np.isinf(high) else high,
        "edges": len(edges),
        "found": found,
        "share": found / len(edges) if edges else None,
        "interval": share_interval(found, len(edges)),
        "worth": float(np.median([edge["worth"] for edge in edges])) if edges else None,
    }


def _has_strong(world: World) -> bool:
    """Whether all edges that are worth much were found."""
    return all(e["is_found"] for e in world["edges"] if e["is_true"] and e["worth"] >= STRONG)


def _is_exact(world: World) -> bool:
    """Whether moreover nothing was found that is not there."""
    return _has_strong(world) and not _count(world, is_true=False, is_found=True)


def _fields(worlds: Sequence[Mapping[str, Mapping[str, float | None]]]) -> dict[str, Any]:
    """Over the fields of all worlds: nats below the truth, and the mean coverage."""
    fields = [field for world in worlds for field in world.values()]
    below = [np.inf if f["nats_below"] is None else f["nats_below"] for f in fields]
    covered = [f["coverage"] for f in fields if f["coverage"] is not None]
    return {
        "fields": len(fields),
        "median": _finite(np.percentile(below, 50, method="higher")),
        "tail": _finite(np.percentile(below, TAIL, method="higher")),
        "coverage": _mean(covered),
    }


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _finite(value: np.floating[Any]) -> float | None:
    return float(value) if np.isfinite(value) else None
