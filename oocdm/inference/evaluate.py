"""How well a model predicts a dataset: AILL, and per field what a person wants to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from oocdm.data.dataset import Dataset
from oocdm.errors import ModelError
from oocdm.graph.class_graph import GivenGraph
from oocdm.inference.fitted import Fitted, check_fit, checked_data, checked_result, predictor
from oocdm.inference.seen import seen_by
from oocdm.inference.words import counted
from oocdm.models.memory import largest_fit, measure
from oocdm.models.mixture_field import MixtureField
from oocdm.models.normal_field import NormalField
from oocdm.models.prediction import Predictions
from oocdm.models.prepared import Budget
from oocdm.models.scales import as_numbers
from oocdm.reading import Count, checked

COVERED = 0.9  # the probability of the intervals whose coverage is told
COVERAGE_SIGMAS = 1.6448536269514722  # a normal lies within so many sigmas with that


@dataclass(frozen=True)
class FieldReport:
    """Quality of one field: mean log-likelihood in nats, error, and calibration.

    `rmse` and `coverage` (share of values inside the central 90 % interval) are given for
    numbers, `accuracy` for choices among values. Without any known value, `count` 0, there is
    none of them.

    >>> print(FieldReport(-1.25, None, 0.75, None, count=200))
    log-likelihood   -1.250, accuracy 0.7500
    >>> print(FieldReport(None, None, None, None, count=0))
    no values
    """

    log_likelihood: float | None
    rmse: float | None
    accuracy: float | None
    coverage: float | None
    count: int
    is_constant: bool = False  # had a single value in training, and is no part of AILL

    def __str__(self) -> str:
        if self.log_likelihood is None:
            return "no values"
        parts = [f"log-likelihood {self.log_likelihood:8.3f}"]
        if self.rmse is not None:
            parts.append(f"rmse {self.rmse:.4g}")
        if self.accuracy is not None:
            parts.append(f"accuracy {self.accuracy:.4f}")
        if self.coverage is not None:
            parts.append(f"90 % interval covers {100 * self.coverage:.1f} %")
        if self.is_constant:
            parts.append("not in AILL: a single value in training")
        return ", ".join(parts)


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Quality of a model on a dataset; `aill` is the paper's average instance log-likelihood.

    >>> report = Evaluation(-1.25, {"Lamp.on": FieldReport(-1.25, None, 0.75, None, 200)}, 200)
    >>> report
    Evaluation(AILL -1.250 on 200 transitions; 1 field)
    >>> print(report)
    AILL -1.250 on 200 transitions
      Lamp.on              log-likelihood   -1.250, accuracy 0.7500
    """

    aill: float
    fields: dict[str, FieldReport]
    transitions: int
    outside: tuple[str, ...] = ()  # of what was seen in training, in words

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dictionary."""
        return {
            "aill": self.aill,
            "transitions": self.transitions,
            "fields": {name: vars(report) for name, report in self.fields.items()},
            "outside": list(self.outside),
        }

    def __str__(self) -> str:
        rows = [f"  {name:<20} {report}" for name, report in self.fields.items()]
        return "\n".join([self._headline(), *rows, *self.outside])

    def __repr__(self) -> str:
        return f"Evaluation({self._headline()}; {counted(len(self.fields), 'field')})"

    def _headline(self) -> str:
        return f"AILL {self.aill:.3f} on {counted(self.transitions, 'transition')}"


@checked(ModelError)
@torch.no_grad()
def evaluate(
    result: Fitted,
    data: Dataset,
    batch_size: Count = 4096,
    graph: GivenGraph | None = None,
    doubts: bool = True,
) -> Evaluation:
    """Evaluate a fitted model on a dataset, in raw units, under its own graph or another.

    Its own is the one that it predicts with. The report's `outside` says which fields have values
    before the steps that lie outside what was seen in training. Where copies of the model disagree
    more than usual predictions are less sure, unless `doubts` is False.

    For each field, log-likelihoods are summed over all known values of objects present before
    and after a step and divided by their number; AILL is the sum over all fields. A field without
    any such value has no figures, and AILL leaves it out. So it does with what had one value in
    training: how sure a model is of that says nothing of the model.
    """
    checked_result("evaluate", result)
    data = checked_data("evaluate", data)
    model, schema = result.model, result.model.schema
    check_fit("evaluate", result, data)
    sums: dict[tuple[str, str], np.ndarray] = {
        (c, v): np.zeros(5) for c in schema.classes for v in schema.targets(c)
    }
    predict = predictor(result, graph, doubts)

    def taken(num: int) -> int:
        before = data.transitions(slice(0, num)).before.to(model.device)
        return measure(lambda: predict(before)).peak

    # Scores take about as much as what they are made from.
    found = largest_fit(taken, min(batch_size, len(data)), Budget().largest // 2)
    batch_size = max(found.size, 1)
    seen, counts = seen_by(result), dict[str, np.ndarray]()
    for start in range(0, len(data), batch_size):
        rows = np.arange(start, min(start + batch_size, len(data)))
        transitions = data.transitions(rows).to(model.device)
        targets = model.targets(transitions)
        if seen is not None:
            for name, pair in seen.count(transitions.before).items():
                counts[name] = counts.get(name, 0) + pair
        predictions = predict(transitions.before)
        scores = predictions.log_prob(targets)
        for (c, v), total in sums.items():
            i = schema.targets(c).index(v)
            known = targets.known[c][..., i]
            value = targets.values[c][..., i, : schema.field(c, v).size]
            total += _tally(predictions, c, v, scores[c][..., i], value, known)
    constants = () if seen is None else seen.constants
    fields = {
        f"{c}.{v}": _report(schema.field(c, v).is_choice, t, f"{c}.{v}" in constants)
        for (c, v), t in sums.items()
    }
    means = (report.log_likelihood for report in fields.values() if not report.is_constant)
    aill = sum((mean for mean in means if mean is not None), 0.0)
    outside = () if seen is None else tuple(seen.notes(counts))
    return Evaluation(aill, fields, len(data), outside)


def _tally(
    predictions: Predictions, c: str, v: str, score: Tensor, value: Tensor, known: Tensor
) -> np.ndarray:
    """Sums over known values: log-likelihood, squared error, hits, covered, count."""
    distribution = predictions[c, v]
    size = value.shape[-1]
    squared, hits, covered = 0.0, 0.0, 0.0
    if isinstance(distribution, NormalField | MixtureField):
        shape = (*known.shape, size)
        error = (value - distribution.mean.reshape(shape)).double()[known]
        squared = float(error.square().sum() / size)
        if isinstance(distribution, NormalField):
            sigma = distribution.sigma.reshape(shape).double()[known]
            is_inside = error.abs() <= COVERAGE_SIGMAS * sigma
        else:
            below = distribution.cdf(value.reshape(distribution.chance.shape))
            is_inside = ((below - 0.5).abs() <= COVERED / 2).reshape(shape)[known]
        covered = float(is_inside.double().sum() / size)
    else:
        field = distribution.field
        mode = as_numbers(field, distribution.mode(), value.dtype)
        hits = float((mode == value).all(-1)[known].sum())
    log_likelihood = float(score.double()[known].sum())
    return np.array([log_likelihood, squared, hits, covered, float(known.sum())])


def _report(is_choice: bool, total: np.ndarray, is_constant: bool) -> FieldReport:
    log_likelihood, squared, hits, covered, count = total
    if count == 0:
        return FieldReport(None, None, None, None, count=0)
    return FieldReport(
        log_likelihood=log_likelihood / count,
        rmse=float(np.sqrt(squared / count)) if not is_choice else None,
        accuracy=hits / count if is_choice else None,
        coverage=covered / count if not is_choice else None,
        count=int(count),
        is_constant=is_constant,
    )
