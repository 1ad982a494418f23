"""Gains against their definition, one edge at a time, and their standard errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from oocdm.data import Dataset
from oocdm.data.snapshot import Snapshot
from oocdm.discovery import Gains, Rule, Stopping, element_gains
from oocdm.discovery import gains as gains_module
from oocdm.discovery.gains import portions, target_gains
from oocdm.errors import ModelError
from oocdm.graph import ClassEdges, ClassGraph, Layout, Structure
from oocdm.models.memory import Fit
from oocdm.models.normal_field import NormalField
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.prediction import CategoricalField, FieldDistribution, Predictions
from oocdm.models.prepared import Budget, Prepared
from oocdm.schema import Boolean, Categorical, Integer, ObjectClass, Real, Schema
from tests.inference.ragged import ragged, random_model


class Ant(ObjectClass):
    x = Real(likelihood="normal")
    cell = Integer(2, 4, shape=(2,))
    alive = Boolean(likelihood="normal")
    push = Real(action=True)


class Rock(ObjectClass):
    """Nothing of a rock is predicted."""

    size = Real(static=True)


class Nest(ObjectClass):
    food = Real(low=0.0, shape=(2,), likelihood="normal")
    kind = Categorical(3)


SCHEMA = Schema(Ant, Rock, Nest)
DATA = ragged(SCHEMA, lengths=(4, 3, 6))


TARGETS = [(c, v) for c in SCHEMA.classes for v in SCHEMA.targets(c)]


def random_structure(layout: Layout, seed: int, share: float) -> Structure:
    return Structure(layout, np.random.default_rng(seed).random(len(layout)) < share)


# ---------------------------------------------------------------- the elements of a model


def test_parts_are_those_that_the_model_reads() -> None:
    """Each element alone is turned: the prediction of its own target changes, of no other."""
    model = random_model(DATA)
    layout, inputs = model.layout, model.inputs(DATA.transitions().before)
    assert layout.edges.targets == tuple(f"{c}.{v}" for c, v in TARGETS)
    full = layout.structure(True)
    with torch.no_grad():
        (now,) = model(inputs, model.structures(full))
        for target, columns in zip(TARGETS, layout.by_target, strict=True):
            for column in columns:
                without = Structure(layout, full.flags & (np.arange(len(layout)) != column))
                (then,) = model(inputs, model.structures(without))
                changed = [t for t in TARGETS if not _is_close(now[t], then[t])]
                assert changed == [target], layout.names[column]


def _is_close(one: FieldDistribution, other: FieldDistribution) -> bool:
    if isinstance(one, NormalField) and isinstance(other, NormalField):
        pairs = [(one.mean, other.mean), (one.sigma, other.sigma)]
    else:
        assert isinstance(one, CategoricalField) and isinstance(other, CategoricalField)
        pairs = [(one.log_probabilities, other.log_probabilities)]
    return all(torch.allclose(a, b, rtol=0, atol=1e-12) for a, b in pairs)


# ---------------------------------------------------------------- values by their definition


def mean_log_likelihood(
    model: OocdmModel, data: Dataset, structure: Structure, c: str, v: str, blur: float
) -> float:
    """Of one target under one structure, over all known values, with densities from NumPy."""
    transitions = data.transitions()
    with torch.no_grad():
        (predictions,) = model(model.inputs(transitions.before), model.structures(structure))
    found = predictions[c, v]
    known = transitions.known(c, v).numpy()
    value = transitions.after[c, v].numpy()
    if isinstance(found, NormalField):
        if isinstance(found.field, Boolean):
            value = 2 * value - 1
        sd = model.scale(c, v).change_sd[: found.field.size]
        r = blur * sd.numpy().reshape(found.field.shape)
        variance = found.sigma.numpy() ** 2 + r**2
        error = (value - found.mean.numpy()) ** 2 + r**2
        score = -0.5 * (error / variance + np.log(2 * np.pi * variance))
    else:
        code = np.where(
            known.reshape(known.shape + (1,) * (value.ndim - 2)), value, found.field.low
        )
        table = found.log_probabilities.numpy()
        score = np.take_along_axis(table, (code - found.field.low)[..., None], -1)[..., 0]
    score = score.reshape(*known.shape, -1).sum(-1)
    return float(score[known].sum() / known.sum())


def predict(model: OocdmModel, before: Snapshot, graph: ClassGraph) -> Predictions:
    (found,) = model(model.inputs(before), model.structures(graph))
    return found


def one_at_a_time(
    model: OocdmModel, data: Dataset, structure: Structure, blur: float = 0.0
) -> np.ndarray:
    """With each element and without it, all else as in the structure."""
    layout = structure.layout
    values = np.full(len(layout), np.nan)
    for (c, v), columns in zip(TARGETS, layout.by_target, strict=True):
        as_it_is = mean_log_likelihood(model, data, structure, c, v, blur)
        for column in columns:
            other = Structure(layout, structure.flags ^ (np.arange(len(layout)) == column))
            changed = mean_log_likelihood(model, data, other, c, v, blur)
            is_in = structure.flags[column]
            values[column] = as_it_is - changed if is_in else changed - as_it_is
    return values


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_from_the_full_graph_values_are_the_paper_s_cmi(preset: str) -> None:
    """Equations for local and for global edges: log f(G_1) - log f(G_1 less the edge)."""
    model = random_model(DATA, preset)
    full = model.layout.structure(True)
    values = element_gains(model, Prepared.of(model, DATA), full, None).mean
    np.testing.assert_allclose(values, one_at_a_time(model, DATA, full), atol=1e-9)
    # The same as with graphs: all causalities, and all but one.
    index = ClassEdges.of(SCHEMA)
    transitions = DATA.transitions()
    targets = model.targets(transitions)
    graph = ClassGraph.full(SCHEMA)
    some = [e for e in index.edges if e.target in ("Nest.food", "Ant.cell")]
    assert {e.is_local for e in some} == {True, False}
    for edge in some:
        ratios = []
        for g in (graph, graph.without(edge)):
            with torch.no_grad():
                score = predict(model, transitions.before, g).log_prob(targets)[edge.target_class]
            ratios.append(score[..., SCHEMA.targets(edge.target_class).index(edge.target_field)])
        column = SCHEMA.targets(edge.target_class).index(edge.target_field)
        total = targets.known[edge.target_class][..., column].sum()
        cmi = float((ratios[0] - ratios[1]).sum() / total)
        assert values[index.position[edge]] == pytest.approx(cmi, abs=1e-9)


@pytest.mark.parametrize(("seed", "blur"), [(0, 0.0), (1, 0.1)])
def test_values_around_another_structure(seed: int, blur: float) -> None:
    model = random_model(DATA, seed=seed)
    structure = random_structure(model.layout, seed, 0.6)
    resolution = model.resolution(blur) if blur else None
    values = element_gains(model, Prepared.of(model, DATA), structure, resolution).mean
    np.testing.assert_allclose(values, one_at_a_time(model, DATA, structure, blur), atol=1e-9)
    # They are not trivial: elements matter, present and absent ones.
    assert (np.abs(values) > 1e-4)[structure.flags].mean() > 0.3
    assert (np.abs(values) > 1e-4)[~structure.flags].mean() > 0.3


def test_only_tested_parts_are_worth_anything() -> None:
    model = random_model(DATA)
    prepared = Prepared.of(model, DATA)
    full = model.layout.structure(True)
    everything = element_gains(model, prepared, full, None).mean
    tested = random_structure(model.layout, 0, 0.3)
    some, is_tested = element_gains(model, prepared, full, None, tested).mean, tested.flags
    np.testing.assert_allclose(some[is_tested], everything[is_tested], rtol=1e-10)
    assert not some[~is_tested].any() and everything[~is_tested].any()


def test_gains_do_not_depend_on_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks differ in how many values they know; the mean is over all values all the same."""
    model = random_model(DATA)
    prepared = Prepared.of(model, DATA)
    structure = random_structure(model.layout, 0, 0.5)
    whole = element_gains(model, prepared, structure, None)
    for chunk in (1, 2, 7):
        monkeypatch.setattr(gains_module, "CHUNK", chunk)
        found = element_gains(model, prepared, structure, None)
        np.testing.assert_allclose(found.mean, whole.mean, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found.error, whole.error, rtol=1e-10, atol=1e-12)


def test_gains_do_not_depend_on_how_many_elements_are_measured_at_once() -> None:
    model = random_model(DATA)
    structure = random_structure(model.layout, 0, 0.5)
    whole = element_gains(model, Prepared.of(model, DATA), structure, None)
    for at_once in (1, 3, 4):
        prepared = Prepared.of(model, DATA)
        prepared.fits["elements"] = Fit(at_once, 0)
        found = element_gains(model, prepared, structure, None)
        np.testing.assert_allclose(found.mean, whole.mean, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found.error, whole.error, rtol=1e-10, atol=1e-12)


@torch.no_grad()
def test_what_another_structure_adds_to_each_target() -> None:
    model = random_model(DATA)
    start, other = (random_structure(model.layout, seed, 0.5) for seed in (0, 1))
    found = target_gains(model, Prepared.of(model, DATA), start, other, None, most=100)
    assert list(found) == ["Ant", "Nest"]
    for c, gains in found.items():
        for i, v in enumerate(SCHEMA.targets(c)):
            scores = [mean_log_likelihood(model, DATA, s, c, v, 0.0) for s in (start, other)]
            assert gains.mean[i] == pytest.approx(scores[1] - scores[0], abs=1e-6)
        assert (gains.error > 0).all() and (gains.groups > 3).all()  # parts of long episodes


def test_little_memory_means_small_portions_and_none_is_refused() -> None:
    model = random_model(DATA)
    ample = portions(model, Prepared.of(model, DATA))
    assert ample.rows == len(DATA) and ample.elements == 16
    scarce = portions(model, Prepared.of(model, DATA, budget=Budget(ample.taken // 4)))
    assert 0 < scarce.rows < len(DATA) or 0 < scarce.elements < 16
    nothing = Prepared.of(model, DATA, budget=Budget(1000, 1000))
    with pytest.raises(ModelError, match=r"one transition under two structures takes \d+ MiB"):
        element_gains(model, nothing, model.layout.structure(True), None)


def test_what_idle_parts_would_need_is_not_reckoned_with() -> None:
    model = random_model(DATA)
    whole = portions(model, Prepared.of(model, DATA))
    model.idle = frozenset(("pairs",))
    without = Prepared.of(model, DATA)
    assert not any(key[0] == "pairs" for key in without.inputs.extra)
    less = portions(model, without)
    assert (less.rows, less.elements) == (whole.rows, 15) and less.taken < whole.taken


def test_drawn_objects_have_the_gains_of_all_on_average() -> None:
    schema = Schema(Ant, Rock, Nest)
    data = ragged(schema, lengths=(60, 80, 70))
    model = random_model(data)
    full = model.layout.structure(True)
    whole = element_gains(model, Prepared.of(model, data), full, None)
    few = element_gains(model, Prepared.of(model, data, budget=Budget(targets=1)), full, None)
    assert not np.array_equal(few.mean, whole.mean)
    assert (np.abs(few.mean - whole.mean) < 4 * (few.error + whole.error) + 1e-9).mean() > 0.95


# ---------------------------------------------------------------- standard errors, stopping


def test_errors_are_those_of_a_mean_over_episodes() -> None:
    """A ratio of sums over episodes, by the usual formula; here for one edge by hand."""
    data = ragged(SCHEMA, lengths=(4, 3, 6, 5, 4, 7, 3, 5, 6, 4))
    model = random_model(data)
    full = model.layout.structure(True)
    found = element_gains(model, Prepared.of(model, data), full, None)
    index = ClassEdges.of(SCHEMA)
    edge = next(e for e in index.edges if str(e) == "Nest.food <- Ant[*].x")
    transitions = data.transitions()
    targets, scores = model.targets(transitions), []
    for graph in (ClassGraph.full(SCHEMA), ClassGraph.full(SCHEMA).without(edge)):
        with torch.no_grad():
            predictions = predict(model, transitions.before, graph)
            scores.append(predictions.log_prob(targets)["Nest"][..., 0])
    each = (scores[0] - scores[1]).sum(1).numpy()
    known = targets.known["Nest"][..., 0].sum(1).numpy()
    episodes = np.unique(data.episode_of)
    sums = np.array([each[data.episode_of == e].sum() for e in episodes])
    counts = np.array([known[data.episode_of == e].sum() for e in episodes])
    mean, num = sums.sum() / counts.sum(), len(episodes)
    error = np.sqrt(((sums - mean * counts) ** 2).sum() * num / (num - 1)) / counts.sum()
    at = index.position[edge]
    assert found.mean[at] == pytest.approx(mean, abs=1e-10)
    assert found.error[at] == pytest.approx(error, rel=1e-8)
    assert found.groups[at] == num


def test_settled_parts_are_not_sampled_further() -> None:
    data = ragged(SCHEMA, lengths=(4,) * 200)
    model = random_model(data)
    prepared = Prepared.of(model, data)
    full = model.layout.structure(True)
    whole = element_gains(model, prepared, full, None)
    seen: list[tuple[int, int]] = []
    stopping = Stopping(np.full(len(model.layout), 1e-3), errors=3.0, first_look=64)
    early = element_gains(
        model, prepared, full, None, None, stopping, lambda *counts: seen.append(counts)
    )
    has_stopped = early.groups < whole.groups
    assert has_stopped.any() and not has_stopped.all()
    # What went on to the end is the same; what stopped was on the right side.
    np.testing.assert_allclose(early.mean[~has_stopped], whole.mean[~has_stopped], atol=1e-10)
    is_above = whole.mean > 1e-3
    clear = np.abs(whole.mean - 1e-3) > 3 * whole.error
    assert ((early.mean > 1e-3) == is_above)[has_stopped & clear].all()
    settled = [count for count, _ in seen]
    assert settled == sorted(settled) and seen[-1] == (len(model.layout), len(model.layout))


def test_an_edge_that_cannot_occur_adds_nothing() -> None:
    """One nest has no other nest, so the edge between nests changes no prediction."""

    class Nest(ObjectClass):
        food = Real()
        ants = Real()

    schema = Schema(Nest)
    data = ragged(schema, slots=1)
    index = ClassEdges.of(schema)
    # The default network is told which edges there are, the paper's is not.
    model = random_model(data, "paper")
    full = model.layout.structure(True)
    values = element_gains(model, Prepared.of(model, data), full, None).mean[: len(index)]
    is_testable = index.testable(data.max_counts)
    assert is_testable.tolist() == [e.is_local for e in index.edges]
    np.testing.assert_allclose(values[~is_testable], 0, atol=1e-12)
    assert (np.abs(values[is_testable]) > 1e-6).any()


# ---------------------------------------------------------------- resolution


def test_resolution_is_a_fraction_of_the_spread_of_the_change() -> None:
    class Ball(ObjectClass):
        moving = Real(shape=(2,))
        still = Real()
        constant = Integer(0, 100)

    data = ragged(Schema(Ball), lengths=(4, 4, 4), is_whole=True)
    values = {f: v.copy() for f, v in data.values["Ball"].items()}
    values["still"][:] = values["still"][::4].repeat(4, axis=0)  # differs by episode only
    values["constant"][:] = 7
    data = Dataset(
        data.schema,
        {"Ball": values},
        *(data.present, data.observed, data.episode, data.step),
        *(data.reward, data.terminated, data.truncated),
    )
    blur: dict[str, Tensor] = random_model(data).resolution(0.1)
    starts = data.starts
    change = values["moving"][starts + 1] - values["moving"][starts]
    expected = 0.1 * change.reshape(-1, 2).std(axis=0, ddof=1)
    np.testing.assert_allclose(blur["Ball"][0], expected, rtol=1e-5)
    assert float(blur["Ball"][1, 0]) == pytest.approx(
        0.1 * values["still"][starts].std(ddof=1), rel=1e-5
    )
    assert float(blur["Ball"][2, 0]) == pytest.approx(0.1)  # never varies: no spread to speak of


def test_an_infinite_score_tells_no_more_than_one_transition_can() -> None:
    """Of one value that a structure finds impossible, or that all do, p-values stay numbers."""
    layout = Layout(ClassEdges.of(Schema(Nest)))
    columns = layout.of_class("Nest")[:, :1]
    tally = gains_module.Tally(columns, np.ones(len(layout), dtype=bool))
    known = torch.ones(20, columns.shape[0])
    scores = torch.randn(2, 20, columns.shape[0], generator=torch.Generator().manual_seed(0))
    scores[:, 3], scores[1, 7] = -torch.inf, -torch.inf
    tally.add(np.array([0]), scores.flatten(0, 1), known, np.arange(20))
    gains = Gains.none(len(layout))
    tally.write(np.ones(len(layout), dtype=bool), gains)
    at = columns[:, 0]
    assert (gains.mean[at] > 1e28).all()
    p_values = Rule().p_values(gains)[at]
    assert ((p_values > 0.1) & (p_values < 0.5)).all()  # one episode of twenty decides nothing
