"""Whether held-out data fit the assumptions behind causal discovery from transitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from scipy.stats import false_discovery_control, t
from torch import Tensor

from oocdm.data.dataset import Dataset
from oocdm.errors import DataError
from oocdm.inference.evaluate import Fitted
from oocdm.models.prediction import FieldDistribution, NormalField
from oocdm.models.scales import as_numbers
from oocdm.schema import Categorical, Field

MIN_EPISODES = 8  # fewer say too little about how an effect varies from episode to episode
MIN_SIZE = 0.05  # correlations and shares below it do no harm, however significant
FALSE_DISCOVERY_RATE = 0.05  # among the findings of a kind
LARGEST = 5.0  # residuals are cut off here, so that single surprises do not dominate
RIDGE = 1e-3  # keeps regressions on fields that are nearly proportional to each other stable


@dataclass(frozen=True)
class Finding:
    """One assumption that data speak against; prints as a sentence.

    `kind` is "within step", "history" or "common cause", `what` names the fields involved, `size`
    is a correlation or, for "history", a share of variance, and `p_value` that of no effect at all.

    >>> print(Finding("history", ("Ball.x",), 0.12, 1e-6, "Ball.x depends on its past."))
    Ball.x depends on its past.
    """

    kind: str
    what: tuple[str, ...]
    size: float
    p_value: float
    text: str

    def __str__(self) -> str:
        return self.text


def check_assumptions(result: Fitted, data: Dataset, batch_size: int = 4096) -> list[Finding]:
    """What in held-out data speaks against the assumptions of discovery, largest first.

    Three things are looked for in the residuals of the predictions under the graph, in units of
    the predicted standard deviation: fields of one object that move together (next fields should
    be independent given the current state), fields that the step before the current one helps to
    predict, linearly and beyond the current one (the current state should be enough), and objects
    or classes that move together (no cause of several should be missing from the log). Episodes
    count as the independent samples, at least 8; a check for which fewer have values is left out.
    A finding has a size of at least 0.05, and a false-discovery rate of 5 % holds for each kind.

    Findings are about the world only as far as the model has learned it. The residuals of a field
    without noise are nothing but the model's approximation errors, which follow patterns of their
    own: there, a finding may just ask for longer training. Patterns much finer than the predicted
    standard deviation do not count, and residuals beyond five of them count as five.

    >>> from types import SimpleNamespace
    >>> import pandas as pd
    >>> from oocdm.graph import ClassGraph
    >>> from oocdm.models.fast import FastModel
    >>> from oocdm.models.features import Featuriser
    >>> from oocdm.models.options import ModelOptions
    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     y = Real()
    >>> schema, noise = Schema(Ball), np.random.default_rng(0).normal(size=(2, 400))
    >>> log = pd.DataFrame({"episode": np.repeat(range(20), 20), "step": np.tile(range(20), 20),
    ...                     "object": 0, "x": noise[0], "y": noise[0] + noise[1]})
    >>> data = Dataset.from_frames({"Ball": log}, schema)
    >>> model = FastModel(schema, ModelOptions(), Featuriser.measure(data.transitions()))
    >>> result = SimpleNamespace(model=model, graph=ClassGraph.empty(schema))  # or that of `fit`
    >>> for finding in check_assumptions(result, data):
    ...     print(finding)
    Ball.x and Ball.y move together beyond what the graph explains (correlation 0.6...): one may \
cause the other within a step, or both share a cause that was not logged.
    """
    data.check_schema(result.model.schema, "the model")
    ids, episode = np.unique(data.episode_of, return_inverse=True)
    if len(ids) < MIN_EPISODES:
        raise DataError(
            f"check_assumptions: expected at least {MIN_EPISODES} episodes with transitions, got "
            f"{len(ids)}. Effects are judged by how they vary between episodes; log more of them."
        )
    residuals = _residuals(result, data, batch_size)
    findings: dict[tuple[str, tuple[str, ...]], Finding] = {}
    for check in (_within_step, _history, _common_causes):
        tested = list(check(residuals, episode, data))
        adjusted = false_discovery_control([f.p_value for f in tested]) if tested else []
        for finding, p in zip(tested, adjusted, strict=True):
            key = (finding.kind, finding.what)  # of a vector's components, the largest counts
            if p <= FALSE_DISCOVERY_RATE and abs(finding.size) >= MIN_SIZE:
                findings[key] = max(findings.get(key, finding), finding, key=_abs_size)
    return sorted(findings.values(), key=_abs_size, reverse=True)


def _abs_size(finding: Finding) -> float:
    return abs(finding.size)


# -------------------------------------------------------------------- the three checks


def _within_step(
    residuals: list[_Residual], episode: np.ndarray, data: Dataset
) -> Iterator[Finding]:
    """Two fields of the same object."""
    for a, b in combinations(residuals, 2):
        if a.class_name != b.class_name or a.name == b.name:
            continue
        found = _judge((a.value * b.value).sum(1), (a.known & b.known).sum(1), episode)
        if found is not None:
            text = (
                f"{_move(a, b, found[0])} (correlation {found[0]:.2f}): one may cause the other "
                "within a step, or both share a cause that was not logged."
            )
            yield Finding("within step", (a.name, b.name), *found, text)


def _history(residuals: list[_Residual], episode: np.ndarray, data: Dataset) -> Iterator[Finding]:
    """A field and the fields of its object two steps earlier, given those one step earlier.

    Without the latter, a speed that was not logged would stay unseen: it is the difference of
    two positions, and hardly correlated with either. And what a model has missed of the current
    state would be taken for a memory.
    """
    second = np.flatnonzero(np.isin(data.starts - 1, data.starts))  # those with a step before
    columns: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
    for r in residuals:
        if r.class_name not in columns:
            now, is_complete = _columns(data, r.class_name, data.starts[second])
            before, was_complete = _columns(data, r.class_name, data.starts[second] - 1)
            columns[r.class_name] = now, now - before, is_complete & was_complete
        now, change, known = columns[r.class_name]
        known = known & r.known[second]
        if not known.any():
            continue
        y, steps = r.value[second][known], np.nonzero(known)[0]
        group = np.unique(episode[second][steps], return_inverse=True)[1]
        one, two = _scaled(now[known]), _scaled(change[known])
        ones = np.ones((len(y), 1))
        errors = _held_out_errors(np.hstack([ones, one]), y, group % 2)
        fewer = _held_out_errors(np.hstack([ones, one, two]), y, group % 2)
        found = _judge(errors**2 - fewer**2, np.ones(len(y)), group, is_one_sided=True)
        if found is not None:
            text = (
                f"{r.name} still depends on what was two steps ago (explains {found[0]:.0%} of "
                "what is left): log a longer history, e.g. add the previous value as a field."
            )
            yield Finding("history", (r.name,), *found, text.replace("%", " %"))


def _common_causes(
    residuals: list[_Residual], episode: np.ndarray, data: Dataset
) -> Iterator[Finding]:
    """The same field of different objects of a class; fields of two classes."""
    for r in residuals:
        num = r.known.sum(1)
        pairs = (r.value.sum(1) ** 2 - (r.value**2).sum(1)) / 2
        found = _judge(pairs, num * (num - 1) / 2, episode)
        if found is not None:
            how = "together" if found[0] > 0 else "apart"
            text = (
                f"Objects of class {r.class_name} are pushed {how} in {r.field_name} (correlation "
                f"{found[0]:.2f} between objects): something that acts on all of them is not "
                "logged, or they act on each other within a step."
            )
            yield Finding("common cause", (r.name,), *found, text)
    for a, b in combinations(residuals, 2):
        if a.class_name == b.class_name:
            continue
        known = a.known.any(1) & b.known.any(1)
        product = _to_unit(a.mean(), known) * _to_unit(b.mean(), known)
        found = _judge(product, known, episode)
        if found is not None:
            text = (
                f"{_move(a, b, found[0])} (correlation {found[0]:.2f} between classes): something "
                "that acts on both is not logged, or one acts on the other within a step."
            )
            yield Finding("common cause", (a.name, b.name), *found, text)


def _move(a: _Residual, b: _Residual, size: float) -> str:
    how = "together" if size > 0 else "against each other"
    return f"{a.name} and {b.name} move {how} beyond what the graph explains"


def _judge(
    amount: np.ndarray, count: np.ndarray, episode: np.ndarray, is_one_sided: bool = False
) -> tuple[float, float] | None:
    """Size (sum of amounts over sum of counts) and p-value of none; None if data are too few.

    A t-test of the sums over episodes, since the steps of one episode are alike.
    """
    counts = np.bincount(episode, count)
    sums = np.bincount(episode, amount)[counts > 0]
    if len(sums) < MIN_EPISODES:
        return None
    error = sums.std(ddof=1) / np.sqrt(len(sums))
    if error == 0:
        return None  # nothing varies: there is no residual at all
    z = sums.mean() / error
    p = t.sf(z, len(sums) - 1) if is_one_sided else 2 * t.sf(abs(z), len(sums) - 1)
    return float(np.clip(sums.sum() / counts.sum(), -1, 1)), float(p)


# -------------------------------------------------------------------- residuals


@dataclass(frozen=True)
class _Residual:
    """One component of a target: values (transition, object), 0 where they are not known."""

    class_name: str
    field_name: str
    value: np.ndarray
    known: np.ndarray

    @property
    def name(self) -> str:
        return f"{self.class_name}.{self.field_name}"

    def mean(self) -> np.ndarray:
        """Over the objects of a step, times the root of their number: alike for all numbers."""
        return self.value.sum(1) / np.sqrt(np.maximum(self.known.sum(1), 1))


@torch.no_grad()
def _residuals(result: Fitted, data: Dataset, batch_size: int) -> list[_Residual]:
    model, schema = result.model, result.model.schema
    known, common, parts = {}, {}, {}
    for c in schema.classes:
        for v in schema.targets(c):
            here = data.present[c][data.starts] & data.present[c][data.starts + 1]
            known[c, v] = here & data.observed[c][v][data.starts + 1]
            common[c, v] = _most_common(schema.field(c, v), data.values[c][v][data.observed[c][v]])
            parts[c, v] = np.empty((*here.shape, schema.field(c, v).size))
    predict = model.under(model.structures(result.graph))
    for start in range(0, len(data), batch_size):
        rows = np.arange(start, min(start + batch_size, len(data)))
        transitions = data.transitions(rows).to(model.device)
        predictions = predict(model.inputs(transitions.before))
        for (c, v), part in parts.items():
            z = _standardise(predictions[c, v], transitions.after[c, v], common[c, v])
            part[rows] = z.clamp(-LARGEST, LARGEST).cpu().numpy()
    return [
        _Residual(c, v, _to_unit(part[..., i], known[c, v]), known[c, v])
        for (c, v), part in parts.items()
        for i in range(part.shape[-1])
    ]


def _standardise(distribution: FieldDistribution, value: Tensor, common: Tensor) -> Tensor:
    """(batch, object, component); of a choice, whether it is the most common value."""
    field = distribution.field
    numbers = as_numbers(field, value, torch.float64)
    if isinstance(distribution, NormalField):
        mean, sigma = distribution.mean.double(), distribution.sigma.double()
        return (numbers - mean.view_as(numbers)) / sigma.view_as(numbers)
    code = value.view(numbers.shape).long() - int(field.low or 0)
    common = common.to(code.device).expand(code.shape)
    table = distribution.log_probabilities.double().view(*code.shape, -1)
    p = table.gather(-1, common.unsqueeze(-1)).squeeze(-1).exp()
    return ((code == common).double() - p) / (p * (1 - p)).sqrt()


def _most_common(field: Field, values: np.ndarray) -> Tensor:
    """The most common value of each component, counted from the lowest; 0 for normals."""
    if field.likelihood == "normal":
        return torch.zeros(field.size, dtype=torch.long)
    codes = values.reshape(-1, field.size) - int(field.low or 0)
    counts = [np.bincount(column, minlength=field.num_values or 1) for column in codes.T]
    return torch.as_tensor(np.argmax(counts, axis=1))


def _to_unit(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Known values with mean 0 and a spread of at most 1, others 0.

    A smaller spread stays: where a model predicts better than it claims, patterns in what is
    left are likely its own.
    """
    if not known.any():
        return np.zeros(values.shape)
    chosen = values[known]
    return np.where(known, (values - chosen.mean()) / max(chosen.std(), 1.0), 0.0)


# -------------------------------------------------------------------- regression


def _columns(data: Dataset, c: str, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All fields of a class as numbers (row, object, column), and where all of them are known."""
    known = data.present[c][rows]
    columns = []
    for f, field in data.schema.fields(c).items():
        if data.observed[c][f].any():
            values = data.values[c][f][rows]
            known = known & data.observed[c][f][rows]
            is_choice = isinstance(field, Categorical)
            numbers = np.eye(field.num_values or 1)[values] if is_choice else values.astype(float)
            columns.append(numbers.reshape(*known.shape, -1))
    return np.concatenate(columns, axis=2), known


def _scaled(columns: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and spread 1, those that never vary left out."""
    spread = columns.std(0)
    varies = spread > 1e-6 * np.abs(columns).max(0)
    return (columns[:, varies] - columns[:, varies].mean(0)) / spread[varies]


def _held_out_errors(x: np.ndarray, y: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Errors of linear predictions, each half by a regression on the other."""
    errors = np.empty(len(y))
    for side in (0, 1):
        fit, judge = half != side, half == side
        penalty = RIDGE * max(fit.sum(), 1) * np.eye(x.shape[1])
        weights = np.linalg.solve(x[fit].T @ x[fit] + penalty, x[fit].T @ y[fit])
        errors[judge] = y[judge] - x[judge] @ weights
    return errors
