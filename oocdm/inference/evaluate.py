"""How well a model predicts a dataset: AILL, and per field what a person wants to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from oocdm.data.dataset import Dataset
from oocdm.graph import ClassGraph, VariableGraph
from oocdm.models.prediction import NormalField, Predictions
from oocdm.models.scales import as_numbers
from oocdm.models.world_model import AbstractWorldModel

COVERAGE_SIGMAS = 1.6448536269514722  # a normal lies within so many sigmas with probability 0.9


class Fitted(Protocol):
    """Anything with a model and the graph it predicts with."""

    @property
    def model(self) -> AbstractWorldModel: ...

    @property
    def graph(self) -> ClassGraph | VariableGraph: ...


@dataclass(frozen=True)
class FieldReport:
    """Quality of one field: mean log-likelihood in nats, error, and calibration.

    `rmse` and `coverage` (share of values inside the central 90 % interval) are given for
    normals, `accuracy` for choices among values.
    """

    log_likelihood: float
    rmse: float | None
    accuracy: float | None
    coverage: float | None
    count: int


@dataclass(frozen=True)
class Evaluation:
    """Quality of a model on a dataset; `aill` is the paper's average instance log-likelihood."""

    aill: float
    fields: dict[str, FieldReport]
    transitions: int

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dictionary."""
        return {
            "aill": self.aill,
            "transitions": self.transitions,
            "fields": {name: vars(report) for name, report in self.fields.items()},
        }

    def __str__(self) -> str:
        rows = [f"AILL {self.aill:.3f} on {self.transitions:,} transitions"]
        for name, r in self.fields.items():
            error = f"rmse {r.rmse:.4g}" if r.rmse is not None else f"accuracy {r.accuracy:.4f}"
            cover = "" if r.coverage is None else f", 90 % interval covers {100 * r.coverage:.1f} %"
            rows.append(f"  {name:<20} log-likelihood {r.log_likelihood:8.3f}, {error}{cover}")
        return "\n".join(rows)


@torch.no_grad()
def evaluate(
    result: Fitted,
    data: Dataset,
    batch_size: int = 4096,
    graph: ClassGraph | VariableGraph | None = None,
) -> Evaluation:
    """Evaluate a fitted model on a dataset, in raw units, under its own graph or another.

    For each field, log-likelihoods are summed over all known values of objects present before
    and after a step and divided by their number; AILL is the sum over all fields.
    """
    model, schema = result.model, result.model.schema
    data.check_schema(schema, "the model")
    sums: dict[tuple[str, str], np.ndarray] = {
        (c, v): np.zeros(5) for c in schema.classes for v in schema.targets(c)
    }
    predict = model.with_graph(result.graph if graph is None else graph)
    for start in range(0, len(data), batch_size):
        rows = np.arange(start, min(start + batch_size, len(data)))
        transitions = data.transitions(rows).to(model.device)
        targets = model.targets(transitions)
        predictions = predict(transitions.before)
        scores = predictions.log_prob(targets)
        for (c, v), total in sums.items():
            i = schema.targets(c).index(v)
            known = targets.known[c][..., i]
            value = targets.values[c][..., i, : schema.field(c, v).size]
            total += _tally(predictions, c, v, scores[c][..., i], value, known)
    fields = {f"{c}.{v}": _report(schema.field(c, v).likelihood, t) for (c, v), t in sums.items()}
    aill = sum(report.log_likelihood for report in fields.values())
    return Evaluation(aill, fields, len(data))


def _tally(
    predictions: Predictions, c: str, v: str, score: Tensor, value: Tensor, known: Tensor
) -> np.ndarray:
    """Sums over known values: log-likelihood, squared error, hits, covered, count."""
    distribution = predictions[c, v]
    size = value.shape[-1]
    squared, hits, covered = 0.0, 0.0, 0.0
    if isinstance(distribution, NormalField):
        shape = (*known.shape, size)
        error = (value - distribution.mean.reshape(shape)).double()[known]
        sigma = distribution.sigma.reshape(shape).double()[known]
        squared = float(error.square().sum() / size)
        covered = float((error.abs() <= COVERAGE_SIGMAS * sigma).double().sum() / size)
    else:
        field = distribution.field
        mode = as_numbers(field, distribution.mode(), value.dtype)
        hits = float((mode == value).all(-1)[known].sum())
    log_likelihood = float(score.double()[known].sum())
    return np.array([log_likelihood, squared, hits, covered, float(known.sum())])


def _report(likelihood: str, total: np.ndarray) -> FieldReport:
    log_likelihood, squared, hits, covered, count = total
    n = max(count, 1.0)
    is_normal = likelihood == "normal"
    return FieldReport(
        log_likelihood=log_likelihood / n,
        rmse=float(np.sqrt(squared / n)) if is_normal else None,
        accuracy=None if is_normal else hits / n,
        coverage=covered / n if is_normal else None,
        count=int(count),
    )
