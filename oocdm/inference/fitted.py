"""What these functions are asked about: a fitted result, a dataset, a state; checked."""

from __future__ import annotations

import os
from typing import Any, Protocol

from oocdm.data.dataset import Dataset
from oocdm.data.object_names import check_object_names
from oocdm.data.snapshot import Snapshot
from oocdm.errors import DataError, ModelError, OocdmError
from oocdm.graph import ClassGraph, Graph, VariableGraph
from oocdm.graph.class_graph import GivenGraph
from oocdm.models.copies import Copies
from oocdm.models.world_model import AbstractPredictor, AbstractWorldModel


class Fitted(Protocol):
    """Anything with a model and its graph.

    It predicts with that graph, unless it has a `prediction_graph` beside it.
    """

    @property
    def model(self) -> AbstractWorldModel: ...

    @property
    def graph(self) -> ClassGraph | VariableGraph: ...


def checked_result(where: str, result: Fitted) -> Fitted:
    """A fitted result; anything else raises a `ModelError` that starts with `where`.

    >>> checked_result("evaluate", "runs/x")
    Traceback (most recent call last):
    ...
    oocdm.errors.ModelError: evaluate: `result`: expected a fitted result, got str 'runs/x'. \
Load it: oocdm.load('runs/x').
    """
    if not (hasattr(result, "model") and hasattr(result, "graph")):
        advice = "Give what oocdm.fit or oocdm.load returned: it has a model and its graph."
        _refuse(f"{where}: `result`", "a fitted result", result, "load", advice, ModelError)
    return result


def prediction_graph(result: Fitted, graph: GivenGraph | None = None) -> Graph:
    """The graph to predict with: one that is given, the result's own for that, or all it claims.

    >>> from types import SimpleNamespace
    >>> prediction_graph(SimpleNamespace(graph="claimed"))
    'claimed'
    >>> prediction_graph(SimpleNamespace(graph="claimed", prediction_graph="with more"))
    'with more'
    """
    if graph is not None:
        return graph
    found: Graph = getattr(result, "prediction_graph", result.graph)
    return found


def predictor(
    result: Fitted, graph: GivenGraph | None = None, doubts: bool = False
) -> AbstractPredictor:
    """A result's model under the graph to predict with.

    With `doubts` it is less sure where the copies of the model disagree, if the result has some.
    """
    chosen = prediction_graph(result, graph)
    copies: Copies | None = getattr(result, "copies", None)
    if not doubts or copies is None:
        return result.model.compile_for(chosen)
    return copies.compile_for(result.model, chosen)


def checked_data(where: str, data: Dataset) -> Dataset:
    """A dataset; anything else raises a `DataError` that starts with `where`.

    >>> checked_data("evaluate", 7)
    Traceback (most recent call last):
    ...
    oocdm.errors.DataError: evaluate: `data`: expected an oocdm.Dataset, got int. \
Make one with oocdm.Dataset.from_frames, oocdm.collect or oocdm.load_dataset.
    """
    if not isinstance(data, Dataset):
        advice = "Make one with oocdm.Dataset.from_frames, oocdm.collect or oocdm.load_dataset."
        _refuse(f"{where}: `data`", "an oocdm.Dataset", data, "load_dataset", advice, DataError)
    return data


def check_fit(where: str, result: Fitted, data: Dataset) -> None:
    """Raise a `DataError` unless a dataset has the schema of a model, and the objects it knows.

    >>> import oocdm
    >>> data = oocdm.collect(oocdm.make("block", num_blocks=2), steps=300, seed=0)
    >>> quick = {"iterations": 1, "steps_per_iteration": 2, "polish_steps": 2}
    >>> check_fit("evaluate", oocdm.fit(data, "mlp", schedule=quick), data)
    """
    data.check_schema(result.model.schema, "the model")
    # Only what was fitted to objects one by one remembers who they were.
    names = getattr(result, "objects", None) or {}
    check_object_names(where, data, names, any_number=result.model.counts is None)


def checked_state(where: str, state: Snapshot, error: type[OocdmError]) -> Snapshot:
    """States of some worlds; anything else raises `error` with a message that starts with `where`.

    >>> checked_state("rollout", None, ModelError)
    Traceback (most recent call last):
    ...
    oocdm.errors.ModelError: rollout: `state`: expected an oocdm.Snapshot, got NoneType. \
Make one with oocdm.Snapshot.of(schema, values).
    """
    if not isinstance(state, Snapshot):
        is_data = isinstance(state, Dataset)
        of_data = "Take states from it, such as data.transitions(slice(0, 1)).before."
        advice = of_data if is_data else "Make one with oocdm.Snapshot.of(schema, values)."
        raise error(
            f"{where}: `state`: expected an oocdm.Snapshot, got {type(state).__name__}. {advice}"
        )
    return state


def _refuse(
    where: str, expected: str, got: Any, load: str, advice: str, error: type[OocdmError]
) -> None:
    """Say what came instead; a path is most likely that of something to be loaded."""
    what = type(got).__name__
    if isinstance(got, str | os.PathLike):
        path = os.fspath(got)
        what, advice = f"{what} {path!r}", f"Load it: oocdm.{load}({path!r})."
    raise error(f"{where}: expected {expected}, got {what}. {advice}")
