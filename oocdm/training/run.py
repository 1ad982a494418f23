"""A run as a folder that a person can open: settings, graph, weights, metrics, checkpoints."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import numpy as np
import torch
from torch import Tensor

from oocdm.errors import FileError, GraphError, ModelError, SchemaError
from oocdm.files import Contents, write_atomically
from oocdm.files.lock import LOCK, locked
from oocdm.files.manifest import MANIFEST
from oocdm.files.os_errors import told_as
from oocdm.files.reading import parse_json
from oocdm.files.temporaries import sweep
from oocdm.files.tensors import checksum_of, damaged, from_bytes, to_bytes
from oocdm.files.writing import check_own_folder
from oocdm.graph import AbstractEdgeSpace, Evidence, Graph, Layout, graph_from_json
from oocdm.inference.seen import Seen
from oocdm.models.copies import Copies, predicted_classes
from oocdm.models.world_model import AbstractWorldModel
from oocdm.reading import AnyNumber, Range, read
from oocdm.schema import Schema
from oocdm.training.given import check_new
from oocdm.training.position import AFTER_LEARNING, Position
from oocdm.training.settings import CONFIG, Settings, check_as_before, read_part
from oocdm.training.trainer import Trainer

CHECKPOINT = "checkpoints/last.safetensors"
SCHEMA, GRAPH, HISTORY = "schema.json", "graph.json", "history.json"
SEEN = "seen.json"
MODEL, LEARNED, COPIES = "model.safetensors", "learned.safetensors", "copies.safetensors"

PREDICTS = "predicts"  # of a row: whether the edge is in the graph that the model predicts with

_NotNegative = Annotated[int, Range(at_least=0)]
_Seconds = Annotated[float, Range(at_least=0)]


class _Round(TypedDict):
    phase: Literal["discover", "learn", "confirm", "focus", "polish", "copy"]
    step: _NotNegative
    loss: AnyNumber | None
    edges: _NotNegative
    ran_out: bool
    seconds: _Seconds


class History(TypedDict):
    """How long a run took in seconds, whether its decisions settled, and its rounds."""

    seconds: _Seconds
    settled: bool
    rounds: list[_Round]


class _Position(TypedDict):
    structure: list[str]
    evidence: list[Any] | None
    found: list[list[bool]]
    phase: Literal["discover", "learn", "confirm", "focus", "polish", "copy", "done"]
    rounds: _NotNegative
    unchanged: _NotNegative
    seconds: _Seconds
    began: dict[str, _Seconds]
    history: list[_Round]
    rng: dict[str, Any]


class _GraphFile(TypedDict):
    edges: list[str]
    inputs: NotRequired[list[str]]  # of a graph of variables
    outputs: NotRequired[list[str]]
    table: NotRequired[Any]


# ---------------------------------------------------------------- the folder


def is_finished(contents: Contents) -> bool:
    """Whether a run was trained to its end: the last that is written is its manifest."""
    return contents.has(HISTORY) and (contents.has(MANIFEST) or not contents.has(CHECKPOINT))


def has_leftovers(contents: Contents) -> bool:
    """Whether a finished run was ended while it tidied up."""
    return contents.has(str(Path(CHECKPOINT).parent)) or contents.has(LOCK)


@contextmanager
def new_run(who: str, folder: str | Path) -> Iterator[Path]:
    """A new folder that nobody else writes to; if nothing was written in the end, there is none."""
    path = Path(folder)
    check_new(who, path)
    is_there = path.exists()
    with told_as(FileError, path, "written"):
        path.mkdir(parents=True, exist_ok=True)
    try:
        with locked(who, path):
            check_new(who, path)  # again, now that nobody else can change it
            sweep(path)
            yield path
    finally:
        if not is_there:
            with suppress(OSError):  # it is not empty
                path.rmdir()


@contextmanager
def can_go_on(folder: Path) -> Iterator[None]:
    """Say of files that cannot be written how to go on once they can."""
    try:
        yield
    except FileError as error:
        raise FileError(
            f"{error} Then go on with the run: oocdm.resume or `oocdm resume {folder}`."
        ) from None


def read_schema(contents: Contents) -> Schema:
    """The schema of a run."""
    try:
        return Schema.from_json(read_part(contents, SCHEMA))
    except SchemaError as error:
        raise ModelError(f"{contents.folder / SCHEMA}: {error}") from None


# ---------------------------------------------------------------- weights


def write_weights(path: Path, model: torch.nn.Module) -> None:
    """Write the weights of a model."""
    write_atomically(path, to_bytes(dict(model.state_dict()), {"format": "oocdm-1"}))


def write_copies(path: Path, copies: Copies) -> None:
    """Write the copies of a model, and what is usual of them."""
    tensors = {f"usual/{c}": each for c, each in copies.usual.items()}
    tensors |= {f"times/{c}": each for c, each in copies.times.items()}
    for number, copy in enumerate(copies.models):
        tensors |= {f"copy{number}/{n}": t for n, t in copy.state_dict().items()}
    write_atomically(path, to_bytes(tensors, {"format": "oocdm-1"}))


def read_copies(contents: Contents, model: AbstractWorldModel) -> Copies | None:
    """The copies of a run's model; None if it has none."""
    if not contents.has(COPIES):
        return None
    path = contents.folder / COPIES
    tensors, _ = from_bytes(contents.read(COPIES), path, ModelError)
    usual, times = (_named(tensors, f"{kind}/") for kind in ("usual", "times"))
    groups = {name.split("/")[0] for name in tensors}
    names = [f"copy{i}" for i in range(len(groups) - 2)]
    shapes = {c: tuple(model.heads[c].usual_change().shape) for c in predicted_classes(model)}
    found = [{c: tuple(t.shape) for c, t in each.items()} for each in (usual, times)]
    if groups != {"usual", "times", *names} or found != [shapes, shapes]:
        raise damaged(path, "it holds other things than copies of the run's model", ModelError)
    for each in (usual, times):
        check_finite(each, path)
    models = [_copy_of(model, _named(tensors, f"{name}/"), path) for name in names]
    return Copies(tuple(models), {c: usual[c] for c in shapes}, {c: times[c] for c in shapes})


def read_weights(contents: Contents, name: str, model: torch.nn.Module) -> None:
    """Give a model the weights of a run."""
    path = contents.folder / name
    if not contents.has(name):
        raise ModelError(
            f"`{path}` is missing from the run. Take it from a copy of the run, or train again."
        )
    tensors, _ = from_bytes(contents.read(name), path, ModelError)
    load_weights(model, tensors, path)


def load_weights(model: torch.nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    """Give a model its weights; a mismatch, or one that is not finite, is a clear error."""
    kinds = {name: tensor.dtype for name, tensor in model.state_dict().items()}
    for name, tensor in tensors.items():
        if kinds.get(name, tensor.dtype) != tensor.dtype:
            raise ModelError(
                f"{path}: `{name}`: expected weights of type {kinds[name]}, got {tensor.dtype}."
            )
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        few = " ".join(line.strip() for line in str(error).splitlines()[:2])
        raise ModelError(f"{path}: the weights do not fit the run's schema. {few}") from None
    check_finite(dict(model.named_parameters()), path)
    for name, tensor in model.named_buffers():  # which may well have no end
        if tensor.isnan().any():
            raise ModelError(f"{path}: `{name}` is not a number. Train again.")


def check_finite(tensors: dict[str, Tensor], path: Path) -> None:
    """Raise a `ModelError` for the first tensor that holds NaN or infinity."""
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise ModelError(
                f"{path}: `{name}`: expected finite numbers, got NaN or infinity. The file was "
                "damaged or changed; take an earlier copy or train again."
            )


# ---------------------------------------------------------------- checkpoints


def write_checkpoint(folder: Path, trainer: Trainer, settings: Settings) -> None:
    """Write all that is needed to go on: weights, optimiser, position, random state.

    All of it is one file with a checksum of itself, so nothing in it can disagree.
    """
    tensors = {f"model/{n}": t for n, t in trainer.model.state_dict().items()}
    if trainer.position.phase in AFTER_LEARNING:  # there are two networks
        tensors |= {f"learned/{n}": t for n, t in trainer.learned.state_dict().items()}
    for number, copy in enumerate(trainer.copies):
        tensors |= {f"copy{number}/{n}": t for n, t in copy.state_dict().items()}
    for number, state in trainer.optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser/{number}/{n}": torch.as_tensor(t) for n, t in state.items()}
    metadata = {
        "position": json.dumps(_position_to_json(trainer.position)),
        **{name: json.dumps(each) for name, each in _binding(trainer, settings).items()},
    }
    sealed = {**metadata, "checksum": checksum_of(tensors, metadata)}
    path = folder / CHECKPOINT
    check_own_folder(path.parent)
    write_atomically(path, to_bytes(tensors, sealed))
    write_metrics(folder, trainer.position.history)


def _binding(trainer: Trainer, settings: Settings) -> dict[str, Any]:
    """What must stay as it is for a run to go on, by its file; schemas also say likelihoods."""
    return {CONFIG: settings.binding, SCHEMA: trainer.training_data.schema.to_json()}


def write_metrics(folder: Path, history: list[dict[str, Any]]) -> None:
    """Write the rounds so far, one a line."""
    rows = "".join(json.dumps(entry) + "\n" for entry in history)
    write_atomically(folder / "metrics.jsonl", rows.encode())


def read_checkpoint(contents: Contents, trainer: Trainer, settings: Settings) -> None:
    """Put a trainer where a checkpoint was, which must be of the same settings."""
    path = contents.folder / CHECKPOINT
    check_own_folder(path.parent)
    tensors, metadata = from_bytes(contents.read(CHECKPOINT), path, ModelError)
    said = metadata.pop("checksum", None)
    if said is None or not {"position", CONFIG, SCHEMA} <= set(metadata):
        raise ModelError(f"{path}: not a checkpoint of this version.")
    if said != checksum_of(tensors, metadata):
        raise damaged(path, "its checksum is not that of what it holds", ModelError)
    for name, now in _binding(trainer, settings).items():
        before = parse_json(metadata[name].encode(), path, ModelError)
        check_as_before(before, json.loads(json.dumps(now)), contents.folder / name)
    data = parse_json(metadata["position"].encode(), path, ModelError)
    position = _position_from_json(data, trainer.model.layout, path)
    load_weights(trainer.model, _named(tensors, "model/"), path)
    if position.phase in AFTER_LEARNING:
        trainer.learned = trainer.model.copy()
        load_weights(trainer.learned, _named(tensors, "learned/"), path)
    trainer.position = position
    trainer.follow_estimate()
    trainer.copies = []
    while own := _named(tensors, f"copy{len(trainer.copies)}/"):
        trainer.copies.append(_copy_of(trainer.model, own, path))
    check_finite(tensors, path)
    try:
        trainer.rng.bit_generator.state = position.rng
        _load_optimiser(trainer.optimiser, _named(tensors, "optimiser/"))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{path}: not a checkpoint of this version ({error}).") from None


def _copy_of(
    model: AbstractWorldModel, tensors: dict[str, Tensor], path: Path
) -> AbstractWorldModel:
    copy = model.copy()
    load_weights(copy, tensors, path)
    return copy


def _position_to_json(position: Position) -> dict[str, Any]:
    changed = {
        "structure": position.structure.names,
        "evidence": None if position.evidence is None else position.evidence.rows(),
        "found": [edges.tolist() for edges in position.found],
    }
    plain = {f.name: getattr(position, f.name) for f in fields(position) if f.name not in changed}
    return {**plain, **changed}


def _position_from_json(data: Any, layout: Layout, path: Path) -> Position:
    found: _Position = read(_Position, data, str(path), ModelError, complete=True)
    rows = found["evidence"]
    _check_rounds(found["history"], layout.edges, path)
    try:
        changed: dict[str, Any] = {
            "structure": layout.parse(found["structure"]),
            "evidence": None if rows is None else Evidence.from_rows(layout.edges, rows),
            "found": [np.array(edges, dtype=bool) for edges in found["found"]],
        }
    except GraphError as error:
        raise ModelError(f"{path}: {error}") from None
    return Position(**{**found, **changed})


def _load_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for path, tensor in tensors.items():
        number, name = path.split("/")
        state.setdefault(int(number), {})[name] = tensor
    optimiser.load_state_dict({**optimiser.state_dict(), "state": state})


def _named(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


def remove_checkpoints(folder: Path) -> None:
    """Delete the checkpoints of a finished run."""
    place = (folder / CHECKPOINT).parent
    check_own_folder(place)  # what is none, such as a FIFO, may be waited for without end
    shutil.rmtree(place, ignore_errors=True)


# ---------------------------------------------------------------- graph and history


def graph_to_json(graph: Graph, evidence: Evidence, prediction_graph: Graph | None = None) -> Any:
    """The graph, and a row of evidence for every possible edge.

    With the graph that a model predicts with, every row says whether the edge is in it.
    """
    rows = evidence.rows()
    if prediction_graph is not None:
        for row, predicts in zip(rows, evidence.edges.mask(prediction_graph), strict=True):
            row[PREDICTS] = bool(predicts)
    return {**graph.to_json(), "table": rows}


def read_graph(
    contents: Contents, edges: AbstractEdgeSpace, least: float = 0.0
) -> tuple[Graph, Evidence, Graph]:
    """The graph of a run, the evidence for all possible edges, and the graph that it predicts with.

    They must agree: of the edges that are not in the graph only undecided ones may predict. Limits
    are at least 0, or the method's threshold if that is less.
    """
    data, path = read_part(contents, GRAPH), contents.folder / GRAPH
    try:
        graph = graph_from_json(edges.schema, data)
        read(_GraphFile, data, str(path), GraphError)
        rows, predicts = _split_rows(data.get("table"))
        evidence = Evidence.from_rows(edges, rows)
        differ = np.flatnonzero(edges.mask(graph) != evidence.is_in)
    except GraphError as error:
        raise GraphError(f"{path}: {error}") from None
    except SchemaError as error:
        raise GraphError(f"{path}: {error}") from None
    if len(differ):
        raise GraphError(
            f"{path}: expected the edges that the table decides for, but `edges` and `table` "
            f"disagree about {len(differ)}, such as `{edges.names[differ[0]]}`. "
            "Change both alike, or take the file from a copy."
        )
    low = np.flatnonzero(evidence.limit < least)  # not where it is NaN
    if len(low):
        raise GraphError(
            f"{path}: `limit`: expected a number of at least {least:g}, got "
            f"{evidence.limit[low[0]]:g} of `{edges.names[low[0]]}`. Take the file from a copy."
        )
    may_predict = evidence.is_in | (evidence.decision == "undecided")
    wrong = np.flatnonzero((evidence.is_in & ~predicts) | (predicts & ~may_predict))
    if len(wrong):
        raise GraphError(
            f"{path}: expected `{PREDICTS}` to be true of all edges in the graph, and else of "
            f"undecided ones alone, but it is {str(predicts[wrong[0]]).lower()} of "
            f"`{edges.names[wrong[0]]}`."
        )
    return graph, evidence, edges.graph(predicts)


def _split_rows(table: Any) -> tuple[Any, np.ndarray]:
    """The rows of a table without what they say of prediction, and that."""
    rows = table if isinstance(table, list) else []
    said = [row.get(PREDICTS) for row in rows if isinstance(row, dict)]
    if not isinstance(table, list) or len(said) < len(rows):
        said = []  # it is no table of evidence, which tells more of that
    predicts: list[bool] = read(list[bool], said, f"table: `{PREDICTS}`", GraphError)
    if isinstance(table, list):
        table = [_without_prediction(row) for row in rows]
    return table, np.array(predicts, dtype=bool)


def _without_prediction(row: Any) -> Any:
    return {k: v for k, v in row.items() if k != PREDICTS} if isinstance(row, dict) else row


def read_history(contents: Contents, edges: AbstractEdgeSpace) -> History:
    """What a run did, which found no more edges than there may be."""
    data, where = read_part(contents, HISTORY), contents.folder / HISTORY
    found: History = read(History, data, str(where), ModelError, complete=True)
    _check_rounds(found["rounds"], edges, where)
    return found


def _check_rounds(rounds: list[_Round], edges: AbstractEdgeSpace, path: Path) -> None:
    for number, each in enumerate(rounds):
        if each["edges"] > len(edges):
            raise ModelError(
                f"{path}: round {number}: `edges`: expected at most the {len(edges)} that are "
                f"possible, got {each['edges']}. Take the file from a copy."
            )


def read_seen(contents: Contents, schema: Schema) -> Seen | None:
    """Which values a run has seen; None if nobody knows."""
    return Seen.from_json(schema, read_part(contents, SEEN), str(contents.folder / SEEN))
