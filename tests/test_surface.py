"""The surface that scripts rely on: every name exists, takes what it promises, and is documented.

A name that joins `oocdm` joins NAMES.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pandas as pd
import pytest

import oocdm

NAMES = {
    *("ObjectClass", "Schema", "Real", "Integer", "Categorical", "Boolean", "Task"),
    *("ClassGraph", "VariableGraph", "Edge", "GraphComparison", "Priors"),
    *("Layout", "Structure", "Evidence", "EdgeEvidence"),
    *("Dataset", "Transitions", "Snapshot", "load_dataset"),
    *("AbstractWorld", "WorldState", "check_world", "collect", "make", "list_envs", "EnvInfo"),
    *(
        "fit",
        "record",
        "resume",
        "load",
        "estimate_memory",
        "FitResult",
        "Progress",
        "Schedule",
        "accept_changes",
    ),
    *("learn_online", "OnlineResult", "OnlineProgress"),
    *("AbstractMethod", "AbstractVariableMethod", "check_method"),
    *("Oocdm", "OocdmPlus", "Oofull", "OofullPlus", "ModelOptions"),
    *("discover", "discover_variables", "discover_by_tests", "Discovery"),
    *("evaluate", "Evaluation", "FieldReport", "check_assumptions", "Finding"),
    *("rollout", "Rollout", "counterfactual", "Counterfactual", "explain", "Explanation"),
    *("Seen", "SeenField"),
    *("Dynamics", "with_actions"),
    *("Planner", "CEM", "ICEM", "MPPI", "Agent", "MPC", "RandomAgent"),
    *("Simulator", "LearnedSimulator", "TrueSimulator"),
    *("run_episodes", "EpisodeResults", "EpisodesProgress", "Moment"),
    *("LearnedEnv", "LearnedVectorEnv", "FlatEnv", "StableBaselinesEnv"),
    "save_adjacency",
    *(
        "OocdmError",
        "SchemaError",
        "FileError",
        "DataError",
        "GraphError",
        "ModelError",
        "PlanError",
    ),
}

# Slow to load, and not needed by every script.
LOADED_LATER = {
    "matplotlib",
    "mujoco",
    "pandas",
    "sklearn",
    "stable_baselines3",
    "networkx",
    "rich",
}


def test_names() -> None:
    assert set(oocdm.__all__) == NAMES
    assert len(oocdm.__all__) == len(NAMES)
    for name in oocdm.__all__:
        assert hasattr(oocdm, name)
    assert isinstance(oocdm.__version__, str)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module `oocdm` has no attribute `fitt`"):
        oocdm.fitt  # noqa: B018, the attribute is the test


def test_import_loads_no_slow_library() -> None:
    code = "import sys, oocdm; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert LOADED_LATER.isdisjoint(done.stdout.split())


# ---------------------------------------------------------------- documentation


def documented() -> Iterator[tuple[str, Any]]:
    """Every public name, and the public methods and properties that its class itself defines."""
    for name in oocdm.__all__:
        found = getattr(oocdm, name)
        yield name, found
        if inspect.isclass(found):
            for member, value in vars(found).items():
                if not member.startswith("_") and (
                    callable(value) or isinstance(value, property | staticmethod | classmethod)
                ):
                    yield f"{name}.{member}", getattr(found, member)


@pytest.mark.parametrize(("name", "found"), list(documented()))
def test_is_documented(name: str, found: Any) -> None:
    # An override may leave the words to what it overrides.
    doc = inspect.getdoc(found) or ""
    assert doc, f"{name} has no docstring"
    assert not doc.startswith(f"{name}("), f"{name} has only the docstring of its dataclass"
    assert doc[0].isupper() or doc[0] in "`1", f"{name}: {doc.splitlines()[0]!r}"
    first = doc.split("\n\n")[0]
    assert first.rstrip().endswith((".", ":", "?", ".)")), f"{name}: {first!r}"


@pytest.mark.parametrize(
    "name", [n for n in oocdm.__all__ if inspect.isfunction(getattr(oocdm, n))]
)
def test_functions_have_typed_signatures(name: str) -> None:
    signature = inspect.signature(getattr(oocdm, name))
    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in signature.parameters.values():
        assert parameter.annotation is not inspect.Parameter.empty, parameter


# ---------------------------------------------------------------- signatures


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (oocdm.make, ["name", "seed"]),
        (oocdm.collect, ["env", "steps", "seed"]),
        (oocdm.fit, ["data", "method", "seed", "graph"]),
        (oocdm.evaluate, ["result", "data"]),
        (oocdm.discover, ["result", "data", "threshold", "progress"]),
        (oocdm.discover_variables, ["result", "data", "threshold", "progress"]),
        (oocdm.LearnedEnv, ["result", "task", "counts"]),
        (oocdm.LearnedVectorEnv, ["result", "task", "counts", "num_envs"]),
        (oocdm.learn_online, ["world", "task", "steps"]),
        (oocdm.load, ["folder"]),
        (oocdm.resume, ["folder"]),
        (oocdm.load_dataset, ["folder"]),
        (oocdm.Dataset.from_frames, ["frames", "schema"]),
        (oocdm.Task, ["reward", "terminated", "reads"]),
        (oocdm.Real, ["low", "high", "shape"]),
        (oocdm.Integer, ["low", "high", "shape"]),
        (oocdm.Categorical, ["values"]),
        (oocdm.ClassGraph.ground, ["self", "counts"]),
        (oocdm.ClassGraph.compare, ["self", "true", "counts"]),
    ],
    ids=lambda x: getattr(x, "__qualname__", ""),
)
def test_leading_parameters(call: Any, expected: list[str]) -> None:
    assert list(inspect.signature(call).parameters)[: len(expected)] == expected


@pytest.mark.parametrize("kind", [oocdm.Real, oocdm.Integer, oocdm.Categorical, oocdm.Boolean])
def test_every_field_type_has_role_and_likelihood(kind: Any) -> None:
    parameters = inspect.signature(kind).parameters
    for name in ("action", "static", "likelihood"):
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    assert kind(action=True).role == "action"
    assert kind(static=True).role == "static"
    assert kind().role == "state"


# ---------------------------------------------------------------- every name of it used once


def test_the_whole_surface_in_one_go(tmp_path: Path) -> None:
    class Block(oocdm.ObjectClass):
        s1 = oocdm.Real()
        s2 = oocdm.Real()
        a = oocdm.Real(action=True)

    class Total(oocdm.ObjectClass):
        s1 = oocdm.Real()

    schema = oocdm.Schema(Block, Total)
    keys = {"episode": [0, 0, 1, 1], "step": [0, 1, 0, 1], "object": 0}
    df1 = pd.DataFrame({**keys, "s1": 1.0, "s2": 2.0, "a": [0.5, None, 0.25, None]})
    df2 = pd.DataFrame({**keys, "s1": 3.0})
    data = oocdm.Dataset.from_frames({"Block": df1.convert_dtypes(), "Total": df2}, schema)
    assert len(data) == 2

    env = oocdm.make("block", num_blocks=2, seed=0)
    assert gymnasium.make("oocdm/Block-v0").unwrapped is not env
    data = oocdm.collect(env, steps=100, seed=0)
    assert len(data) == 100
    data.save(tmp_path / "data")
    assert len(oocdm.load_dataset(tmp_path / "data")) == 100

    quick = oocdm.Schedule(iterations=1, steps_per_iteration=1, polish_steps=1)
    result = oocdm.fit(data, method="oocdm", seed=0, schedule=quick, max_scored=10)
    assert isinstance(result, oocdm.FitResult)
    assert isinstance(result.graph, oocdm.ClassGraph)
    assert len(result.history) == 2 and result.seconds > 0
    assert "Block.s1 <- " in str(result.graph)

    known = oocdm.ClassGraph.full(data.schema)
    assert oocdm.fit(data, graph=known, schedule=quick).graph == known

    result.save(tmp_path / "run")
    again = oocdm.load(tmp_path / "run")
    report = oocdm.evaluate(again, data)
    assert isinstance(report.aill, float)
    json.dumps(report.to_json(), allow_nan=False)
    found = report.fields["Block.s1"]
    assert {"log_likelihood", "rmse", "accuracy", "coverage"} <= set(vars(found))

    task = oocdm.Task(
        reward=lambda before, after: after["Total.s1"].sum(1),
        terminated=lambda after: after["Total.t"].amax(1) > 9,
        reads=["Total.s1", "Total.t"],
    )
    task.check(data.schema)
    assert isinstance(env.task, oocdm.Task)
    env.task.check(data.schema)
    listed = [info.name for info in oocdm.list_envs()]
    assert listed == ["block", "asymblock", "mouse", "walker", "generated"]


def test_functions_on_results_need_only_model_and_graph() -> None:
    data = oocdm.collect(oocdm.make("block", num_blocks=1), steps=60, seed=0)
    quick = oocdm.Schedule(iterations=1, steps_per_iteration=1, polish_steps=0)
    result = oocdm.fit(data, method="oofull", schedule=quick)

    class Pair:
        model = result.model
        graph = result.graph

    assert oocdm.evaluate(Pair(), data) == oocdm.evaluate(result, data)
