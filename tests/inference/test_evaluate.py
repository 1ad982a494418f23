"""What `evaluate` reports, against sums over single values in plain NumPy."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import norm

from oocdm.data import Dataset
from oocdm.errors import DataError, GraphError, ModelError
from oocdm.graph import ClassGraph, VariableGraph
from oocdm.inference import Evaluation, FieldReport, evaluate
from oocdm.models.mixture_field import MixtureField
from oocdm.models.normal_field import NormalField
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.prediction import CategoricalField, Predictions
from oocdm.schema import Boolean, ObjectClass, Real, Schema
from tests.inference.ragged import SCHEMA, padded, ragged, random_model


@dataclass(frozen=True)
class Fit:
    model: OocdmModel
    graph: ClassGraph | VariableGraph


def fit_of(data: Dataset, preset: str = "default", seed: int = 0) -> Fit:
    """A random model under a random graph."""
    graph = ClassGraph.random(data.schema, 0.5, np.random.default_rng(seed))
    return Fit(random_model(data, preset, seed), graph)


def as_normals(fit: Fit) -> None:
    """Leave no mixtures, as training does where they are no better."""
    for c in fit.model.schema.classes:
        head = fit.model.heads[c]
        head.choose(torch.zeros_like(head.is_mixture))


def predict(fit: Fit, data: Dataset) -> Predictions:
    return fit.model.compile_for(fit.graph)(data.transitions().before)


def by_hand(fit: Fit, data: Dataset) -> Evaluation:
    """Sums over episodes, steps and objects, one value at a time."""
    predictions = predict(fit, data)
    pairs = [
        (row, row + 1)
        for row in range(len(data.episode) - 1)
        if data.episode[row] == data.episode[row + 1] and data.step[row] + 1 == data.step[row + 1]
    ]
    reports = {}
    for c in data.schema.classes:
        for v in data.schema.targets(c):
            scores, errors, hits, covered = [], [], [], []
            for t, (before, after) in enumerate(pairs):
                for i in range(data.present[c].shape[1]):
                    is_counted = data.present[c][before, i] and data.present[c][after, i]
                    if is_counted and data.observed[c][v][after, i]:
                        value = np.atleast_1d(data.values[c][v][after, i])
                        found = predictions[c, v]
                        if not isinstance(found, CategoricalField):
                            if isinstance(found.field, Boolean):
                                value = np.where(value == 1, 1.0, -1.0)
                            shares, means, sigmas = parts(found, t, i)
                            scores.append(log_density(value, shares, means, sigmas).sum())
                            errors += list((value - (shares * means).sum(0)) ** 2)
                            below = (shares * norm.cdf(value, means, sigmas)).sum(0)
                            covered += list((below >= 0.05) & (below <= 0.95))
                        else:
                            table = found.log_probabilities[t, i].numpy()
                            table = table.reshape(len(value), -1)
                            code = value - int(found.field.low or 0)
                            scores.append(table[np.arange(len(code)), code].sum())
                            hits.append((table.argmax(1) == code).all())
            is_number = not data.schema.field(c, v).is_choice
            reports[f"{c}.{v}"] = FieldReport(
                log_likelihood=float(np.mean(scores)),
                rmse=float(np.sqrt(np.mean(errors))) if is_number else None,
                accuracy=None if is_number else float(np.mean(hits)),
                coverage=float(np.mean(covered)) if is_number else None,
                count=len(scores),
            )
    return Evaluation(sum(r.log_likelihood for r in reports.values()), reports, len(pairs))


def parts(
    found: NormalField | MixtureField, *place: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares, means and sigmas of the normals that a prediction consists of: (part, component)."""
    if isinstance(found, NormalField):
        rows = [(torch.ones_like(found.mean), found.mean, found.sigma)]
    else:
        rows = [
            (1 - found.chance, found.narrow.mean, found.narrow.sigma),
            (found.chance, found.wide.mean, found.wide.sigma),
        ]
    shares, means, sigmas = (
        np.stack([np.atleast_1d(each[place].numpy()) for each in column])
        for column in zip(*rows, strict=True)
    )
    return shares, means, sigmas


def log_density(
    value: np.ndarray, shares: np.ndarray, means: np.ndarray, sigmas: np.ndarray
) -> np.ndarray:
    """The logarithm of a mixture's density; of its parts on the first axis."""
    each: np.ndarray = logsumexp(norm.logpdf(value, means, sigmas), b=shares, axis=0)
    return each


def assert_equal(found: Evaluation, expected: Evaluation, rel: float = 1e-9) -> None:
    assert found.transitions == expected.transitions
    assert found.aill == pytest.approx(expected.aill, rel=rel)
    assert list(found.fields) == list(expected.fields)
    for name, report in expected.fields.items():
        ours = found.fields[name]
        assert ours.count == report.count, name
        for figure in ("log_likelihood", "rmse", "accuracy", "coverage"):
            wanted = getattr(report, figure)
            got = getattr(ours, figure)
            assert got == (None if wanted is None else pytest.approx(wanted, rel=rel)), name


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize(("seed", "mixes"), [(0, True), (1, True), (1, False)])
def test_ragged_data_by_hand(preset: str, seed: int, mixes: bool) -> None:
    data = ragged(seed=seed)
    fit = fit_of(data, preset, seed)
    if not mixes:
        as_normals(fit)
    assert isinstance(predict(fit, data)["Ant", "place"], MixtureField if mixes else NormalField)
    expected = by_hand(fit, data)
    # The log is ragged indeed: fields differ in how often they are known, and there is a gap.
    assert len({r.count for r in expected.fields.values()}) > 4
    assert expected.transitions == len(data.episode) - 5 - 1
    assert_equal(evaluate(fit, data), expected)


def test_graphs_over_single_variables() -> None:
    """As the graph of what is evaluated, or as another one."""
    data = ragged()
    fit = fit_of(data)
    full = ClassGraph.full(SCHEMA).ground({c: p.shape[1] for c, p in data.present.items()})
    matrix = np.random.default_rng(1).random(full.matrix.shape) < 0.6
    some = VariableGraph(full.inputs, full.outputs, matrix)
    expected = by_hand(Fit(fit.model, some), data)
    for found in (evaluate(Fit(fit.model, some), data), evaluate(fit, data, graph=some)):
        assert found.aill == pytest.approx(expected.aill)
        for name, report in expected.fields.items():
            assert found.fields[name].log_likelihood == pytest.approx(report.log_likelihood)


def test_aill_is_the_paper_s_formula() -> None:
    """Sums over the dataset, divided by the total number of instances of each class."""
    data = ragged(is_whole=True)
    fit = fit_of(data)
    scores = predict(fit, data).log_prob(fit.model.targets(data.transitions()))
    aill = 0.0
    for c, score in scores.items():
        total_instances = len(data) * data.present[c].shape[1]
        aill += float(score.sum()) / total_instances
    assert evaluate(fit, data).aill == pytest.approx(aill, rel=1e-12)


def test_vanished_objects_count_as_if_never_there() -> None:
    """An object that is gone after the step is neither in the sum nor in the number."""
    data = ragged(is_whole=True)
    gone = {c: p.copy() for c, p in data.present.items()}
    gone["Ant"][1::2, 2] = False  # the third ant is there in every other row only
    fit = fit_of(data)

    def hide(arrays: dict) -> dict:
        hidden = {c: {f: v.copy() for f, v in fields.items()} for c, fields in arrays.items()}
        for column in hidden["Ant"].values():
            column[~gone["Ant"]] = 0
        return hidden

    ragged_data = replace(
        data, values=hide(data.values), observed=hide(data.observed), present=gone
    )
    report = evaluate(fit, ragged_data)
    assert_equal(report, by_hand(fit, ragged_data))
    both = gone["Ant"][data.starts] & gone["Ant"][data.starts + 1]
    assert report.fields["Ant.x"].count == both.sum() == len(data) * 3


@settings(max_examples=8)
@given(st.integers(1, 40))
def test_batch_size_does_not_matter(batch_size: int) -> None:
    data = ragged()
    fit = fit_of(data)
    assert_equal(evaluate(fit, data, batch_size=batch_size), evaluate(fit, data), rel=1e-11)


@pytest.mark.parametrize("mixes", [True, False])
def test_the_report_of_values_drawn_from_the_model_itself(mixes: bool) -> None:
    """Coverage is 90 %, the error is sigma, the log-likelihood minus the entropy."""

    class Ball(ObjectClass):
        x = Real()
        v = Real(shape=(2,))

    schema = Schema(Ball)
    lengths = (2,) * 2000
    data = ragged(schema, lengths, slots=3, is_whole=True)
    fit = fit_of(data)
    if not mixes:
        as_normals(fit)
    predictions = predict(fit, data)
    generator = torch.Generator().manual_seed(0)
    values = {f: v.copy() for f, v in data.values["Ball"].items()}
    for f, column in values.items():
        column[1::2] = predictions["Ball", f].sample(generator).numpy()
    drawn = replace(data, values={"Ball": values})
    report = evaluate(fit, drawn)
    for f, size in (("x", 1), ("v", 2)):
        prediction = predictions["Ball", f]
        assert not isinstance(prediction, CategoricalField)
        found = report.fields[f"Ball.{f}"]
        error = np.sqrt(0.09 / (6000 * size))
        assert found.coverage == pytest.approx(0.9, abs=4 * error)
        rmse = float(prediction.sigma.square().mean().sqrt())
        assert found.rmse == pytest.approx(rmse, rel=0.05)
        mean, variance = moments_of_score(prediction)
        error = np.sqrt(variance * size / 6000)
        assert found.log_likelihood == pytest.approx(mean * size, abs=4 * error)
        assert error < 0.05


def moments_of_score(prediction: NormalField | MixtureField) -> tuple[float, float]:
    """Mean and variance of the log-density of a component drawn from a prediction, on a grid."""
    shares, means, sigmas = (each.reshape(len(each), -1) for each in parts(prediction, ...))
    z, first, second = np.linspace(-8, 8, 401), 0.0, 0.0
    for share, mean, sigma in zip(shares, means, sigmas, strict=True):
        for at, weight in zip(z, norm.pdf(z) * (z[1] - z[0]), strict=True):
            score = log_density(mean + sigma * at, shares, means, sigmas)
            first, second = first + weight * share * score, second + weight * share * score**2
    return float(np.mean(first)), float(np.mean(second - first**2))


def test_a_field_that_is_never_known_counts_nothing() -> None:
    data = ragged(is_whole=True)
    nothing = np.zeros_like(data.present["Nest"])
    blind = replace(
        data,
        values={**data.values, "Nest": {"food": np.zeros(nothing.shape, np.float32)}},
        observed={**data.observed, "Nest": {"food": nothing}},
    )
    report = evaluate(fit_of(data), blind)
    assert report.fields["Nest.food"] == FieldReport(None, None, None, None, 0)
    others = [r.log_likelihood for name, r in report.fields.items() if name != "Nest.food"]
    assert None not in others and report.aill == sum(others)
    assert "  Nest.food            no values" in str(report).splitlines()
    assert json.loads(json.dumps(report.to_json(), allow_nan=False))["fields"]["Nest.food"] == {
        **dict.fromkeys(("log_likelihood", "rmse", "accuracy", "coverage")),
        "count": 0,
        "is_constant": False,
    }


def test_what_is_not_to_be_evaluated_is_refused() -> None:
    data = ragged()
    with pytest.raises(
        ModelError,
        match=r"^evaluate: `result`: expected a fitted result, got str 'runs/x'\. "
        r"Load it: oocdm\.load\('runs/x'\)\.$",
    ):
        evaluate("runs/x", data)  # type: ignore[arg-type]
    with pytest.raises(
        DataError,
        match=r"^evaluate: `data`: expected an oocdm\.Dataset, got PosixPath 'data/fix'\. "
        r"Load it: oocdm\.load_dataset\('data/fix'\)\.$",
    ):
        evaluate(fit_of(data), Path("data/fix"))  # type: ignore[arg-type]


def test_single_precision_is_near() -> None:
    data = ragged()
    fit = fit_of(data)
    single = Fit(random_model(data, dtype=torch.float32), fit.graph)
    assert_equal(evaluate(single, data), evaluate(fit, data), rel=1e-4)


def test_static_fields_actions_and_classes_without_targets_have_no_report() -> None:
    data = ragged()
    report = evaluate(fit_of(data), data)
    assert set(report.fields) == {f"{c}.{v}" for c in SCHEMA.classes for v in SCHEMA.targets(c)}
    assert not {"Ant.mass", "Ant.push", "Rock.size"} & set(report.fields)


def test_evaluation_as_text_and_json() -> None:
    data = ragged()
    report = evaluate(fit_of(data), data)
    back = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert back["aill"] == report.aill and back["transitions"] == report.transitions
    assert back["fields"]["Ant.x"] == vars(report.fields["Ant.x"])
    assert repr(report) == f"Evaluation(AILL {report.aill:.3f} on 22 transitions; 9 fields)"
    lines = str(report).splitlines()
    assert lines[0] == f"AILL {report.aill:.3f} on 22 transitions"
    assert len(lines) == 1 + len(report.fields)
    x, mood = (next(line for line in lines if name in line) for name in ("Ant.x", "Ant.heading"))
    assert "rmse" in x and "90 % interval covers" in x
    assert "accuracy" in mood and "interval" not in mood


def test_data_of_another_schema_are_refused() -> None:
    class Ant(ObjectClass):
        x = Real()

    other = ragged(Schema(Ant))
    with pytest.raises(DataError, match=r"^This dataset does not fit the model\. First difference"):
        evaluate(fit_of(ragged()), other)


def test_a_graph_of_another_schema_is_refused() -> None:
    class Ant(ObjectClass):
        x = Real()

    data = ragged()
    with pytest.raises(GraphError, match=r"^The graph is for another schema\."):
        evaluate(Fit(random_model(data), ClassGraph.full(Schema(Ant))), data)


def test_batches_of_different_widths_change_nothing() -> None:
    data = ragged(slots=20, chance=0.15)
    fit = fit_of(data)

    def ask(data: Dataset) -> float:
        return evaluate(fit, data, batch_size=4).aill

    assert ask(data) == pytest.approx(padded(data, ask), rel=1e-9)
    assert ask(data) == pytest.approx(evaluate(fit, data).aill, rel=1e-9)
