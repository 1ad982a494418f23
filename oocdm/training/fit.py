"""`fit` and what it returns."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any

from oocdm.data.dataset import Dataset, load_dataset
from oocdm.data.object_names import check_object_names, object_names
from oocdm.errors import DataError, GraphError, ModelError, read_count, suggest
from oocdm.files import write_json
from oocdm.graph import (
    ClassGraph,
    Evidence,
    Graph,
    Priors,
    VariableGraph,
    graph_from_json,
    graph_from_rows,
)
from oocdm.graph.priors import PriorKnowledge
from oocdm.inference.fitted import checked_data
from oocdm.methods import (
    METHODS,
    AbstractMethod,
    make_method,
    method_from_json,
    method_names,
)
from oocdm.models.memory import DEFAULT_MEMORY, read_memory
from oocdm.models.scales import Scales
from oocdm.models.world_model import AbstractWorldModel
from oocdm.schema import Schema
from oocdm.training.given import check_new, checksum
from oocdm.training.plan import MemoryEstimate
from oocdm.training.run import (
    CHECKPOINT,
    graph_to_json,
    load_weights,
    read_checkpoint,
    read_graph,
    read_json,
    read_tensors,
    remove_checkpoints,
    write_checkpoint,
    write_tensors,
)
from oocdm.training.trainer import Callback, Trainer

logger = logging.getLogger(__name__)

FORMAT = 2  # of the files of a run
MODEL, LEARNED = "model.safetensors", "learned.safetensors"
HISTORY = "history.json"  # written last: who finds it has a whole run


@dataclass(frozen=True, repr=False)
class FitResult:
    """A fitted world model with its graph, and what the data say about each possible edge.

    `learned` is the network when the graph was decided, before polishing: it predicts under many
    graphs, `model` best under its own. `objects` are the names of the objects by class and place,
    if the method knows objects one by one; `priors` are what was known of single edges.
    """

    model: AbstractWorldModel
    graph: Graph
    evidence: Evidence
    learned: AbstractWorldModel
    method: AbstractMethod
    seed: int
    history: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    objects: Mapping[str, Sequence[str]] | None = None
    priors: Priors | None = None

    def __repr__(self) -> str:
        edges = f"{len(self.graph.edges())} of {len(self.model.edges)} possible edges"
        when = ", time ran out" if self.ran_out else ""
        return f"FitResult(method {self.method.name}, seed {self.seed}, {edges}{when})"

    @property
    def schema(self) -> Schema:
        """The schema of the model."""
        return self.model.schema

    @property
    def ran_out(self) -> bool:
        """Whether limited time left something undone that was planned."""
        return any(entry.get("ran_out", False) for entry in self.history)

    @property
    def class_graph(self) -> ClassGraph:
        """The graph between classes; of one between variables, the smallest that covers it."""
        return ClassGraph.covering(self.schema, self.graph)

    def save(self, folder: str | Path, **config: Any) -> None:
        """Write the run to a new folder: config, schema, graph and weights."""
        check_new("save", folder)
        self._write(Path(folder), config)

    def _write(self, path: Path, config: dict[str, Any]) -> None:
        priors = None if self.priors is None else self.priors.to_json()
        told = {"priors": priors, "objects": self.objects, **config}
        _write_settings(path, self.method, self.model, self.seed, told)
        for name, model in ((LEARNED, self.learned), (MODEL, self.model)):
            write_tensors(path / name, dict(model.state_dict()), {"format": "oocdm-1"})
        write_json(path / "graph.json", graph_to_json(self.graph, self.evidence))
        write_json(path / HISTORY, {"seconds": self.seconds, "rounds": self.history})


def fit(
    data: Dataset,
    method: str | AbstractMethod = "oocdm",
    seed: int = 0,
    graph: Graph | Sequence[str] | None = None,
    priors: PriorKnowledge = None,
    preset: str = "default",
    device: str = "cpu",
    folder: str | Path | None = None,
    callback: Callback | None = None,
    max_seconds: float | None = None,
    memory: int | str = DEFAULT_MEMORY,
    config: dict[str, Any] | None = None,
    **options: Any,
) -> FitResult:
    """Learn a causal world model from logged transitions.

    With `graph`, a graph or the rows of one, it is known and not discovered. Rows are between
    classes or, for methods that know objects one by one, between variables, such as
    `Block[1].s1 <- Block[0].s1`. `priors` are what is known of single edges: rows such as
    `Block.s1 <- self.a, !Total[*].*` (see `Priors`) or a YAML file of them. With `folder`
    checkpoints are written there after every round, so that `resume` can go on after an
    interruption, and the finished run at the end. `max_seconds` shortens training to that time.
    `memory`, in bytes or as `"4GiB"`, is what training may take beside the data: large batches are
    gone through in parts that fit (see `estimate_memory`).
    Further options are the method's own. A run of a method that is given as an object, and that no
    installed package adds, is read again with its class: `load(folder, method=Mine)`.

    >>> import oocdm
    >>> data = oocdm.collect(oocdm.make("block", num_blocks=2), steps=300, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> result = oocdm.fit(data, seed=0, schedule=quick)
    >>> len(result.history)
    2
    """
    checked_data("fit", data)
    seed = read_count("fit: `seed`", seed, ModelError, least=0)
    _check_seconds(max_seconds)
    allowed = read_memory("fit", memory)
    if folder is not None:
        check_new("fit", folder)
    chosen = _choose_method(method, preset, options)
    known = Priors.of(data.schema, priors)
    if graph is not None and known.rows:
        raise GraphError("fit: expected a known graph or priors, got both.")
    known_graph = _read_graph(data, graph)
    trainer = Trainer(data, chosen, seed, known_graph, device, known, allowed)
    extra = {
        "known_graph": None if known_graph is None else known_graph.to_json(),
        "priors": known.to_json(),
        "objects": object_names(data) if chosen.needs_fixed_objects else None,
        "max_seconds": max_seconds,
        "memory": allowed,
        "data_checksum": checksum(data),
        **(config or {}),
    }
    if folder is not None:
        _write_settings(Path(folder), chosen, trainer.model, seed, extra)
    return _finish(trainer, folder, callback, max_seconds, extra)


def estimate_memory(
    data: Dataset,
    method: str | AbstractMethod = "oocdm",
    preset: str = "default",
    memory: int | str = DEFAULT_MEMORY,
    **options: Any,
) -> MemoryEstimate:
    """What a `fit` with these arguments would take beside the data, from a little of its work.

    Raises a `ModelError` that tells what is needed if it cannot be done within `memory`.

    >>> import oocdm
    >>> data = oocdm.collect(oocdm.make("block", num_blocks=2), steps=300, seed=0)
    >>> estimate = oocdm.estimate_memory(data)
    >>> estimate.total < 100 * 2**20
    True
    """
    checked_data("estimate_memory", data)
    chosen = _choose_method(method, preset, options)
    return Trainer(data, chosen, 0, memory=read_memory("estimate_memory", memory)).plan.estimate


def resume(
    folder: str | Path,
    data: Dataset | None = None,
    callback: Callback | None = None,
    method: type[AbstractMethod] | None = None,
) -> FitResult:
    """Go on with an interrupted run; the result equals that of an uninterrupted one.

    Without `data` the dataset is read from where the run's config says it was. `method` is the
    class of a method of one's own that no installed package adds.
    """
    path = Path(folder)
    config = _read_config(path)
    if (path / HISTORY).is_file():
        return load(path, method)
    chosen = _method_of(path, config, method)
    if data is None:
        if not config.get("data"):
            raise ModelError(f"Run {path} does not say where its data are: pass data=.")
        try:
            data = load_dataset(config["data"])
        except DataError as error:
            raise DataError(
                f"Run {path} was begun with the dataset {config['data']}: {error} If it was "
                "moved, say where it is: resume(..., data=...) or `oocdm resume --data`."
            ) from None
    checked_data("resume", data)
    schema = Schema.from_json(read_json(path / "schema.json"))
    data.check_schema(schema, f"run {path}")
    if config.get("data_checksum", checksum(data)) != checksum(data):
        raise DataError(
            f"resume: expected the data that run {path} was begun with, got others of the same "
            f"schema: {data!r}. Give the same ones, or fit anew."
        )
    check_object_names("resume", data, config.get("objects") or {})
    known = config.get("known_graph")
    trainer = Trainer(
        data,
        chosen,
        int(config["seed"]),
        None if known is None else graph_from_json(schema, known),
        priors=Priors.of(schema, config.get("priors")),
        memory=read_memory(f"Run {path}", config.get("memory", DEFAULT_MEMORY)),
    )
    if (path / CHECKPOINT).is_file():
        read_checkpoint(path, trainer)
    extra = {k: v for k, v in config.items() if k not in ("method", "seed")}
    return _finish(trainer, path, callback, config.get("max_seconds"), extra)


def load(folder: str | Path, method: type[AbstractMethod] | None = None) -> FitResult:
    """Read a run that `FitResult.save` or `fit(folder=...)` wrote.

    `method` is the class of a method of one's own that no installed package adds.
    """
    path = Path(folder)
    config = _read_config(path)
    if not (path / HISTORY).is_file() and (path / CHECKPOINT).is_file():
        raise ModelError(
            f"Run {path} is not finished. Go on with it: oocdm.resume or `oocdm resume {path}`."
        )
    schema = Schema.from_json(read_json(path / "schema.json"))
    chosen = _method_of(path, config, method)
    counts = config.get("counts")
    model, learned = (_read_model(path / name, chosen, schema, counts) for name in (MODEL, LEARNED))
    graph, evidence = read_graph(path, model.edges)
    history = read_json(path / HISTORY)
    return FitResult(
        *(model, graph, evidence, learned, chosen),
        int(config["seed"]),
        history["rounds"],
        history["seconds"],
        config.get("objects"),
        Priors.of(schema, config.get("priors")),
    )


def _choose_method(
    method: str | AbstractMethod, preset: str, options: dict[str, Any]
) -> AbstractMethod:
    if isinstance(method, str):
        return make_method(method, preset, **options)
    if not isinstance(method, AbstractMethod):
        is_class = isinstance(method, type) and issubclass(method, AbstractMethod)
        advice = f" Make one of the class: {method.__name__}()." if is_class else ""
        raise ModelError(
            "fit: `method`: expected a method's name, or a method such as Oocdm(), got "
            f"{method!r}.{advice}"
        )
    if options or preset != "default":
        raise ModelError(
            f"fit: expected a method's name beside preset and options, got {method!r}. "
            "Give them to the method itself."
        )
    if METHODS.get(method.name, type(method)) is not type(method):
        raise ModelError(
            f"fit: `method`: the class {type(method).__name__} has the name `{method.name}` of "
            "another method, as which its runs would be read. Give it a `name` of its own."
        )
    return method


def _method_of(
    path: Path, config: dict[str, Any], own: type[AbstractMethod] | None
) -> AbstractMethod:
    """The method of a run, of the class `own` if it is given."""
    name = str(config["method"].get("name", ""))
    if own is None and name not in method_names():
        raise ModelError(
            f"Run {path}: unknown method `{name}`. {suggest(name, method_names())} If it is one of "
            "your own, install the package that adds it, or give its class: "
            "oocdm.load(..., method=...), oocdm.resume(..., method=...)."
        )
    is_class = isinstance(own, type) and issubclass(own, AbstractMethod)
    if own is not None and not (is_class and own.name == name):
        got = f"that of `{own.name}`" if is_class else repr(own)
        raise ModelError(f"Run {path}: expected the class of the method `{name}`, got {got}.")
    return method_from_json(config["method"], own)


def _read_model(
    path: Path, method: AbstractMethod, schema: Schema, counts: dict[str, int] | None
) -> AbstractWorldModel:
    model = method.build(schema, Scales.unit(schema), counts)
    load_weights(model, read_tensors(path)[0], path)
    return model


def _read_config(path: Path) -> dict[str, Any]:
    config = read_json(path / "config.json")
    if not isinstance(config, dict) or not {"method", "seed"} <= set(config):
        raise ModelError(f"{path / 'config.json'}: expected a run's settings, `method` and `seed`.")
    if config.get("format") != FORMAT:
        raise ModelError(
            f"Run {path}: expected a run of format {FORMAT}, got {config.get('format')!r}: another "
            "version of oocdm wrote it; read it with that version, or fit its data again."
        )
    return config


def _write_settings(
    path: Path,
    method: AbstractMethod,
    model: AbstractWorldModel,
    seed: int,
    config: dict[str, Any],
) -> None:
    settings = {"format": FORMAT, "method": method.to_json(), "seed": seed, **config}
    if model.counts is not None:
        settings["counts"] = dict(model.counts)
    write_json(path / "schema.json", model.schema.to_json())
    write_json(path / "config.json", settings)  # last: there is a run where it is


def _finish(
    trainer: Trainer,
    folder: str | Path | None,
    callback: Callback | None,
    max_seconds: float | None,
    config: dict[str, Any],
) -> FitResult:
    path = None if folder is None else Path(folder)

    def checkpoint() -> None:
        if path is not None:
            write_checkpoint(path, trainer)

    trainer.run(callback, checkpoint, max_seconds)
    position = trainer.position
    result = FitResult(
        trainer.model,
        trainer.graph,
        trainer.evidence,
        trainer.learned,
        trainer.method,
        trainer.seed,
        position.history,
        position.seconds,
        config.get("objects"),
        Priors.of(trainer.model.schema, config.get("priors")),
    )
    if path is not None:
        result._write(path, config)
        remove_checkpoints(path)
    if result.ran_out:
        logger.warning(
            "fit: time ran out after %s. What it found is preliminary: allow more.", _done(result)
        )
    return result


def _done(result: FitResult) -> str:
    """What was done of what was planned.

    Learning may also end before all of its steps because the graph has settled.
    """
    schedule, done = result.method.schedule, {row["phase"]: row["step"] for row in result.history}
    learning = schedule.iterations * schedule.steps_per_iteration
    return (
        f"{done.get('learn', 0):,} of at most {learning:,} steps of learning and "
        f"{done.get('polish', 0):,} of {schedule.polish_steps:,} of polishing"
    )


def _check_seconds(max_seconds: float | None) -> None:
    is_number = isinstance(max_seconds, Real) and not isinstance(max_seconds, bool)
    if max_seconds is not None and not (is_number and max_seconds >= 0):
        raise ModelError(
            f"fit: `max_seconds`: expected a number of seconds or None, got {max_seconds!r}."
        )


def _read_graph(data: Dataset, graph: Graph | Sequence[str] | None) -> Graph | None:
    if graph is None or isinstance(graph, ClassGraph | VariableGraph):
        return graph
    if isinstance(graph, Sequence) and all(isinstance(row, str) for row in graph):
        rows = [graph] if isinstance(graph, str) else graph
        return graph_from_rows(data.schema, rows, data.max_counts)
    raise GraphError(
        "fit: `graph`: expected a graph, or rows such as `Block.s1 <- self.a`, got "
        f"{type(graph).__name__}."
    )
