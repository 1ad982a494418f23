"""Whether held-out data fit the assumptions behind causal discovery from transitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy
import torch
from torch import Tensor

from oocdm.data.dataset import Dataset
from oocdm.errors import DataError, ModelError
from oocdm.inference.fitted import (
    Fitted,
    check_fit,
    checked_data,
    checked_result,
    prediction_graph,
)
from oocdm.models.mixture_field import MixtureField
from oocdm.models.normal_field import NormalField
from oocdm.models.prediction import FieldDistribution
from oocdm.models.scales import as_numbers
from oocdm.reading import Count, checked
from oocdm.schema import Boolean, Field

MIN_EPISODES = 8  # fewer say too little about how an effect varies from episode to episode
MIN_SIZE = 0.05  # correlations and shares below it do no harm, however significant
FALSE_DISCOVERY_RATE = 0.05  # among the findings of a kind
LARGEST = 5.0  # residuals are cut off here, so that single surprises do not dominate
RIDGE = 1e-3  # keeps regressions on fields that are nearly proportional to each other stable

BEYOND = "move {how} beyond what the graph explains (correlation {size:.2f}): "
WITHIN_STEP = "one may cause the other within a step, or both share a cause that was not logged."
NOT_LOGGED = "something that acts on them is not logged, or they act on each other within a step."
HISTORY = (
    "{a} still depends on what was two steps ago (explains {percent:.0f} % of what is left): log "
    "a longer history, e.g. add the previous value as a field."
)


@dataclass(frozen=True)
class Finding:
    """One assumption that data speak against; prints as a sentence.

    `kind` is "within step", "history" or "common cause", `what` names the fields involved, `size`
    is a correlation or, for "history", a share of variance, and `p_value` that of no effect at all.
    Of a choice among more than two values, it is its most common value that correlates.

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


@checked(ModelError)
def check_assumptions(result: Fitted, data: Dataset, batch_size: Count = 4096) -> list[Finding]:
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
    >>> from oocdm.worlds import collect
    >>> from oocdm.envs.block import BlockWorld
    >>> data = collect(BlockWorld(num_blocks=2), steps=40, seed=0)
    >>> result = SimpleNamespace(graph=None)
    >>> result.model = SimpleNamespace(schema=data.schema, counts=None)
    >>> check_assumptions(result, data)
    Traceback (most recent call last):
    ...
    oocdm.errors.DataError: check_assumptions: expected at least 8 episodes with transitions, ...
    """
    checked_result("check_assumptions", result)
    data = checked_data("check_assumptions", data)
    check_fit("check_assumptions", result, data)
    ids, episode = np.unique(data.episode_of, return_inverse=True)
    if len(ids) < MIN_EPISODES:
        raise DataError(
            f"check_assumptions: expected at least {MIN_EPISODES} episodes with transitions, got "
            f"{len(ids)}. Effects are judged by how they vary between episodes; log more of them."
        )

    def size(finding: Finding) -> float:
        return abs(finding.size)

    residuals = _residuals(result, data, batch_size)
    findings: dict[tuple[str, tuple[str, ...]], Finding] = {}
    for check in (_within_step, _history, _common_causes):
        tested = [f for f in check(residuals, episode, data) if f is not None]
        p_values = [f.p_value for f in tested] or [1.0]  # some p-value is expected
        for finding, p in zip(tested, scipy.stats.false_discovery_control(p_values), strict=False):
            if p <= FALSE_DISCOVERY_RATE and size(finding) >= MIN_SIZE:
                key = (finding.kind, finding.what)  # of a vector's components, the largest counts
                findings[key] = max(findings.get(key, finding), finding, key=size)
    return sorted(findings.values(), key=size, reverse=True)


@dataclass(frozen=True)
class _Residual:
    """One component of a target: values (transition, object), 0 where they are not known."""

    class_name: str
    name: str
    value: np.ndarray
    known: np.ndarray


Checks = Iterator[Finding | None]


def _within_step(residuals: list[_Residual], episode: np.ndarray, data: Dataset) -> Checks:
    """Two fields of the same object."""
    text = "{a} and {b} " + BEYOND + WITHIN_STEP
    for a, b in combinations(residuals, 2):
        if a.class_name == b.class_name and a.name != b.name:
            product, count = (a.value * b.value).sum(1), (a.known & b.known).sum(1)
            yield _judge("within step", (a.name, b.name), product, count, episode, text)


def _history(residuals: list[_Residual], episode: np.ndarray, data: Dataset) -> Checks:
    """A field and the step before the current one, given the current one.

    Not given it, a speed that was not logged would stay unseen: it is the difference of two
    positions, and hardly correlated with either. And what a model has missed of the current
    state would be taken for a memory.
    """
    second = np.flatnonzero(np.isin(data.starts - 1, data.starts))  # those with a step before
    columns = {
        c: (*_columns(data, c, data.starts[second]), *_columns(data, c, data.starts[second] - 1))
        for c in data.schema.classes
    }
    for r in residuals:
        now, is_known, before, was_known = columns[r.class_name]
        known = is_known & was_known & r.known[second]
        if known.any():
            ids, group = np.unique(episode[second][np.nonzero(known)[0]], return_inverse=True)
            one, y = _scaled(now[known]), r.value[second][known]
            two = np.hstack([one, _scaled((now - before)[known])])
            gain = _squared_errors(one, y, group % 2) - _squared_errors(two, y, group % 2)
            yield _judge("history", (r.name,), gain, np.ones(len(y)), ids[group], HISTORY)


def _common_causes(residuals: list[_Residual], episode: np.ndarray, data: Dataset) -> Checks:
    """The same field of different objects of a class; fields of two classes."""
    text = "{a} of different objects " + BEYOND + NOT_LOGGED
    for r in residuals:
        num = r.known.sum(1)
        products = r.value.sum(1) ** 2 - (r.value**2).sum(1)
        yield _judge("common cause", (r.name,), products, num * (num - 1), episode, text)
    text = "{a} and {b} of different classes " + BEYOND + NOT_LOGGED
    for a, b in combinations(residuals, 2):
        if a.class_name != b.class_name:
            known: np.ndarray = np.asarray(a.known.any(1) & b.known.any(1))
            # Means over objects, times the root of their number: alike for all numbers.
            means = [r.value.sum(1) / np.sqrt(r.known.sum(1).clip(1)) for r in (a, b)]
            product = _to_unit(means[0], known) * _to_unit(means[1], known)
            yield _judge("common cause", (a.name, b.name), product, known, episode, text)


def _judge(
    kind: str,
    what: tuple[str, ...],
    amount: np.ndarray,
    count: np.ndarray,
    episode: np.ndarray,
    text: str,
) -> Finding | None:
    """A t-test of sums over episodes, since the steps of one are alike; None if too few."""
    counts = np.bincount(episode, count)
    sums = np.bincount(episode, amount)[counts > 0]
    if len(sums) < MIN_EPISODES or not np.ptp(sums):
        return None
    z = sums.mean() / (sums.std(ddof=1) / np.sqrt(len(sums)))
    # Columns that do not help make held-out predictions worse: only a gain says something.
    p = (
        scipy.stats.t.sf(z, len(sums) - 1)
        if kind == "history"
        else 2 * scipy.stats.t.sf(abs(z), len(sums) - 1)
    )
    size = float(np.clip(sums.sum() / counts.sum(), -1, 1))
    how = "together" if size > 0 else "against each other"
    text = text.format(a=what[0], b=what[-1], how=how, size=size, percent=100 * size)
    return Finding(kind, what, size, float(p), text)


@torch.no_grad()
def _residuals(result: Fitted, data: Dataset, batch_size: int) -> list[_Residual]:
    model, schema = result.model, result.model.schema
    known, common, parts = {}, {}, {}
    for c in schema.classes:
        for v in schema.targets(c):
            here = data.present[c][data.starts] & data.present[c][data.starts + 1]
            known[c, v] = here & data.observed[c][v][data.starts + 1]
            cells = data.cells[c]
            common[c, v] = _most_common(schema.field(c, v), cells.values[v][cells.observed[v]])
            parts[c, v] = np.zeros((*here.shape, schema.field(c, v).size))
    predict = model.compile_for(prediction_graph(result))
    for start in range(0, len(data), batch_size):
        rows = np.arange(start, min(start + batch_size, len(data)))
        transitions = data.transitions(rows).to(model.device)
        predictions = predict(transitions.before)
        for (c, v), part in parts.items():
            z = _standardise(predictions[c, v], transitions.after[c, v], common[c, v])
            part[rows, : z.shape[1]] = z.clamp(-LARGEST, LARGEST).cpu().numpy()
    return [
        _Residual(c, f"{c}.{v}", _to_unit(part[..., i], known[c, v]), known[c, v])
        for (c, v), part in parts.items()
        for i in range(part.shape[-1])
    ]


def _standardise(distribution: FieldDistribution, value: Tensor, common: Tensor) -> Tensor:
    """(batch, object, component); of a choice, whether it is the most common value."""
    field = distribution.field
    numbers = as_numbers(field, value, torch.float64)
    if isinstance(distribution, NormalField):
        mean, sigma = distribution.mean.double(), distribution.sigma.double()
        return (numbers - mean.reshape(numbers.shape)) / sigma.reshape(numbers.shape)
    if isinstance(distribution, MixtureField):
        return distribution.normal_scores(value).reshape(numbers.shape)
    code = field.to_codes(value.reshape(numbers.shape).long())
    common = common.to(code.device).expand(code.shape)
    table = distribution.log_probabilities.double().reshape(*code.shape, -1)
    p = table.gather(-1, common.unsqueeze(-1)).squeeze(-1).exp()
    return ((code == common).double() - p) / (p * (1 - p)).sqrt()


def _most_common(field: Field, values: np.ndarray) -> Tensor:
    """The most common value of each component, counted from the lowest.

    Of booleans it is true, so that signs mean something; numbers do without.
    """
    if not field.is_choice or isinstance(field, Boolean):
        return torch.ones(field.size, dtype=torch.long)
    codes = field.to_codes(values.reshape(-1, field.size))
    counts = [np.bincount(column, minlength=field.num_codes) for column in codes.T]
    return torch.as_tensor(np.argmax(counts, axis=1))


def _to_unit(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Known values with mean 0 and a spread of at most 1, others 0.

    A smaller spread stays: where a model predicts better than it claims, patterns in what is
    left are likely its own.
    """
    chosen = values[known] if known.any() else np.zeros(1)
    return np.where(known, (values - chosen.mean()) / max(chosen.std(), 1.0), 0.0)


def _columns(data: Dataset, c: str, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All fields of a class as numbers (row, object, column), and where all of them are known."""
    known = data.present[c][rows]
    columns = [np.ones((*known.shape, 0))]
    for f, field in data.schema.fields(c).items():
        if data.cells[c].observed[f].any():  # a field that is never known would leave nothing
            values = data.values[c][f][rows]
            known = known & data.observed[c][f][rows]
            if not field.is_numeric:
                values = np.eye(field.num_codes)[values]
            columns.append(values.reshape(*known.shape, -1).astype(float))
    return np.concatenate(columns, axis=2), known


def _scaled(columns: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and spread 1, those that never vary left out."""
    columns = columns[:, np.ptp(columns, axis=0) > 0]
    return (columns - columns.mean(0)) / columns.std(0)


def _squared_errors(x: np.ndarray, y: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Of linear predictions, each half by a regression on the other."""
    x = np.hstack([x, np.ones((len(x), 1))])
    errors = np.empty(len(y))
    for side in (0, 1):
        fit, judged = half != side, half == side
        penalty = RIDGE * len(y) * np.eye(x.shape[1])
        weights = np.linalg.solve(x[fit].T @ x[fit] + penalty, x[fit].T @ y[fit])
        errors[judged] = y[judged] - x[judged] @ weights
    return errors**2
