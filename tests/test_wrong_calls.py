"""Wrong arguments of all public calls end in an error of the family, in few words."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import oocdm


class Thing:
    """What no call expects."""


# What is wrong for each kind of argument.
NOTHING = [None]
NO_NUMBER = ["x", "", [], {}, True, Thing(), b"x", np.array([1.0])]
WILD = [math.nan, math.inf, 10**400]
KINDS: dict[str, list[Any]] = {
    "thing": ["x", 3, True, [], {"x": 1}, Thing(), b"x", oocdm.CEM, "x" * 10**6],
    "count": [0, -1, 1.5, 2**64, *WILD, *NO_NUMBER],
    "seed": [-1, 1.5, 2**64, *WILD, *NO_NUMBER],
    "whole": [1.5, 2**64, *WILD, *NO_NUMBER],
    "number": [*WILD, *NO_NUMBER],
    "share": [-1, 1.5, *WILD, *NO_NUMBER],
    "positive": [0, -1, *WILD, *NO_NUMBER],
    "flag": [*NOTHING, 0, 1, "no", "", [], Thing()],
    "function": [3, "x", [], Thing()],
    "path": [3, True, [], Thing(), "\udcff", "a\0b", b"x"],
    "name": [*NOTHING, 3, [], {}, Thing(), "", "x" * 10**6, "\udcff"],
    "rows": [*NOTHING, 3, [3], [None], {"x": 1}, Thing(), ["x" * 10**6]],
    "mapping": [3, "x", [1], Thing()],
    "names": [*NOTHING, 3, [3], {"x": 1}, Thing()],
    "places": ["x", 3, 1.5, [[0], [1]], [[0], [1, 2]], {}, slice("a", "b"), Thing()],
    "memory": [*NOTHING, 0, -1, "", "x", "4 parsecs", [], {}, True, Thing(), math.nan, math.inf],
    "shape": ["x", 0, -1, 1.5, [0], (2, 3), True, {}, Thing()],
}


@cache
def given() -> SimpleNamespace:
    """Small things that are right."""
    env = oocdm.make("mouse", num_food=1, num_monsters=1, num_traps=1)
    data = oocdm.collect(env, steps=100, seed=0)
    quick = oocdm.Schedule(iterations=1, steps_per_iteration=1, polish_steps=1)
    result = oocdm.fit(data, graph=env.true_graph, schedule=quick)
    counts = {"Mouse": 1, "Food": 1, "Monster": 1, "Trap": 1}
    planner = oocdm.CEM(horizon=2, iterations=1, samples=6, elites=2)
    return SimpleNamespace(
        fitted={"result": result, "data": data},
        world={"result": result, "task": env.task, "counts": counts},
        at={"episode": 0, "step": 0},
        rows=["Mouse.hunger <- self.hunger"],
        planning=oocdm.MPC(result, env.task, planner),
        env=env,
        task=env.task,
        data=data,
        moves={"Mouse": {"move": np.zeros((1, 2, 1), int)}},
        result=result,
        graph=result.graph,
        schema=data.schema,
        state=data.transitions(slice(0, 2)).before,
        planner=planner,
        truth=oocdm.TrueSimulator(env),
        agent=oocdm.RandomAgent(env),
    )


def started(agent: oocdm.MPC) -> oocdm.MPC:
    agent.reset(2)
    return agent


# A call, and arguments that are right.
Call = tuple[Callable[..., Any], dict[str, Any]]
ASKED = {"result": "thing", "data": "thing"}

# Of each call, the arguments that can be wrong, with the kinds that they are of.
CALLS: dict[str, tuple[Callable[[SimpleNamespace], Call], dict[str, str]]] = {
    "make": (lambda g: (oocdm.make, {"name": "block"}), {"name": "name", "seed": "seed"}),
    "make(block)": (
        lambda g: (lambda **k: oocdm.make("block", **k), {}),
        {"num_blocks": "count", "noise": "positive", "ood": "flag", "variant": "name"},
    ),
    "make(mouse)": (
        lambda g: (lambda **k: oocdm.make("mouse", **k), {}),
        {"ood": "flag", "render_mode": "thing", "tasks": "mapping"},
    ),
    "collect": (
        lambda g: (oocdm.collect, {"env": g.env, "steps": 5}),
        {"env": "thing", "steps": "count", "seed": "seed", "num_worlds": "count"}
        | {"policy": "function", "progress": "function"},
    ),
    "fit": (
        lambda g: (oocdm.fit, {"data": g.data}),
        {"data": "thing", "seed": "seed", "preset": "name", "max_seconds": "share"}
        | {"folder": "path", "callback": "function", "method": "name", "graph": "mapping"}
        | {"priors": "mapping", "device": "name", "schedule": "thing", "num_graphs": "count"},
    ),
    "learn_online": (
        lambda g: (oocdm.learn_online, {"world": g.env}),
        {"world": "thing", "task": "thing", "steps": "count", "policy": "function"}
        | {"planner": "thing", "first": "count", "explore": "share", "buffer": "count"}
        | {"num_worlds": "count", "seed": "seed", "graph": "mapping", "priors": "mapping"}
        | {"preset": "name", "between": "thing", "callback": "function", "folder": "path"}
        | {"memory": "memory", "notes": "mapping", "method": "name", "schedule": "thing"},
    ),
    "Dataset.joined": (lambda g: (oocdm.Dataset.joined, {}), {"datasets": "rows"}),
    "fit(name)": (
        lambda g: (lambda **k: oocdm.fit(g.data, **k), {}),
        {"name": "name", "self": "name", "chosen": "name"},
    ),
    "estimate_memory": (
        lambda g: (oocdm.estimate_memory, {"data": g.data}),
        {"data": "thing", "memory": "memory", "preset": "name"},
    ),
    "accept_changes": (lambda g: (oocdm.accept_changes, {}), {"folder": "path"}),
    "load_dataset": (lambda g: (oocdm.load_dataset, {}), {"folder": "path"}),
    "Dataset.save": (
        lambda g: (g.data.save, {"folder": "data"}),
        {"folder": "path", "overwrite": "flag"},
    ),
    "Dataset.split": (
        lambda g: (g.data.split, {"fraction": 0.5, "seed": 0}),
        {"fraction": "share", "seed": "seed"},
    ),
    "Dataset.head": (lambda g: (g.data.head, {}), {"n": "count"}),
    "Dataset.transitions": (lambda g: (g.data.transitions, {}), {"rows": "places"}),
    "Dataset.padded_bytes": (lambda g: (g.data.padded_bytes, {}), {"rows": "places"}),
    "Snapshot.of": (
        lambda g: (
            oocdm.Snapshot.of,
            {"schema": g.schema, "values": g.state.values, "present": g.state.present},
        ),
        {"schema": "thing", "values": "mapping", "present": "mapping"},
    ),
    "with_actions": (
        lambda g: (oocdm.with_actions, {"state": g.state, "actions": {}}),
        {"state": "thing", "actions": "mapping"},
    ),
    "Rollout": (
        lambda g: (lambda name: oocdm.rollout(g.result, g.state, g.moves, 2).mean(name), {}),
        {"name": "name"},
    ),
    "evidence.roc_auc": (
        lambda g: (g.result.evidence.roc_auc, {"true": g.graph}),
        {"counts": "mapping"},
    ),
    "load": (lambda g: (oocdm.load, {}), {"folder": "path"}),
    "resume": (lambda g: (oocdm.resume, {}), {"folder": "path"}),
    "save": (lambda g: (g.result.save, {}), {"folder": "path"}),
    "evaluate": (
        lambda g: (oocdm.evaluate, g.fitted),
        ASKED | {"batch_size": "count", "graph": "thing", "doubts": "flag"},
    ),
    "check_assumptions": (
        lambda g: (oocdm.check_assumptions, g.fitted),
        ASKED | {"batch_size": "count"},
    ),
    "discover": (
        lambda g: (oocdm.discover, g.fitted),
        ASKED | {"threshold": "number", "progress": "function", "priors": "mapping"},
    ),
    "discover_variables": (
        lambda g: (oocdm.discover_variables, g.fitted),
        ASKED | {"threshold": "number"},
    ),
    "rollout": (
        lambda g: (oocdm.rollout, {"result": g.result, "state": g.state, "steps": 1}),
        {"result": "thing", "state": "thing", "actions": "mapping"}
        | {"samples": "count", "seed": "seed", "steps": "count", "doubts": "flag"},
    ),
    "counterfactual": (
        lambda g: (oocdm.counterfactual, {**g.fitted, **g.at, "do": {}}),
        ASKED
        | {"episode": "whole", "step": "whole", "do": "mapping", "hold": "flag"}
        | {"horizon": "count", "seed": "seed", "doubts": "flag"},
    ),
    "explain": (
        lambda g: (oocdm.explain, {**g.fitted, **g.at, "variable": "Mouse[0].hunger"}),
        ASKED
        | {"episode": "whole", "step": "whole", "variable": "name"}
        | {"depth": "count", "seed": "seed"},
    ),
    "check_world": (lambda g: (oocdm.check_world, {"world": g.env}), {"seed": "seed"}),
    "check_method": (lambda g: (oocdm.check_method, {"method": "oocdm"}), {"seed": "seed"}),
    "CEM": (
        lambda g: (oocdm.CEM, {}),
        dict.fromkeys(("horizon", "iterations", "samples", "futures", "elites"), "count")
        | dict.fromkeys(("discount", "refresh", "smoothing"), "share")
        | {"stop_at_termination": "flag"},
    ),
    "ICEM": (
        lambda g: (oocdm.ICEM, {}),
        {"noise_beta": "number", "decay": "positive", "keep": "share"},
    ),
    "MPPI": (lambda g: (oocdm.MPPI, {}), {"temperature": "positive"}),
    "MPC": (
        lambda g: (oocdm.MPC, {"result": g.result, "task": g.task}),
        {"result": "thing", "task": "thing", "planner": "thing", "seed": "seed"}
        | {"warm_start": "flag", "prune": "flag", "cache": "flag", "caution": "share"}
        | {"memory": "memory"},
    ),
    "MPC.reset": (lambda g: (g.planning.reset, {}), {"num_worlds": "count"}),
    "MPC.act": (
        lambda g: (
            lambda **k: started(oocdm.MPC(g.result, g.task, g.planner)).act(**k),
            {"state": g.state},
        ),
        {"state": "thing", "can_act": "mapping", "worlds": "thing"},
    ),
    "plan": (
        lambda g: (
            g.planner.plan,
            {"simulator": g.truth, "state": g.state, "generator": torch.Generator()},
        ),
        {"simulator": "thing", "state": "thing", "generator": "thing", "warm": "mapping"}
        | {"can_act": "mapping", "cache": "flag"},
    ),
    "RandomAgent": (
        lambda g: (oocdm.RandomAgent, {"world": g.env}),
        {"world": "thing", "seed": "seed"},
    ),
    "run_episodes": (
        lambda g: (oocdm.run_episodes, {"world": g.env, "agent": g.agent, "episodes": 1}),
        {"world": "thing", "agent": "mapping", "episodes": "count", "seed": "seed"}
        | {"max_steps": "count", "progress": "function", "watch": "function"},
    ),
    "TrueSimulator": (lambda g: (oocdm.TrueSimulator, {}), {"world": "thing"}),
    "LearnedSimulator": (
        lambda g: (oocdm.LearnedSimulator, {"result": g.result, "task": g.task}),
        {"result": "thing", "task": "thing", "horizon": "count"},
    ),
    "Dynamics": (
        lambda g: (oocdm.Dynamics, {"result": g.result}),
        {"result": "thing", "reads": "mapping", "horizon": "count"},
    ),
    "Dynamics.step": (
        lambda g: (oocdm.Dynamics(g.result).step, {"before": g.state}),
        {"before": "thing", "seed": "whole"},
    ),
    "LearnedEnv": (
        lambda g: (oocdm.LearnedEnv, g.world),
        {"result": "thing", "task": "thing", "counts": "mapping", "start": "mapping"}
        | {"max_episode_steps": "count", "sample": "flag", "seed": "seed"},
    ),
    "LearnedEnv.reset": (lambda g: (oocdm.LearnedEnv(**g.world).reset, {}), {"seed": "seed"}),
    "LearnedVectorEnv": (
        lambda g: (oocdm.LearnedVectorEnv, {**g.world, "num_envs": 2}),
        {"num_envs": "count", "seed": "seed", "autoreset_mode": "mapping"},
    ),
    "FlatEnv": (lambda g: (oocdm.FlatEnv, {}), {"env": "thing"}),
    "Task": (
        lambda g: (lambda **k: oocdm.Task(**{"reward": len, **k}), {}),
        {"reward": "mapping", "terminated": "mapping", "reads": "names"},
    ),
    "Real": (
        lambda g: (oocdm.Real, {}),
        {"low": "number", "high": "number", "action": "flag", "static": "flag"}
        | {"shape": "shape", "likelihood": "mapping"},
    ),
    "Integer": (lambda g: (oocdm.Integer, {}), {"low": "whole", "high": "whole", "action": "flag"}),
    "Categorical": (lambda g: (oocdm.Categorical, {}), {"values": "count", "static": "flag"}),
    "Boolean": (lambda g: (oocdm.Boolean, {}), {"action": "flag", "static": "flag"}),
    "Schema": (lambda g: (lambda c: oocdm.Schema(c), {}), {"c": "thing"}),
    "Schema.from_json": (lambda g: (oocdm.Schema.from_json, {}), {"data": "thing"}),
    "Schema.fields": (lambda g: (g.schema.fields, {}), {"class_name": "name"}),
    "Schema.field": (lambda g: (g.schema.field, {"class_name": "Food"}), {"field_name": "name"}),
    "Schema.split": (lambda g: (g.schema.split, {}), {"name": "name"}),
    "ClassGraph": (lambda g: (oocdm.ClassGraph, {"mask": [True]}), {"schema": "thing"}),
    "ClassGraph.parse": (
        lambda g: (oocdm.ClassGraph.parse, {"schema": g.schema, "rows": g.rows}),
        {"schema": "thing", "rows": "rows"},
    ),
    "ClassGraph.random": (
        lambda g: (
            oocdm.ClassGraph.random,
            {"schema": g.schema, "probability": 0.5, "rng": np.random.default_rng(0)},
        ),
        {"schema": "thing", "probability": "share", "rng": "thing"},
    ),
    "ClassGraph.of_edges": (
        lambda g: (oocdm.ClassGraph.of_edges, {"schema": g.schema, "edges": []}),
        {"schema": "thing", "edges": "rows"},
    ),
    "ClassGraph.covering": (
        lambda g: (oocdm.ClassGraph.covering, {"schema": g.schema, "graph": g.graph}),
        {"graph": "thing"},
    ),
    "ClassGraph.from_json": (
        lambda g: (oocdm.ClassGraph.from_json, {"schema": g.schema}),
        {"data": "thing"},
    ),
    "graph.parents": (lambda g: (g.graph.parents, {}), {"target": "mapping"}),
    "graph.children": (lambda g: (g.graph.children, {}), {"source": "name"}),
    "graph.ground": (lambda g: (g.graph.ground, {}), {"counts": "thing"}),
    "graph.with_edge": (lambda g: (g.graph.with_edge, {}), {"edge": "thing"}),
    "graph.compare": (
        lambda g: (g.graph.compare, {"true": g.graph}),
        {"true": "thing", "counts": "mapping", "testable": "thing"},
    ),
    "graph.to_dot": (lambda g: (g.graph.to_dot, {}), {"evidence": "thing"}),
    "VariableGraph.parse": (
        lambda g: (
            oocdm.VariableGraph.parse,
            {"inputs": ["Ball[0].x"], "outputs": ["Ball[0].x"], "rows": []},
        ),
        {"inputs": "rows", "outputs": "rows", "rows": "rows"},
    ),
    "Edge.parse_row": (lambda g: (oocdm.Edge.parse_row, {}), {"row": "name"}),
    "Priors": (
        lambda g: (oocdm.Priors.parse, {"schema": g.schema, "rows": g.rows}),
        {"schema": "thing", "rows": "rows"},
    ),
    "Priors.read": (lambda g: (oocdm.Priors.read, {"schema": g.schema}), {"path": "path"}),
    "evidence[]": (lambda g: (lambda edge: g.result.evidence[edge], {}), {"edge": "name"}),
    "save_adjacency": (
        lambda g: (oocdm.save_adjacency, {"path": "nowhere.png", "graph": g.graph}),
        {"path": "path", "graph": "thing", "evidence": "thing", "true": "thing"},
    ),
    "Structure": (lambda g: (oocdm.Structure, {"flags": [True]}), {"layout": "thing"}),
    "Schedule": (
        lambda g: (oocdm.Schedule, {}),
        {f.name: "positive" for f in fields(oocdm.Schedule)}
        | {"polish_steps": "seed", "patience": "seed", "warm_up": "seed", "held_out": "share"}
        | {"copies": "seed"}
        | {"optimiser": "name", "resolution": "number", "final_resolution": "number"},
    ),
    "ModelOptions": (
        lambda g: (oocdm.ModelOptions, {}),
        {
            f.name: "flag" if isinstance(f.default, bool) else "positive"
            for f in fields(oocdm.ModelOptions)
        }
        | {"product_rank": "seed", "identity_dim": "seed"},
    ),
    "Oocdm": (
        lambda g: (oocdm.Oocdm, {}),
        {"objective_name": "name", "search_name": "name", "schedule": "thing"}
        | {"min_effect": "share", "false_discovery_rate": "share", "threshold": "number"}
        | {"num_graphs": "count", "max_scored": "count", "patience": "count"}
        | {"contested_weight": "positive", "hide_variables": "share", "model": "thing"},
    ),
}


# What is not wrong after all.
ALLOWED: dict[tuple[str, str], list[Any]] = {
    ("make(block)", "noise"): [0],
    ("fit", "max_seconds"): [1.5],
}


def is_allowed(name: str, argument: str, value: Any) -> bool:
    return any(value is each for each in ALLOWED.get((name, argument), []))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a path that was not refused does no harm."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments_are_refused_in_few_words(name: str) -> None:
    make, kinds = CALLS[name]
    call, right = make(given())
    accepted = []
    for argument, kind in kinds.items():
        for value in KINDS[kind]:
            if is_allowed(name, argument, value):
                continue
            try:
                call(**{**right, argument: value})
            except oocdm.OocdmError as error:
                assert 10 < len(str(error)) < 2000
            else:
                accepted.append(f"{argument}={str(value)[:80]!r}")
    assert accepted == []
