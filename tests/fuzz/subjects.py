"""What is damaged: runs, checkpoints and datasets on disk, and options of methods."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import oocdm
from oocdm.data.log import Log
from oocdm.files.manifest import MANIFEST
from oocdm.methods import make_method, method_names
from tests.fuzz.mutations import BY_SUFFIX, damage_bytes, damage_value
from tests.inference.ragged import ragged

DATA = ragged(lengths=(4, 1, 3, 6))
QUICK = {"iterations": 1, "steps_per_iteration": 2, "polish_steps": 1, "batch_size": 16}


@dataclass(frozen=True)
class Subject:
    """Something that can be damaged and then used; using it tells what came of it.

    `use` gets the place of the damaged thing and gives a fingerprint of what was read from it.
    What is `vouched` for must be as it was, or be refused or warned of.
    """

    name: str
    damage: Callable[[Path, random.Random], str]
    use: Callable[[Path], str]
    original: Path | None  # the thing without damage, if there is one
    vouched: bool = True


def subjects(folder: Path) -> list[Subject]:
    """All subjects; what they need is written to a folder once."""
    folder.mkdir(parents=True, exist_ok=True)
    run, begun, data, bare = (folder / name for name in ("run", "begun", "data", "bare"))
    if not data.exists():
        _write_all(run, begun, data, bare)
    graph = folder / "rows.yaml"
    graph.write_text(
        "required:\n- Ant.x <- self.x, self.push\nforbidden:\n- Nest.food <- Rock[*].*\n"
    )
    return [
        Subject("run", _damage_copy(run), _load_run, run),
        Subject("checkpoint", _damage_copy(begun, "checkpoints"), _go_on, begun),
        Subject("settings of a run", _damage_copy(begun, "."), _go_on, begun, vouched=False),
        Subject("dataset", _damage_copy(data), _load_data, data),
        Subject("dataset of another tool", _damage_copy(bare), _load_data, bare, vouched=False),
        Subject("priors", _damage_text(graph), _read_priors, graph, vouched=False),
        Subject("options", _damage_options, _make_method, None, vouched=False),
    ]


def _write_all(run: Path, begun: Path, data: Path, bare: Path) -> None:
    DATA.save(data)
    shutil.copytree(data, bare)
    (bare / MANIFEST).unlink()

    def stop(state: Any) -> None:
        if state.phase == "polish":
            raise KeyboardInterrupt

    oocdm.fit(DATA, seed=3, folder=run, schedule=QUICK, num_graphs=4)
    with suppress(KeyboardInterrupt):
        oocdm.fit(DATA, seed=3, folder=begun, schedule=QUICK, num_graphs=4, callback=stop)


def _damage_copy(original: Path, within: str = "") -> Callable[[Path, random.Random], str]:
    """Copies a folder and damages one of its files."""

    def damage(path: Path, rng: random.Random) -> str:
        shutil.copytree(original, path)
        files = sorted((path / within).rglob("*") if not within else (path / within).iterdir())
        chosen = rng.choice([p for p in files if p.suffix in BY_SUFFIX])
        kind = rng.random()
        if kind < 0.03:
            chosen.unlink()
        elif kind < 0.06:
            chosen.unlink()
            rng.choice((chosen.mkdir, lambda: os.mkfifo(chosen), lambda: os.symlink("x", chosen)))()
        else:
            chosen.write_bytes(BY_SUFFIX[chosen.suffix](chosen.read_bytes(), rng))
        return str(chosen.relative_to(path))

    return damage


def _damage_text(original: Path) -> Callable[[Path, random.Random], str]:
    def damage(path: Path, rng: random.Random) -> str:
        path.write_bytes(damage_bytes(original.read_bytes(), rng))
        return original.name

    return damage


def _damage_options(path: Path, rng: random.Random) -> str:
    name = rng.choice(method_names())
    options = make_method(name, rng.choice(("default", "paper"))).to_json()
    path.write_text(json.dumps(damage_value(options, rng)))
    return name


def _make_method(path: Path) -> str:
    options = json.loads(path.read_text())
    if not isinstance(options, dict):
        return ""  # Python itself refuses what is no keyword
    name = options.pop("name", "oocdm")
    return json.dumps(make_method(name, **{str(k): v for k, v in options.items()}).to_json())


def _load_run(path: Path) -> str:
    return print_of_run(oocdm.load(path))


def _load_data(path: Path) -> str:
    return print_of_data(oocdm.load_dataset(path))


def _read_priors(path: Path) -> str:
    return str(oocdm.Priors.read(DATA.schema, path).rows)


def _go_on(path: Path) -> str:
    return print_of_run(oocdm.resume(path, DATA))


def print_of_run(result: oocdm.FitResult) -> str:
    """A fingerprint of all that a run says, but for the seconds that it took."""
    digest = hashlib.sha256()
    for model in (result.model, result.learned):
        for name, tensor in model.state_dict().items():
            digest.update(name.encode() + tensor.numpy().tobytes())
    evidence = json.dumps(result.evidence.rows())
    digest.update(f"{result.graph}{evidence}{result.method}{result.seed}".encode())
    seen = None if result.seen is None else json.dumps(result.seen.to_json())
    digest.update(f"{result.prediction_graph}{result.settled}{seen}".encode())
    rounds = [{k: v for k, v in row.items() if k != "seconds"} for row in result.history]
    priors = None if result.priors is None else result.priors.rows
    digest.update(f"{rounds}{result.objects}{priors}{result.schema.to_json()}".encode())
    return digest.hexdigest()


def print_of_data(data: oocdm.Dataset) -> str:
    """A fingerprint of all that a dataset holds."""
    digest = hashlib.sha256()

    def add(value: Any) -> None:
        if isinstance(value, Mapping):
            for key, each in value.items():
                digest.update(str(key).encode())
                add(each)
        elif hasattr(value, "to_json"):
            digest.update(json.dumps(value.to_json()).encode())
        elif value.dtype.kind == "O":
            digest.update(repr(value.tolist()).encode())
        else:
            digest.update(value.tobytes())

    for column in fields(Log):
        add(getattr(data, column.name))
    return digest.hexdigest()
