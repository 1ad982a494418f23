"""Methods over single variables: what they find, what they keep to, where they work."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import oocdm
from oocdm import (
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
from oocdm.methods import make_method, method_from_json
from oocdm.methods.variable_method import WidthByObjects
from oocdm.models.scales import Scales
from tests.methods.toys import (
    BASELINES,
    CAUSAL,
    COUNTS,
    DATA,
    FEW_TESTS,
    FULL,
    LEARNING,
    QUICK,
    ROWS,
    SCHEMA,
    SMALL,
    TRUE,
    Interrupt,
    built,
    changed,
    outputs,
    predict,
    renamed,
    states,
    toy_world,
)


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


@pytest.mark.parametrize("name", CAUSAL)
@pytest.mark.parametrize("seed", range(3))
def test_only_parents_matter_to_the_last_bit(name: str, seed: int) -> None:
    model, before = built(name), states(5)
    matrix = np.random.default_rng(seed).random(FULL.matrix.shape) < 0.4
    graph = VariableGraph(FULL.inputs, FULL.outputs, matrix)
    with torch.no_grad():
        now = outputs(predict(model, before, graph))
        for i, source in enumerate(FULL.inputs):
            then = outputs(predict(model, changed(before, source), graph))
            for j, _ in enumerate(FULL.outputs):
                if not matrix[i, j]:
                    assert torch.equal(then[:, j], now[:, j])


@pytest.mark.parametrize("name", BASELINES)
def test_every_parent_matters(name: str) -> None:
    model, before = built(name, torch.float64), states(5)
    with torch.no_grad():
        now = outputs(predict(model, before, FULL))
        for i, source in enumerate(FULL.inputs):
            then = outputs(predict(model, changed(before, source), FULL))
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
        (found,) = model(model.inputs(before), model.structures(*graphs))
        together = outputs(found)
        for i, graph in enumerate(graphs):
            alone = outputs(predict(model, before, graph))
            torch.testing.assert_close(together[2 * i : 2 * i + 2], alone[2 * i : 2 * i + 2])


def test_a_class_graph_is_grounded() -> None:
    model, before = built("cdl"), states(4)
    graph = ClassGraph.parse(SCHEMA, ["Ball.x <- self.push, Lamp[*].heat"])
    with torch.no_grad():
        ours = outputs(predict(model, before, graph))
        assert torch.equal(ours, outputs(predict(model, before, graph.ground(COUNTS))))


@pytest.mark.parametrize("name", BASELINES)
def test_saved_and_loaded(name: str, fitted: dict[str, FitResult], tmp_path: Path) -> None:
    result = fitted[name]
    result.save(tmp_path)
    back = oocdm.load(tmp_path)
    assert back.graph == result.graph and back.method == result.method
    assert back.evidence.rows() == result.evidence.rows()
    assert oocdm.evaluate(back, DATA).aill == oocdm.evaluate(result, DATA).aill


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
    is_in = edges.mask(result.graph)
    assert set(freed.evidence.decision[given & is_in]) == {"required"}
    assert set(freed.evidence.decision[given & ~is_in]) == {"forbidden"}
    assert np.isnan(freed.evidence.score[given]).all()
    assert np.array_equal(edges.mask(freed.graph)[given], is_in[given])
    for found in (result, again, freed):
        assert found.graph == found.evidence.graph


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
    replace(fitted["cdl"], objects=None).save(tmp_path)
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
        built("mlp").compile_for(FULL)(three)


def test_places_that_no_chosen_episode_needs_do_not_matter() -> None:
    data = oocdm.collect(oocdm.make("mouse", num_food=(1, 3)), steps=900, seed=0)
    counts = [int(data.present["Food"][data.episode == e][0].sum()) for e in data.episode_ids]
    alone = data.select_episodes(data.episode_ids[np.array(counts) == 1])
    assert alone.present["Food"].shape[1] == 1 < data.present["Food"].shape[1]
    assert oocdm.fit(alone, "mlp", schedule=QUICK).model.counts == alone.max_counts


def test_unknown_preset() -> None:
    with pytest.raises(ModelError, match=r"^Unknown preset `papr`\. Did you mean `paper`"):
        make_method("cdl", "papr")


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


def with_empty_places(data: Dataset, c: str) -> Dataset:
    """The data with a place behind the others that never holds an object."""

    def wider(array: np.ndarray) -> np.ndarray:
        return np.concatenate([array, np.zeros_like(array[:, :1])], axis=1)

    def widened(table: Any) -> Any:
        return {**table, c: {f: wider(values) for f, values in table[c].items()}}

    return replace(
        data,
        values=widened(data.values),
        observed=widened(data.observed),
        present={**data.present, c: wider(data.present[c])},
        object_ids={**data.object_ids, c: wider(data.object_ids[c])},
    )


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("c", ["Ball", "Lamp"])
def test_places_that_never_hold_an_object_change_nothing(
    name: str, c: str, fitted: dict[str, FitResult]
) -> None:
    data = with_empty_places(DATA, c)
    result = oocdm.fit(data, fitted[name].method, seed=3)
    assert result.evidence == fitted[name].evidence
    for weight, tensor in fitted[name].model.state_dict().items():
        assert torch.equal(result.model.state_dict()[weight], tensor), weight


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("name", BASELINES)
def test_json_round_trip(name: str, preset: str) -> None:
    method = make_method(name, preset, schedule=QUICK)
    assert method_from_json(json.loads(json.dumps(method.to_json(), allow_nan=False))) == method


def test_counts_are_needed() -> None:
    with pytest.raises(
        ModelError, match=r"^Method `mlp`: expected numbers of objects, got none\.$"
    ):
        make_method("mlp").build(SCHEMA, Scales.unit(SCHEMA))
