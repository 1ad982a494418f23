"""A run as a folder that a person can open: settings, graph, weights, metrics, checkpoints."""

from __future__ import annotations

import json
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_safetensors
from torch import Tensor

from oocdm.errors import GraphError, ModelError
from oocdm.files import write_atomically
from oocdm.graph import AbstractEdgeSpace, Evidence, Graph, Layout, graph_from_json
from oocdm.training.trainer import AFTER_LEARNING, Position, Trainer

CHECKPOINT = Path("checkpoints") / "last.safetensors"


def read_json(path: Path) -> Any:
    """Read JSON, with a clear error if it is missing or broken."""
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError):
        got = "a folder without it" if path.parent.is_dir() else "no such folder"
        raise ModelError(
            f"Run folder {path.parent}: expected a file {path.name}, got {got}. Give a folder that "
            "`oocdm train -o FOLDER` or `fit(..., folder=...)` has written."
        ) from None
    except ValueError as error:
        raise ModelError(f"{path}: not readable as JSON ({error}). Is the file cut off?") from None


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a safetensors file, with a clear error if it is cut off."""
    if not path.is_file():
        raise ModelError(f"{path}: no such file. Train first, or check the folder's name.")
    try:
        with safe_open(str(path), framework="pt") as file:
            metadata = dict(file.metadata() or {})
            return {name: file.get_tensor(name) for name in file.keys()}, metadata  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ModelError(
            f"{path}: not readable as weights ({error}). The file is damaged or cut off; "
            "resume from an earlier copy or train again."
        ) from None


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """Write tensors and metadata as one safetensors file, atomically."""
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_atomically(path, to_safetensors(contiguous, metadata))


def load_weights(model: torch.nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    """Give a model its weights; a mismatch is a clear error."""
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        raise ModelError(f"{path}: the weights do not fit the run's schema. {error}") from None


def write_checkpoint(folder: Path, trainer: Trainer) -> None:
    """Write all that is needed to go on: weights, optimiser, position, random state."""
    tensors = {f"model/{n}": t for n, t in trainer.model.state_dict().items()}
    if trainer.position.phase in AFTER_LEARNING:  # there are two networks
        tensors |= {f"learned/{n}": t for n, t in trainer.learned.state_dict().items()}
    for number, state in trainer.optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser/{number}/{n}": torch.as_tensor(t) for n, t in state.items()}
    metadata = {
        "position": json.dumps(_position_to_json(trainer.position)),
        "optimiser": trainer.schedule.optimiser,
    }
    write_tensors(folder / CHECKPOINT, tensors, metadata)
    rows = "".join(json.dumps(entry) + "\n" for entry in trainer.position.history)
    write_atomically(folder / "metrics.jsonl", rows.encode())


def read_checkpoint(folder: Path, trainer: Trainer) -> None:
    """Put a trainer where a checkpoint was."""
    path = folder / CHECKPOINT
    tensors, metadata = read_tensors(path)
    try:
        position = _position_from_json(json.loads(metadata["position"]), trainer.model.layout)
        optimiser = metadata["optimiser"]
    except (KeyError, TypeError, ValueError, GraphError) as error:
        raise ModelError(f"{path}: not a checkpoint of this version ({error}).") from None
    load_weights(trainer.model, _named(tensors, "model/"), path)
    if position.phase in AFTER_LEARNING:
        trainer.learned = trainer.model.copy()
        load_weights(trainer.learned, _named(tensors, "learned/"), path)
    trainer.position = position
    trainer.rng.bit_generator.state = position.rng
    if optimiser != trainer.schedule.optimiser:
        raise ModelError(
            f"{path}: the optimiser's state does not fit the run's settings: expected that of "
            f"`{trainer.schedule.optimiser}`, got that of `{optimiser}`. Were they edited?"
        )
    _load_optimiser(trainer.optimiser, _named(tensors, "optimiser/"))


def _position_to_json(position: Position) -> dict[str, Any]:
    changed = {
        "structure": position.structure.names,
        "evidence": None if position.evidence is None else position.evidence.rows(),
        "found": [edges.tolist() for edges in position.found],
    }
    plain = {f.name: getattr(position, f.name) for f in fields(position) if f.name not in changed}
    return {**plain, **changed}


def _position_from_json(data: dict[str, Any], layout: Layout) -> Position:
    rows = data["evidence"]
    changed = {
        "structure": layout.parse(data["structure"]),
        "evidence": None if rows is None else Evidence.from_rows(layout.edges, rows),
        "found": [np.array(edges, dtype=bool) for edges in data["found"]],
    }
    return Position(**{**data, **changed})


def _load_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for path, tensor in tensors.items():
        number, name = path.split("/")
        state.setdefault(int(number), {})[name] = tensor
    optimiser.load_state_dict({**optimiser.state_dict(), "state": state})


def _named(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


def graph_to_json(graph: Graph, evidence: Evidence) -> Any:
    """The graph, and a row of evidence for every possible edge."""
    return {**graph.to_json(), "table": evidence.rows()}


def read_graph(folder: Path, edges: AbstractEdgeSpace) -> tuple[Graph, Evidence]:
    """The graph of a run, and the evidence for all possible edges."""
    data = read_json(folder / "graph.json")
    try:
        graph = graph_from_json(edges.schema, data)
        return graph, Evidence.from_rows(edges, data["table"])
    except (KeyError, TypeError, AttributeError) as error:
        raise GraphError(f"{folder / 'graph.json'}: unexpected content ({error}).") from None


def remove_checkpoints(folder: Path) -> None:
    """Delete the checkpoints of a finished run."""
    shutil.rmtree(folder / CHECKPOINT.parent, ignore_errors=True)
