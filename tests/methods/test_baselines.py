"""Methods over single variables: what they find, what they keep to, where they work."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import oocdm
from oocdm import (
    Categorical,
    ClassGraph,
    DataError,
    Dataset,
    FitResult,
    GraphError,
    ModelError,
    ObjectClass,
    Progress,
    Real,
    Schedule,
    Schema,
    Task,
    VariableGraph,
)
from oocdm.data.snapshot import Snapshot
from oocdm.discovery import Discovery
from oocdm.discovery.independence.tests import Answer, FastCit
from oocdm.discovery.independence.variable_tests import VariableTests
from oocdm.errors import OocdmError
from oocdm.graph import AbstractEdgeSpace, Evidence, VariableEdges
from oocdm.methods import METHODS, AbstractVariableMethod, Oocdm, make_method
from oocdm.methods.cdl import Cdl, masked_max
from oocdm.methods.gnn import Gnn, GnnWidths
from oocdm.methods.method import DataInquiry, Inquiry, LearningState
from oocdm.methods.ticsa import TicsaModel
from oocdm.methods.variable_method import WidthByObjects
from oocdm.models.head import HeadOptions
from oocdm.models.scales import Scales
from oocdm.models.variable_model import AbstractVariableModel

BASELINES = [name for name, each in METHODS.items() if issubclass(each, AbstractVariableMethod)]
DENSE = ["gnn", "mlp"]
CAUSAL = [name for name in BASELINES if name not in DENSE]
COUNTS = {"Ball": 2, "Lamp": 1}
QUICK = Schedule(
    *(2, 3, 4, 9, 32), 32, optimiser="adam", learning_rate=1e-3, final_learning_rate=1e-3
)

FEW_TESTS: dict[str, dict[str, Any]] = {"grader": {"max_samples": 60, "workers": 1}}


class Ball(ObjectClass):
    x = Real()
    push = Real(action=True)


class Lamp(ObjectClass):
    colour = Categorical(3)
    heat = Real()


SCHEMA = Schema(Ball, Lamp)
# Each ball moves as it is pushed, the second one is blown at by the first, the lamp does nothing.
ROWS = [
    "Ball[0].x <- Ball[0].x, Ball[0].push",
    "Ball[1].x <- Ball[0].x, Ball[1].push",
    "Lamp[0].colour <- (nothing)",
    "Lamp[0].heat <- Lamp[0].heat",
]
FULL = VariableEdges(SCHEMA, COUNTS).full
TRUE = VariableGraph.parse(FULL.inputs, FULL.outputs, ROWS)


def toy_world(episodes: int, length: int, seed: int) -> Dataset:
    """Objects of a class that are not alike, which only variables can tell."""
    rng = np.random.default_rng(seed)
    steps = episodes * length
    x, push = rng.normal(size=(2, steps, 2))
    colour, heat = rng.integers(3, size=(steps, 1)), rng.normal(size=(steps, 1))
    noise = rng.normal(scale=0.1, size=(steps, 3))
    for now in range(steps - 1):
        if (now + 1) % length:  # the next step is of the same episode
            x[now + 1, 0] = 0.8 * x[now, 0] + push[now, 0] + noise[now, 0]
            x[now + 1, 1] = push[now, 1] - np.tanh(2 * x[now, 0]) + noise[now, 1]
            heat[now + 1] = 0.9 * heat[now] + noise[now, 2]
    import pandas as pd

    def frame(fields: dict[str, np.ndarray]) -> Any:
        objects = next(iter(fields.values())).shape[1]
        rows = np.indices((steps, objects)).reshape(2, -1)
        table = {"episode": rows[0] // length, "step": rows[0] % length, "object": rows[1]}
        return pd.DataFrame({**table, **{f: v.ravel() for f, v in fields.items()}})

    last = np.arange(steps) % length == length - 1
    shown = np.where(last[:, None], np.nan, push)
    balls, lamps = frame({"x": x, "push": shown}), frame({"colour": colour, "heat": heat})
    balls["push"] = balls["push"].astype("Float64").where(~balls["push"].isna(), pd.NA)
    return Dataset.from_frames({"Ball": balls, "Lamp": lamps}, SCHEMA)


DATA = toy_world(episodes=150, length=20, seed=0)


@pytest.fixture(scope="module")
def fitted() -> dict[str, FitResult]:
    """Every baseline after a few steps."""
    return {
        name: oocdm.fit(DATA, name, seed=3, schedule=QUICK, **FEW_TESTS.get(name, {}))
        for name in BASELINES
    }


def built(name: str, dtype: torch.dtype = torch.float32) -> AbstractVariableModel:
    torch.manual_seed(0)
    model = make_method(name).build(SCHEMA, Scales.unit(SCHEMA), COUNTS)
    assert isinstance(model, AbstractVariableModel)
    return model.to(dtype)


def states(batch: int, seed: int = 0) -> Snapshot:
    rng = np.random.default_rng(seed)

    def normal(objects: int) -> torch.Tensor:
        return torch.as_tensor(rng.normal(size=(batch, objects)), dtype=torch.float32)

    return Snapshot.of(
        SCHEMA,
        {
            "Ball": {"x": normal(2), "push": normal(2)},
            "Lamp": {
                "colour": torch.as_tensor(rng.integers(3, size=(batch, 1))),
                "heat": normal(1),
            },
        },
    )


def outputs(predictions: Any) -> torch.Tensor:
    """All parameters of all distributions, (batch, output, number), as variable graphs order."""
    rows = []
    for i in range(2):
        one = predictions["Ball", "x"]
        rows.append(torch.stack([one.mean[:, i], one.sigma[:, i], one.sigma[:, i]], -1))
    rows.append(predictions["Lamp", "colour"].log_probabilities[:, 0])
    heat = predictions["Lamp", "heat"]
    rows.append(torch.stack([heat.mean[:, 0], heat.sigma[:, 0], heat.sigma[:, 0]], -1))
    return torch.stack(rows, 1)


def changed(before: Snapshot, name: str) -> Snapshot:
    """The states with one variable changed."""
    found = re.fullmatch(r"(\w+)\[(\d)\]\.(\w+)", name)
    assert found is not None
    c, i, f = found[1], int(found[2]), found[3]
    values = {k: dict(fields) for k, fields in before.values.items()}
    column = values[c][f].clone()
    column[:, i] = (column[:, i] + 1) % 3 if f == "colour" else column[:, i] + 1.7
    values[c][f] = column
    return Snapshot.of(SCHEMA, values)


# ---------------------------------------------------------------- what they find


LEARNING = Schedule(3, 250, 300, 9, 128, 128, optimiser="adam", learning_rate=3e-3)
SMALL: dict[str, dict[str, Any]] = {
    "cdl": {"encoding": 24, "max_scored": 600},
    "cdl-a": {"encoding": 24, "keys": 16, "max_scored": 600},
    "grader": {"alpha": 0.01, "max_samples": 600, "workers": 1, "encoding": 16},
    "ticsa": {"schedule": replace(LEARNING, final_learning_rate=2e-3)},  # edges have a way to go
}


@pytest.mark.parametrize("name", BASELINES)
def test_a_toy_world_is_learned(name: str) -> None:
    """Noise of 0.1 has a log-likelihood of 0.88; three colours by chance, -1.1."""
    result = oocdm.fit(DATA, name, seed=0, **{"schedule": LEARNING, **SMALL.get(name, {})})
    fields = oocdm.evaluate(result, toy_world(20, 20, seed=9)).fields
    assert fields["Ball.x"].log_likelihood > 0.6
    assert fields["Lamp.heat"].log_likelihood > 0.7
    assert fields["Lamp.colour"].log_likelihood > -1.15
    if name in CAUSAL:
        assert str(result.graph) == str(TRUE)
        assert result.evidence.roc_auc(TRUE) == 1.0


# ---------------------------------------------------------------- guarantees


@pytest.mark.parametrize("name", CAUSAL)
@pytest.mark.parametrize("seed", range(3))
def test_only_parents_matter_to_the_last_bit(name: str, seed: int) -> None:
    model, before = built(name), states(5)
    matrix = np.random.default_rng(seed).random(FULL.matrix.shape) < 0.4
    graph = VariableGraph(FULL.inputs, FULL.outputs, matrix)
    with torch.no_grad():
        now = outputs(model(before, graph))
        for i, source in enumerate(FULL.inputs):
            then = outputs(model(changed(before, source), graph))
            for j, _ in enumerate(FULL.outputs):
                if not matrix[i, j]:
                    assert torch.equal(then[:, j], now[:, j])


@pytest.mark.parametrize("name", BASELINES)
def test_every_parent_matters(name: str) -> None:
    model, before = built(name, torch.float64), states(5)
    with torch.no_grad():
        now = outputs(model(before, FULL))
        for i, source in enumerate(FULL.inputs):
            then = outputs(model(changed(before, source), FULL))
            # A maximum need not move with each of its inputs, but does for some states.
            moved = (then != now).flatten(1).any(0).sum()
            assert moved > 0, FULL.inputs[i]


@pytest.mark.parametrize("name", CAUSAL)
def test_structures_divide_a_batch(name: str) -> None:
    model, before = built(name, torch.float64), states(6)
    rng = np.random.default_rng(1)
    graphs = [
        VariableGraph(FULL.inputs, FULL.outputs, rng.random(FULL.matrix.shape) < 0.5)
        for _ in range(3)
    ]
    with torch.no_grad():
        inputs = model.inputs(before)
        together = outputs(model.decode(inputs, model.structures(*graphs)))
        for i, graph in enumerate(graphs):
            alone = outputs(model(before, graph))
            torch.testing.assert_close(together[2 * i : 2 * i + 2], alone[2 * i : 2 * i + 2])


def test_a_class_graph_is_grounded() -> None:
    model, before = built("cdl"), states(4)
    graph = ClassGraph.parse(SCHEMA, ["Ball.x <- self.push, Lamp[*].heat"])
    with torch.no_grad():
        ours = outputs(model(before, graph))
        assert torch.equal(ours, outputs(model(before, graph.ground(COUNTS))))


@pytest.mark.parametrize("num_missing", [0, 1, 4])
def test_masked_maximum_by_its_definition(num_missing: int) -> None:
    rng = np.random.default_rng(num_missing)
    encoded = torch.as_tensor(rng.normal(size=(4, 3, 5))).relu()
    masks = np.ones((3, 4, 2), dtype=bool)
    for b in range(3):
        for t in range(2):
            masks[b, rng.permutation(4)[:num_missing], t] = False
    pooled = masked_max(encoded, torch.as_tensor(masks))
    for b in range(3):
        one = masked_max(encoded[:, b : b + 1], torch.as_tensor(masks[b : b + 1]))
        for t in range(2):
            seen = encoded[:, b][torch.as_tensor(masks[b, :, t])]
            expected = seen.amax(0) if len(seen) else torch.zeros(5, dtype=encoded.dtype)
            assert torch.equal(pooled[t, b], expected)
            assert torch.equal(one[t, 0], expected)


@pytest.mark.parametrize("num_missing", [0, 1, 2])
def test_gradients_of_the_masked_maximum(num_missing: int) -> None:
    rng = np.random.default_rng(num_missing)
    masks = torch.ones(3, 4, 2, dtype=torch.bool)
    for b, t in np.ndindex(3, 2):
        masks[b, rng.permutation(4)[:num_missing], t] = False
    numbers = torch.as_tensor(rng.normal(size=(4, 3, 5))).requires_grad_()
    weight = torch.as_tensor(rng.normal(size=(2, 3, 5)))
    hidden = ~masks.permute(2, 1, 0).unsqueeze(-1)  # (output, input, batch, 1)
    plain = numbers.relu().masked_fill(hidden, -torch.inf).amax(1)
    found = masked_max(numbers.relu(), masks)
    gradients = [torch.autograd.grad((out * weight).sum(), numbers)[0] for out in (plain, found)]
    torch.testing.assert_close(*gradients)


# ---------------------------------------------------------------- usable everywhere


@pytest.mark.parametrize("name", BASELINES)
def test_saved_and_loaded(name: str, fitted: dict[str, FitResult], tmp_path: Path) -> None:
    result = fitted[name]
    result.save(tmp_path, counts=DATA.max_counts)
    back = oocdm.load(tmp_path)
    assert back.graph == result.graph and back.method == result.method
    assert back.evidence.rows() == result.evidence.rows()
    assert oocdm.evaluate(back, DATA).aill == oocdm.evaluate(result, DATA).aill


class Interrupt(Exception):
    """Stands for the end of the process."""


@pytest.mark.parametrize("name", BASELINES)
def test_a_resumed_run_equals_the_uninterrupted_one(
    name: str, fitted: dict[str, FitResult], tmp_path: Path
) -> None:
    def stop(progress: Progress) -> None:
        if (progress.phase, progress.step) == ("learn", 5):
            raise Interrupt

    with pytest.raises(Interrupt):
        oocdm.fit(DATA, fitted[name].method, seed=3, folder=tmp_path, callback=stop)
    back = oocdm.resume(tmp_path, DATA)
    for weight, tensor in fitted[name].model.state_dict().items():
        assert torch.equal(back.model.state_dict()[weight], tensor), weight
    assert back.evidence.rows() == fitted[name].evidence.rows()


@pytest.mark.parametrize("name", BASELINES)
def test_planned_with(name: str, fitted: dict[str, FitResult]) -> None:
    task = Task(
        reward=lambda before, after: after["Ball", "x"].sum(1),
        terminated=lambda after: after["Ball", "x"].sum(1) > 1e6,
        reads=["Ball.x"],
    )
    agent = oocdm.MPC(fitted[name], task, planner=oocdm.CEM(horizon=2, samples=8, elites=2), seed=0)
    agent.reset(1)
    assert agent.act(states(1))["Ball"]["push"].shape == (1, 2)


@pytest.mark.parametrize("name", CAUSAL)
def test_discovered_again(name: str, fitted: dict[str, FitResult]) -> None:
    found = oocdm.discover(fitted[name], DATA.head(200))
    assert isinstance(found.graph, VariableGraph)
    assert len(found.evidence.score) == FULL.matrix.size


@pytest.mark.parametrize("name", DENSE)
def test_dense_methods_do_not_discover(name: str, fitted: dict[str, FitResult]) -> None:
    assert fitted[name].graph == FULL
    with pytest.raises(ModelError, match=f"^Method `{name}` does not discover a graph.$"):
        oocdm.discover(fitted[name], DATA)
    with pytest.raises(GraphError, match="cannot keep to a graph"):
        oocdm.fit(DATA, name, graph=TRUE)
    with pytest.raises(ModelError, match="expected the full graph"):
        fitted[name].model(states(2), TRUE)


@pytest.mark.parametrize("name", CAUSAL)
def test_a_known_graph_is_kept(name: str) -> None:
    result = oocdm.fit(DATA, name, graph=TRUE, schedule=QUICK)
    assert result.graph == TRUE
    assert oocdm.fit(DATA, name, graph=ROWS, schedule=QUICK).graph == TRUE
    assert set(result.evidence.decision) == {"required", "forbidden"}


@pytest.mark.parametrize("name", CAUSAL)
def test_priors_hold_for_all_objects(name: str) -> None:
    rows = ["Ball.x <- Lamp[*].heat, !self.push"]
    result = oocdm.fit(DATA, name, priors=rows, schedule=QUICK, **FEW_TESTS.get(name, {}))
    assert isinstance(result.graph, VariableGraph)
    decision = dict(zip(result.evidence.edges.names, result.evidence.decision, strict=True))
    for i in range(2):
        parents = result.graph.parents(f"Ball[{i}].x")
        assert "Lamp[0].heat" in parents and f"Ball[{i}].push" not in parents
        assert decision[f"Ball[{i}].x <- Lamp[0].heat"] == "required"
        assert decision[f"Ball[{i}].x <- Ball[{i}].push"] == "forbidden"


@dataclass(frozen=True)
class Headstrong(Cdl):
    """Says the contrary of what it is given, of every edge, before training and after it."""

    name: ClassVar[str] = "headstrong"
    first: bool = False
    size: int = FULL.matrix.size

    def discover_first(self, look: DataInquiry) -> Discovery | None:
        return self._all(look.edges, True) if self.first else None

    def discover(self, look: Inquiry) -> Discovery | None:
        return self._all(look.model.edges, not look.estimate.all())

    def _all(self, edges: AbstractEdgeSpace, are_in: bool) -> Discovery:
        decision = np.full(len(edges), "yes" if are_in else "no")
        said = replace(Evidence.nothing(edges), decision=decision)
        return Discovery(np.full(self.size, are_in), said)


@pytest.mark.parametrize("first", [False, True])
def test_what_was_given_holds_whatever_a_method_says(first: bool) -> None:
    method = Headstrong(schedule=QUICK, first=first)
    given = oocdm.fit(DATA, method, graph=TRUE)
    assert given.graph == TRUE
    rows = ["Ball.x <- Lamp[*].heat, !self.push"]
    result = oocdm.fit(DATA, method, priors=rows)
    assert isinstance(result.graph, VariableGraph)
    for i in range(2):
        parents = result.graph.parents(f"Ball[{i}].x")
        assert "Lamp[0].heat" in parents and f"Ball[{i}].push" not in parents
    assert set(result.evidence.decision) > {"required", "forbidden"}


@pytest.mark.parametrize("first", [False, True])
def test_a_structure_of_another_size_is_refused(first: bool) -> None:
    name = "discover_first" if first else "discover"
    message = (
        f"Method `headstrong`: `{name}`: expected a structure of 24 booleans, the first 24 for the "
        "possible edges, got bool of shape (3,)."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        oocdm.fit(DATA, Headstrong(schedule=QUICK, first=first, size=3))


@pytest.mark.parametrize(("name", "options"), [("cdl", {"threshold": None}), ("grader", {})])
def test_beliefs_shift_what_is_found(name: str, options: dict[str, Any]) -> None:
    schedule = Schedule(1, 100, 0, optimiser="adam", learning_rate=3e-3)
    options = {"schedule": schedule, **FEW_TESTS.get(name, {}), **options}
    doubted = ["Ball.x <- ?1e-300 self.push"]
    usual, doubting = (oocdm.fit(DATA, name, priors=rows, **options) for rows in (None, doubted))
    edge = "Ball[0].x <- Ball[0].push"
    assert edge in usual.graph and edge not in doubting.graph


@pytest.mark.parametrize("name", ["cdl", "cdl-a", "ticsa", "mlp", "oofull"])
def test_beliefs_that_would_change_nothing_are_refused(name: str) -> None:
    with pytest.raises(GraphError, match=f"Method `{name}` cannot use soft priors, such as `"):
        oocdm.fit(DATA, name, priors=["Ball.x <- ?0.2 self.push"], schedule=QUICK)


@pytest.mark.parametrize("name", DENSE)
def test_dense_methods_refuse_to_leave_edges_out(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(GraphError, match="reads all variables, but the priors forbid some edges"):
        oocdm.fit(DATA, name, priors=["Ball.x <- !self.push"], schedule=QUICK, folder=folder)
    assert not folder.exists()


def test_edges_that_ticsa_was_given_cost_nothing_and_are_not_judged() -> None:
    known = oocdm.fit(DATA, "ticsa", graph=TRUE, schedule=QUICK)
    first = built("ticsa")
    assert isinstance(known.model, TicsaModel) and isinstance(first, TicsaModel)
    assert torch.equal(known.model.logits, first.logits)
    partly = oocdm.fit(DATA, "ticsa", priors=["Ball.x <- !Lamp[*].heat"], schedule=QUICK)
    assert isinstance(partly.model, TicsaModel)
    stayed = (partly.model.logits == first.logits).tolist()
    assert [
        name for name, same in zip(partly.evidence.edges.names, stayed, strict=True) if same
    ] == [f"Ball[{i}].x <- Lamp[0].heat" for i in range(2)]


@pytest.mark.parametrize("name", [*CAUSAL, "oocdm"])
def test_a_network_that_was_given_its_graph_is_not_asked_about_edges(name: str) -> None:
    schedule = QUICK if name in CAUSAL else replace(QUICK, polish_steps=0)
    options = {"schedule": schedule, **FEW_TESTS.get(name, {})}
    known = oocdm.fit(DATA, name, graph=ClassGraph.covering(SCHEMA, TRUE), **options)
    if name == "grader":  # which asks the data alone
        assert set(oocdm.discover(known, DATA).evidence.decision) <= {"yes", "no", "untestable"}
        return
    message = f"discover: method `{name}` asks its network about edges, and that of this run was "
    with pytest.raises(ModelError, match=f"^{message}given its graph: "):
        oocdm.discover(known, DATA)


@pytest.mark.parametrize("name", ["cdl", "ticsa", "oocdm"])
def test_single_edges_that_were_given_stay_as_they_are(name: str) -> None:
    schedule = replace(QUICK, polish_steps=0)
    rows = ["Ball.x <- Lamp[*].heat, !self.push"]
    result = oocdm.fit(DATA, name, priors=rows, schedule=schedule)
    again = oocdm.discover(result, DATA.head(200))
    given = np.isin(result.evidence.decision, ["required", "forbidden"])
    assert given.any() and np.isnan(again.evidence.score[given]).all()
    edges = result.model.edges
    assert np.array_equal(edges.mask(again.graph)[given], edges.mask(result.graph)[given])
    assert not np.isnan(again.evidence.score[~given]).all()
    # Nor when nobody says so any more: the network still knows them one way only.
    freed = oocdm.discover(result, DATA.head(200), priors=[])
    assert set(freed.evidence.decision[given]) == {"untestable"}
    assert np.array_equal(edges.mask(freed.graph)[given], edges.mask(result.graph)[given])


@pytest.mark.parametrize("name", [*CAUSAL, "oocdm"])
def test_priors_of_a_run_hold_when_it_discovers_again(name: str, tmp_path: Path) -> None:
    schedule = replace(QUICK, polish_steps=0)
    rows = ["Ball.x <- Lamp[*].heat, !self.push"]
    options = {"schedule": schedule, **FEW_TESTS.get(name, {})}
    oocdm.fit(DATA, name, priors=rows, **options).save(tmp_path)
    result = oocdm.load(tmp_path)
    assert result.priors is not None and result.priors.rows == tuple(rows)
    given = np.isin(result.evidence.decision, ["required", "forbidden"])
    for thresholds in ((-1e9,), (1e9,)) if name in ("cdl", "cdl-a", "oocdm") else ((),):
        again = oocdm.discover(result, DATA.head(200), *thresholds)
        assert again.evidence.decision[given].tolist() == result.evidence.decision[given].tolist()
        is_in = result.model.edges.mask(again.graph)
        assert is_in[given].tolist() == (again.evidence.decision[given] == "required").tolist()


def test_other_priors_take_the_place_of_a_run_s(fitted: dict[str, FitResult]) -> None:
    rows = ["Ball.x <- Lamp[*].heat, !self.push"]
    for name in CAUSAL:
        found = oocdm.discover(fitted[name], DATA.head(200), priors=rows)
        decision = dict(zip(found.evidence.edges.names, found.evidence.decision, strict=True))
        assert decision["Ball[1].x <- Lamp[0].heat"] == "required"
        assert decision["Ball[1].x <- Ball[1].push"] == "forbidden"
        assert isinstance(found.graph, VariableGraph)
        parents = found.graph.parents("Ball[1].x")
        assert "Lamp[0].heat" in parents and "Ball[1].push" not in parents
    with pytest.raises(GraphError, match="Method `cdl` cannot use soft priors"):
        oocdm.discover(fitted["cdl"], DATA, priors=["Ball.x <- ?0.2 self.push"])
    with pytest.raises(ModelError, match=r"^discover: the priors tell of all edges: none is left"):
        oocdm.discover(fitted["cdl"], DATA, priors=["*.* <- self.*, !*[*].*"])


def test_beliefs_of_a_run_hold_when_it_discovers_again() -> None:
    doubted = oocdm.fit(
        DATA, "grader", priors=["Ball.x <- ?1e-300 self.push"], schedule=QUICK, workers=1
    )
    edge = "Ball[0].x <- Ball[0].push"
    assert edge not in oocdm.discover(doubted, DATA).graph
    assert edge in oocdm.discover(doubted, DATA, priors=[]).graph


@pytest.mark.parametrize("num", [1, 2, 5])
def test_the_price_of_ticsa_is_that_of_one_nat_an_output(num: int) -> None:
    """Likelihoods are means over the objects of a class, and so must prices be."""
    method = make_method("ticsa")
    counts = {"Ball": num, "Lamp": 2}
    model = method.build(SCHEMA, Scales.unit(SCHEMA), counts)
    assert isinstance(model, TicsaModel)
    model.logits.data.fill_(-1e3)
    into = np.array([name.startswith("Ball[0].x <-") for name in model.edges.names])
    model.logits.data[torch.as_tensor(into)] = 1e3
    free = np.ones(len(into), dtype=bool)
    price = method.penalty(LearningState(model, free, free, free, 0))
    assert price is not None
    # One nat for one ball of all is this much of the mean over balls.
    assert float(price.detach()) == pytest.approx(1 / num)


@pytest.mark.parametrize("name", [*BASELINES, "oocdm", "oofull"])
def test_a_class_may_never_have_objects(name: str) -> None:
    env = oocdm.make("mouse", num_monsters=0, num_food=2, num_traps=1)
    data = oocdm.collect(env, steps=60, seed=0)
    assert not data.present["Monster"].any() and data.present["Monster"].shape[1] == 1
    options = FEW_TESTS.get(name, {})
    without_rows = data.select_episodes(data.episode_ids)
    for each in (data, without_rows):
        result = oocdm.fit(
            each, name, graph=oocdm.ClassGraph.full(data.schema), schedule=QUICK, **options
        )
        # Rows that are never objects may be there or not.
        first, second = (oocdm.evaluate(result, test).aill for test in (data, without_rows))
        assert np.isfinite(first) and first == pytest.approx(second)


def test_limited_time_is_enough_for_tests_and_for_training(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    samples: list[int] = []

    def answer_each(test: FastCit, inputs: Any, y: np.ndarray, asked: Any, *_: Any) -> Any:
        nonlocal now
        now += 1e-3 * len(y) * 12 / 8  # twelve trees for all, eight for each
        for _ in asked:
            samples.append(len(y))
            now += 1e-3 * len(y)
            yield Answer(0.5)

    def step(progress: Progress) -> None:
        nonlocal now
        now += 0.0 if progress.phase == "discover" else 0.05

    monkeypatch.setattr(time, "perf_counter", lambda: now)
    monkeypatch.setattr(FastCit, "answer_each", answer_each)
    schedule = replace(QUICK, iterations=1_000, polish_steps=1_000)
    result = oocdm.fit(
        DATA, "grader", schedule=schedule, workers=1, max_seconds=10.0, callback=step
    )
    # The 24 tests of 4 outputs would take 30 s with 1,000 transitions: they get half of the 10 s.
    assert samples[:2] == [1000, 75] and set(samples[2:]) == {75}
    assert "24 tests of edges on 1000 transitions would take longer than the 5 s" in caplog.text
    steps = {entry["phase"]: entry["step"] for entry in result.history}
    assert steps["learn"] + steps["polish"] == pytest.approx((10 - 4.94) / 0.05, abs=2)
    assert steps["learn"] / steps["polish"] == pytest.approx(3, rel=0.1)


def test_a_library_that_loads_slowly_is_not_taken_for_slow_tests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, is_loaded = 100.0, False

    def load(test: FastCit) -> None:
        nonlocal now, is_loaded
        now += 0.0 if is_loaded else 3.0
        is_loaded = True

    def answer_each(test: FastCit, inputs: Any, y: Any, asked: Any, *_: Any) -> Any:
        nonlocal now
        load(test)
        for _ in asked:
            now += 0.1
            yield Answer(0.5)

    monkeypatch.setattr(time, "perf_counter", lambda: now)
    monkeypatch.setattr(FastCit, "load", load)
    monkeypatch.setattr(FastCit, "answer_each", answer_each)
    edges = VariableEdges(SCHEMA, COUNTS)
    tests = VariableTests(DATA, edges).within(20.0, np.ones(len(edges), dtype=bool))
    assert tests.max_samples == 1000  # 24 tests take less than 3 s


def test_tests_that_fit_the_time_see_all_transitions(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[int] = set()

    def answer_each(test: FastCit, inputs: Any, y: np.ndarray, asked: Any, *_: Any) -> Any:
        seen.add(len(y))
        return (Answer(0.5) for _ in asked)

    monkeypatch.setattr(FastCit, "answer_each", answer_each)
    oocdm.fit(DATA, "grader", schedule=QUICK, workers=1, max_seconds=60.0)
    assert seen == {1000}


def test_tests_run_on_as_many_threads_as_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[int] = []

    def discover(tests: VariableTests, *_: Any) -> Any:
        used.append(tests.workers)
        raise KeyboardInterrupt

    monkeypatch.setattr(VariableTests, "discover", discover)
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            with pytest.raises(KeyboardInterrupt):
                oocdm.fit(DATA, "grader", schedule=QUICK)
    finally:
        torch.set_num_threads(before)
    assert used == [1, 2]


@pytest.mark.parametrize("name", BASELINES)
def test_a_world_of_one_variable(name: str) -> None:
    class Dot(ObjectClass):
        x = Real()

    import pandas as pd

    steps = np.arange(200)
    log = pd.DataFrame({"episode": steps // 20, "step": steps % 20, "object": 0})
    log["x"] = np.random.default_rng(0).normal(size=200)
    data = Dataset.from_frames({"Dot": log}, Schema(Dot))
    result = oocdm.fit(data, name, schedule=QUICK)
    assert np.isfinite(oocdm.evaluate(result, data).aill)


def test_tests_run_side_by_side_give_the_same() -> None:
    quick = Schedule(1, 1, 0)
    one, two = (
        oocdm.fit(DATA, "grader", schedule=quick, max_samples=60, workers=n) for n in (1, 2)
    )
    assert one.evidence.rows() == two.evidence.rows()


def test_grader_tells_how_far_its_tests_are() -> None:
    told: list[Progress] = []
    quick = Schedule(1, 1, 0)
    oocdm.fit(DATA, "grader", schedule=quick, max_samples=60, workers=1, callback=told.append)
    steps = [p.step for p in told if p.phase == "discover"]
    assert steps == list(range(1, FULL.matrix.size + 1))


# ---------------------------------------------------------------- what they refuse


@pytest.mark.parametrize("name", BASELINES)
def test_objects_that_vary_are_refused(name: str) -> None:
    data = oocdm.collect(oocdm.make("block", num_blocks=None), steps=200, seed=0)
    message = (
        f"Method `{name}`: expected the same objects of class `Block` in every step, got 1 to 7 in "
        "7 places. `oocdm methods` tells which take objects that vary, such as `oocdm` and "
        "`oofull`."
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        oocdm.fit(data, name)


def renamed(data: Dataset, *balls: str) -> Dataset:
    ids = np.tile(np.array(balls, dtype=object), (data.num_episodes, 1))
    return replace(data, object_ids={**data.object_ids, "Ball": ids})


def test_other_objects_are_refused(tmp_path: Path) -> None:
    logged, other = renamed(DATA, "left", "right"), renamed(DATA, "a_right", "left")
    oocdm.fit(logged, "cdl", schedule=QUICK, folder=tmp_path / "run")
    oocdm.load(tmp_path / "run").save(tmp_path / "copy")
    result = oocdm.load(tmp_path / "copy")
    assert result.objects == {"Ball": ["left", "right"], "Lamp": ["0"]}
    oocdm.evaluate(result, logged)
    asked: dict[str, Any] = {
        "evaluate": lambda: oocdm.evaluate(result, other),
        "discover": lambda: oocdm.discover(result, other),
        "check_assumptions": lambda: oocdm.check_assumptions(result, other),
        "counterfactual": lambda: oocdm.counterfactual(result, other, 0, 0, do={}),
    }
    for where, ask in asked.items():
        message = f"^{where}: expected object `left` of class `Ball` at place 0, as in training, "
        with pytest.raises(DataError, match=message):
            ask()


def test_a_run_goes_on_with_its_own_objects_only(tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        if (progress.phase, progress.step) == ("learn", 5):
            raise Interrupt

    logged = renamed(DATA, "left", "right")
    with pytest.raises(Interrupt):
        oocdm.fit(logged, "cdl", schedule=QUICK, folder=tmp_path, callback=stop)
    with pytest.raises(DataError, match=r"^resume: expected object `left` of class `Ball` at"):
        oocdm.resume(tmp_path, renamed(DATA, "a_right", "left"))
    assert oocdm.resume(tmp_path, logged).objects is not None


def test_runs_that_kept_no_names_are_read(fitted: dict[str, FitResult], tmp_path: Path) -> None:
    fitted["cdl"].save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    del config["objects"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    back = oocdm.load(tmp_path)
    assert back.objects is None
    oocdm.evaluate(back, renamed(DATA, "a", "b"))


def test_methods_of_classes_take_any_objects() -> None:
    quick = {"iterations": 1, "steps_per_iteration": 2, "polish_steps": 2}
    result = oocdm.fit(renamed(DATA, "left", "right"), "oofull", schedule=quick)
    assert result.objects is None
    oocdm.evaluate(result, renamed(DATA, "a_right", "left"))


def test_other_numbers_of_objects_are_refused() -> None:
    three = Snapshot.of(
        SCHEMA,
        {
            "Ball": {"x": torch.zeros(1, 3), "push": torch.zeros(1, 3)},
            "Lamp": {"colour": torch.zeros(1, 1, dtype=torch.long), "heat": torch.zeros(1, 1)},
        },
    )
    message = (
        "Class `Ball`: expected 2 objects, as in training, got 3. This model knows its objects one "
        "by one; `oocdm methods` tells which take any numbers, such as `oocdm` and `oofull`."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        built("mlp")(three, FULL)


def test_grader_has_another_threshold(fitted: dict[str, FitResult]) -> None:
    message = (
        "Method `grader` has no threshold in nats: it finds edges with a p-value below its option "
        "`alpha`, here 0.1. Fit with another alpha instead."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        oocdm.discover(fitted["grader"], DATA, threshold=0.3)


@pytest.mark.parametrize(
    ("name", "option", "value", "expected"),
    [
        ("grader", "alpha", 2.0, "a number between 0 and 1"),
        ("grader", "max_samples", 3, "a whole number of at least 20"),
        ("grader", "workers", 0, "a whole number of at least 1"),
        ("cdl", "encoding", -3, "a whole number of at least 1"),
        ("cdl", "max_scored", 0, "a whole number of at least 1"),
        ("cdl", "encoding", "wide", "a whole number or None"),
        ("cdl", "threshold", True, "a number or None"),
        ("cdl-a", "keys", 31, "an even number, since two heads share it"),
        ("cdl-a", "encoding", 25, "an even number, since two heads share it"),
        ("mlp", "width", 0, "a whole number of at least 1"),
        ("mlp", "width", 2.5, "a whole number or None"),
        ("ticsa", "sparsity", -1.0, "a number from 0 on"),
        ("gnn", "widths", 3, "a GnnWidths"),
    ],
)
def test_options_out_of_range(name: str, option: str, value: Any, expected: str) -> None:
    message = f"Method `{name}`: `{option}`: expected {expected}, got {value!r}."
    with pytest.raises(ModelError, match=re.escape(message)):
        make_method(name, **{option: value})


@pytest.mark.parametrize("name", ["oocdm", "cdl", "cdl-a"])
def test_a_threshold_that_is_no_number_is_refused_before_training(name: str) -> None:
    with pytest.raises(OocdmError, match=r"^threshold: expected a number of nats or None, got nan"):
        make_method(name, threshold=float("nan"))


def test_whole_numbers_are_numbers() -> None:
    method = make_method("ticsa", sparsity=2, width=np.int64(8))
    assert json.loads(json.dumps(method.to_json()))["width"] == 8


def test_a_mapping_changes_the_schedule_of_the_preset() -> None:
    own = make_method("cdl", "paper").schedule
    changed = make_method("cdl", "paper", schedule={"iterations": 3}).schedule
    assert changed == replace(own, iterations=3)
    with pytest.raises(ModelError, match=r"there is no `iteration`\. Did you mean `iterations`\?"):
        make_method("cdl", schedule={"iteration": 3})


def test_a_mapping_changes_parts_of_any_option() -> None:
    assert make_method("gnn", widths={"node": np.int64(16)}) == Gnn(widths=GnnWidths(node=16))
    method = make_method("cdl", "paper", head={"sigma_floor": 1})
    assert method == Cdl.preset(
        "paper", head=HeadOptions(predict_change=False, clamp_means=False, sigma_floor=1)
    )
    own = Oocdm.preset("paper")
    wide = make_method("oocdm", "paper", model={"decoder_dim": 64, "aggregators": ["sum"]})
    assert wide == replace(own, model=replace(own.model, decoder_dim=64, aggregators=("sum",)))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "gnn",
            {"widths": {"nodes": 16}},
            "Method `gnn`: `widths`: there is no `nodes`. Did you mean `node`? Known: node, ",
        ),
        (
            "gnn",
            {"widths": {"node": 0}},
            "Method `gnn`: `widths`: `node`: expected a whole number of at least 1, got 0.",
        ),
        (
            "gnn",
            {"widths": {"node": "wide"}},
            "Method `gnn`: `widths`: `node`: expected a whole number, got 'wide'.",
        ),
        (
            "cdl",
            {"head": {"predict_change": 1}},
            "Method `cdl`: `head`: `predict_change`: expected true or false, got 1.",
        ),
        ("oofull", {"model": {1: 2}}, "Method `oofull`: `model`: there is no `1`. Known: "),
        (
            "oofull",
            {"model": {"heads": 0}},
            "model: `heads`: expected a whole number of at least 1, got 0.",
        ),
    ],
)
def test_wrong_parts_of_options(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=f"^{re.escape(message)}"):
        make_method(name, **options)


def test_the_paper_s_discovery_scores_all_transitions() -> None:
    assert make_method("cdl", "paper").to_json()["max_scored"] is None


def with_unknown(data: Dataset, c: str, f: str, is_unknown: np.ndarray) -> Dataset:
    """The data with some values of a field missing."""
    observed, values = (
        {k: dict(fields) for k, fields in table.items()} for table in (data.observed, data.values)
    )
    observed[c][f] = observed[c][f] & ~is_unknown
    values[c][f] = np.where(is_unknown, 0, values[c][f]).astype(values[c][f].dtype)
    return replace(data, observed=observed, values=values)


def test_tests_need_transitions_that_are_all_known() -> None:
    data = with_unknown(DATA, "Lamp", "heat", np.ones((len(DATA.episode), 1), dtype=bool))
    message = (
        "Tests of edges into `Ball[0].x`: expected at least 20 transitions in which it and all "
        "values before the step are known, got 0 of 2280. Log more, or use a method that needs "
        "no tests."
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        oocdm.fit(data, "grader", schedule=QUICK)
    with pytest.raises(DataError, match=r"before the step are known, got 15 of 15\. Log more"):
        tests = VariableTests(DATA.head(15), VariableEdges(SCHEMA, COUNTS))
        tests.discover(np.ones(FULL.matrix.size, dtype=bool))


def test_values_missing_after_a_step_cost_only_tests_of_their_output(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Half of the last steps lack the heat: it is an output there, and no input."""
    seen: list[int] = []

    def answer_each(test: FastCit, inputs: Any, y: np.ndarray, asked: Any, *_: Any) -> Any:
        seen.append(len(y))
        assert {len(column) for column in inputs} == {len(y)}
        return (Answer(0.5) for _ in asked)

    monkeypatch.setattr(FastCit, "answer_each", answer_each)
    short = DATA.select_episodes(DATA.episode_ids[:30])
    is_unknown = (short.step == short.step.max()) & (short.episode % 2 == 0)
    data = with_unknown(short, "Lamp", "heat", is_unknown[:, None])
    everything = np.ones(FULL.matrix.size, dtype=bool)
    VariableTests(data, VariableEdges(SCHEMA, COUNTS)).discover(everything)
    assert seen == [570, 570, 570, 555]
    assert (
        "Tests of edges into `Lamp[0].heat` see 555 transitions, not 570: they need those in "
        "which it and all values before the step are known. Log more, or fill in what is missing."
    ) in caplog.text
    seen.clear()
    caplog.clear()
    VariableTests(data, VariableEdges(SCHEMA, COUNTS), max_samples=550).discover(everything)
    assert seen == [550] * 4 and not caplog.text


def test_places_that_no_chosen_episode_needs_do_not_matter() -> None:
    data = oocdm.collect(oocdm.make("mouse", num_food=(1, 3)), steps=900, seed=0)
    counts = [int(data.present["Food"][data.episode == e][0].sum()) for e in data.episode_ids]
    alone = data.select_episodes(data.episode_ids[np.array(counts) == 1])
    assert alone.present["Food"].shape[1] == 1 < data.present["Food"].shape[1]
    assert oocdm.fit(alone, "mlp", schedule=QUICK).model.counts == alone.max_counts


def test_unknown_preset() -> None:
    with pytest.raises(ModelError, match=r"^Unknown preset `papr`\. Did you mean `paper`"):
        make_method("cdl", "papr")


# ---------------------------------------------------------------- sizes


PAPER_BYTES = {
    2: {"grader": 2.3e6, "cdl": 319.7e3, "cdl-a": 348.6e3, "ticsa": 184.8e3, "gnn": 66.4e3,
        "mlp": 99.4e3},
    5: {"grader": 6.0e6, "cdl": 1.0e6, "cdl-a": 1.1e6, "ticsa": 582.3e3, "gnn": 100.0e3,
        "mlp": 224.4e3},
    10: {"grader": 15.7e6, "cdl": 3.1e6, "cdl-a": 3.2e6, "ticsa": 2.0e6, "gnn": 147.9e3,
         "mlp": 538.0e3},
}  # fmt: skip


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("blocks", PAPER_BYTES)
def test_sizes_are_near_the_paper_s(name: str, blocks: int) -> None:
    env = oocdm.make("block", num_blocks=blocks)
    counts = {"Block": blocks, "Total": 1}
    model = make_method(name).build(env.schema, Scales.unit(env.schema), counts)
    size = 4 * sum(p.numel() for p in model.parameters())
    assert size == pytest.approx(PAPER_BYTES[blocks][name], rel=0.15)


def test_widths_grow_between_bounds() -> None:
    width = WidthByObjects(32, 16, 64, 256)
    assert width({}, chosen=7) == 7
    assert width({"Block": 1, "Total": 1}) == 64
    assert width({"Block": 40, "Total": 1}) == 256
    assert width({}) == 64
