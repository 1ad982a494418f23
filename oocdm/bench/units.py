"""Do answers depend on units? The same worlds in other ones: graphs and errors side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from oocdm.bench.machine import describe_machine
from oocdm.bench.results import Result, recall
from oocdm.data import Dataset
from oocdm.envs import make
from oocdm.errors import OocdmError, suggest
from oocdm.inference import Fitted, evaluate
from oocdm.methods import Schedule
from oocdm.schema import ObjectClass, Real, Schema
from oocdm.training import FitResult, Progress, fit
from oocdm.worlds import collect

SEED = 0
TEST_STEPS = 2_000
# Powers of two, which round nothing: about 1e-8, 1e-3, 1e3 and 1e8.
EXPONENTS = (-27, -10, 10, 27)
UNITS = ("2^0", *(f"2^{exponent}" for exponent in EXPONENTS), "mixed")
LARGEST_DIFFERENCE = 0.01  # of relative errors, as a share of them

# Told what is being fitted, and how far that is.
Tell = Callable[[str, Progress], None]


@dataclass(frozen=True)
class World:
    """A world that is fitted in all units."""

    env: str
    options: Mapping[str, Any]
    steps: int
    schedule: Schedule = field(default_factory=Schedule)


WORLDS = {
    "block2": World("block", {"num_blocks": 2}, 10_000),
    # Cut short: two rounds of learning and a short polish.
    "mouse": World("mouse", {}, 20_000, Schedule(iterations=2, polish_steps=500)),
    **{f"generated{i}": World("generated", {"world_seed": i}, 10_000) for i in range(5)},
}


def run_units(
    worlds: Sequence[str] | None = None,
    units: Sequence[str] | None = None,
    results_folder: str | Path | None = None,
    progress: Tell | None = None,
) -> dict[str, Any]:
    """Fit worlds in several units and compare graphs and relative errors with those in their own.

    All settings are the defaults but the schedule of Mouse, which is shorter. There is no limit of
    time: fits that end at other steps cannot be compared. With a results folder each finished fit
    is written there, and those that are there already are read.
    """
    for name, known in [*((w, WORLDS) for w in worlds or ()), *((u, UNITS) for u in units or ())]:
        if name not in known:
            raise OocdmError(f"bench units: unknown `{name}`. {suggest(name, known)}")
    rows = []
    for world in worlds or WORLDS:
        cells = {
            unit: recall(results_folder, f"{world}-{unit}", partial(_run, world, unit, progress))
            for unit in dict.fromkeys([UNITS[0], *(units or UNITS)])
        }
        own = cells.pop(UNITS[0])
        rows += [{**cell, **compare_cells(own, cell)} for cell in cells.values()]
    return {"rows": rows}


def _run(world: str, unit: str, progress: Tell | None) -> Result:
    def tell(state: Progress) -> None:
        if progress is not None:
            progress(f"{world}, {unit}", state)

    chosen = WORLDS[world]
    env = make(chosen.env, **chosen.options)
    data, test = collect(env, chosen.steps, seed=SEED), collect(env, TEST_STEPS, seed=SEED + 1)
    exponents = exponents_of(data.schema, unit)
    scaled = in_units(data, exponents)
    result = fit(scaled, seed=SEED, schedule=chosen.schedule, callback=tell)
    return {
        "world": world,
        "units": unit,
        "exponents": dict(exponents),
        "decisions": _decisions(result),
        "relative_errors": relative_errors(result, in_units(test, exponents)),
        "seconds": result.seconds,
        "command": f"oocdm bench units --env {world} --unit {unit}",
        **describe_machine(),
    }


def exponents_of(schema: Schema, unit: str) -> dict[str, int]:
    """By which power of two each name of a Real field is multiplied.

    Fields of one name have one unit, since models compare them between objects. "mixed" gives each
    name another power.

    >>> class Ball(ObjectClass):
    ...     x, y = Real(), Real()
    >>> exponents_of(Schema(Ball), "2^10"), exponents_of(Schema(Ball), "mixed")
    ({'x': 10, 'y': 10}, {'x': -27, 'y': -10})
    """
    names = dict.fromkeys(
        f for c in schema.classes for f, kind in schema.fields(c).items() if kind.is_real
    )
    if unit == "mixed":
        return {name: EXPONENTS[i % len(EXPONENTS)] for i, name in enumerate(names)}
    return dict.fromkeys(names, int(unit.removeprefix("2^")))


def in_units(data: Dataset, exponents: Mapping[str, int]) -> Dataset:
    """The data with every Real field and its bounds times a power of two.

    >>> data = collect(make("block", num_blocks=2), steps=5, seed=0)
    >>> scaled = in_units(data, exponents_of(data.schema, "2^10"))
    >>> bool((scaled.values["Block"]["s1"] == 1024 * data.values["Block"]["s1"]).all())
    True
    """
    values = {
        c: {
            f: np.ldexp(column, exponents[f]) if data.schema.field(c, f).is_real else column
            for f, column in columns.items()
        }
        for c, columns in data.values.items()
    }
    return replace(data, schema=schema_in_units(data.schema, exponents), values=values)


def schema_in_units(schema: Schema, exponents: Mapping[str, int]) -> Schema:
    """The schema with the bounds of its Real fields times a power of two.

    >>> class Ball(ObjectClass):
    ...     x = Real(0.0, 3.0)
    >>> schema_in_units(Schema(Ball), {"x": 10}).field("Ball", "x").high
    3072.0
    """
    classes = []
    for c in schema.classes:
        fields = {
            f: _scaled(kind, 2.0 ** exponents[f]) if isinstance(kind, Real) else kind
            for f, kind in schema.fields(c).items()
        }
        classes.append(type(c, (ObjectClass,), fields))
    return Schema(*classes)


def _scaled(kind: Real, factor: float) -> Real:
    low, high = (None if end is None else factor * end for end in (kind.low, kind.high))
    return replace(kind, low=low, high=high)


def relative_errors(result: Fitted, data: Dataset) -> dict[str, float]:
    """Of each field: its root mean squared error over its spread, or the share of wrong choices."""
    errors = {}
    for name, report in evaluate(result, data).fields.items():
        c, f = data.schema.split(name)
        known = data.values[c][f][data.observed[c][f]].astype(float)
        if report.accuracy is not None:
            errors[name] = 1 - report.accuracy
        elif report.rmse is not None:
            spread = float(np.sqrt(known.var(0).mean()))
            errors[name] = report.rmse / spread if spread else float(report.rmse > 0)
    return errors


def compare_cells(own: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """In what two cells of a world differ: edges that one has found and the other not, and errors.

    >>> one = {"decisions": {"edge": "yes"}, "relative_errors": {"x": 0.5}}
    >>> two = {"decisions": {"edge": "undecided"}, "relative_errors": {"x": 0.49}}
    >>> compare_cells(one, two)["is_same"], round(compare_cells(one, two)["difference"], 3)
    (False, 0.02)
    """
    mine, theirs = own["decisions"], other["decisions"]
    found = {"yes", "required"}
    differ = [edge for edge in mine if (mine[edge] in found) != (theirs[edge] in found)]
    shares = [
        abs(other["relative_errors"][f] - error) / max(error, other["relative_errors"][f])
        for f, error in own["relative_errors"].items()
        if error != other["relative_errors"][f]
    ]
    difference = max(shares, default=0.0)
    return {
        "different_edges": {edge: [mine[edge], theirs[edge]] for edge in differ},
        "different_words": {e: [mine[e], theirs[e]] for e in mine if mine[e] != theirs[e]},
        "difference": difference,
        "is_same": not differ and difference <= LARGEST_DIFFERENCE,
    }


def _decisions(result: FitResult) -> dict[str, str]:
    evidence = result.evidence
    return dict(zip(result.model.edges.names, map(str, evidence.decision), strict=True))
