"""`fit`, and what goes on with its runs."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from oocdm.data.dataset import Dataset, load_dataset
from oocdm.data.object_names import check_object_names, object_names
from oocdm.errors import (
    DataError,
    FileError,
    GraphError,
    ModelError,
    suggest,
)
from oocdm.files import Contents, write_manifest
from oocdm.files.lock import locked
from oocdm.files.manifest import MANIFEST
from oocdm.files.os_errors import told_as
from oocdm.files.temporaries import sweep
from oocdm.graph import (
    ClassGraph,
    Graph,
    Priors,
    VariableGraph,
    graph_from_json,
    graph_from_rows,
)
from oocdm.graph.priors import PriorKnowledge
from oocdm.inference.fitted import checked_data
from oocdm.inference.seen import Seen
from oocdm.inference.words import counted
from oocdm.methods import (
    METHODS,
    AbstractMethod,
    configured,
    method_from_json,
    method_names,
)
from oocdm.models.memory import DEFAULT_MEMORY, TooMuch, read_memory, within
from oocdm.models.scales import Scales
from oocdm.models.world_model import AbstractWorldModel
from oocdm.reading import NotNegative, Seed, checked
from oocdm.schema import Schema
from oocdm.training.given import check_new, checksum
from oocdm.training.plan import MemoryEstimate
from oocdm.training.position import Callback
from oocdm.training.result import FitResult, write_settings
from oocdm.training.run import (
    CHECKPOINT,
    LEARNED,
    MODEL,
    can_go_on,
    has_leftovers,
    is_finished,
    new_run,
    read_checkpoint,
    read_copies,
    read_graph,
    read_history,
    read_schema,
    read_seen,
    read_weights,
    remove_checkpoints,
    write_checkpoint,
    write_metrics,
)
from oocdm.training.settings import Settings, read_notes
from oocdm.training.settling import what_is_open
from oocdm.training.trainer import Trainer

logger = logging.getLogger(__name__)


@checked(ModelError)
def fit(
    data: Dataset,
    method: str | AbstractMethod = "oocdm",
    seed: Seed = 0,
    graph: Graph | Sequence[str] | None = None,
    priors: PriorKnowledge = None,
    preset: str = "default",
    device: str = "cpu",
    folder: str | Path | None = None,
    callback: Callback | None = None,
    max_seconds: NotNegative | None = None,
    memory: int | str = DEFAULT_MEMORY,
    notes: Mapping[str, Any] | None = None,
    data_folder: str | Path | None = None,
    **options: Any,
) -> FitResult:
    """Learn a causal world model from logged transitions.

    With `graph`, a graph or the rows of one, it is known and not discovered. Rows are between
    classes or, for methods that know objects one by one, between variables, such as
    `Block[1].s1 <- Block[0].s1`. `priors` are what is known of single edges: rows such as
    `Block.s1 <- self.a, !Total[*].*` (see `Priors`) or a YAML file of them. `max_seconds` shortens
    training to that time. `memory`, in bytes or as `"4GiB"`, is what it may take beside the data:
    large batches are gone through in parts that fit (see `estimate_memory`). Further options are
    the method's own. A run of a method that is given as an object, and that no installed package
    adds, is read again with its class: `load(folder, method=Mine)`.

    With `folder` checkpoints are written there after every round, so that `resume` can go on after
    an interruption, and the finished run at the end. Nobody else can write to it meanwhile.
    `data_folder` is where `resume` finds the dataset; `notes` are anything of yours that JSON can
    hold, kept in the run's `config.json`.

    >>> import oocdm
    >>> data = oocdm.collect(oocdm.make("block", num_blocks=2), steps=300, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> result = oocdm.fit(data, seed=0, schedule=quick)
    >>> len(result.history)
    2
    """
    checked_data("fit", data)
    allowed = read_memory("fit", memory)
    if folder is not None:
        check_new("fit", folder)
    chosen = choose_method(method, preset, options)
    known = Priors.of(data.schema, priors)
    if graph is not None and known.rows:
        raise GraphError("fit: expected a known graph or priors, got both.")
    known_graph = read_known_graph(data.schema, data.max_counts, graph)
    own = read_notes("fit", notes)
    with nullcontext(None) if folder is None else new_run("fit", folder) as path:
        trainer = Trainer(data, chosen, seed, known_graph, device, known, allowed)
        counts = trainer.model.counts
        settings = Settings(
            method=chosen.to_json(),
            seed=seed,
            priors=known.to_json(),
            known_graph=None if known_graph is None else known_graph.to_json(),
            objects=object_names(data) if chosen.knows_objects else None,
            counts=None if counts is None else dict(counts),
            max_seconds=max_seconds,
            memory=allowed,
            threads=torch.get_num_threads(),
            data=None if data_folder is None else os.path.abspath(data_folder),
            data_checksum=checksum(data),
            notes=own,
        )
        if path is not None:
            write_settings(path, settings, data.schema)
        return _finish(trainer, path, callback, settings)


@checked(ModelError)
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
    >>> 50 * 2**20 < estimate.total < 250 * 2**20
    True
    """
    checked_data("estimate_memory", data)
    chosen = choose_method(method, preset, options)
    return Trainer(data, chosen, 0, memory=read_memory("estimate_memory", memory)).plan.estimate


@checked(ModelError)
def resume(
    folder: str | Path,
    data: Dataset | None = None,
    callback: Callback | None = None,
    method: type[AbstractMethod] | None = None,
) -> FitResult:
    """Go on with an interrupted run; the result equals that of an uninterrupted one.

    To the bit, on a processor of the same kind: torch uses as many threads as when the run was
    begun. Without `data` the dataset is read from where the run's config says it was. `method` is
    the class of a method of one's own that no installed package adds.
    """
    path = Path(folder)
    contents = Contents.of(path, ModelError)
    settings = Settings.read(contents)
    if is_finished(contents) and not has_leftovers(contents):
        return _load(contents, settings, method)
    with locked("resume", path):
        sweep(path)
        return _go_on(path, data, callback, method)


def _go_on(
    path: Path,
    data: Dataset | None,
    callback: Callback | None,
    method: type[AbstractMethod] | None,
) -> FitResult:
    contents = Contents.of(path, ModelError)
    settings = Settings.read(contents)
    if is_finished(contents):  # and was ended while it tidied up, or somebody else was faster
        remove_checkpoints(path)
        return _load(contents, settings, method)
    with told_as(FileError, path / MANIFEST, "removed"):
        (path / MANIFEST).unlink(missing_ok=True)  # there will be another
    contents = replace(contents, checksums=None)
    chosen = _method_of(path, settings.method, method)
    if data is None:
        data = _data_of(path, settings)
    checked_data("resume", data)
    schema = read_schema(contents)
    data.check_schema(schema, f"run {path}")
    data = data.described_by(schema)
    if settings.data_checksum not in (None, checksum(data)):
        raise DataError(
            f"resume: expected the data that run {path} was begun with, got others of the same "
            f"schema: {data!r}. Give the same ones, or fit anew."
        )
    check_object_names("resume", data, settings.objects or {}, settings.counts is None)
    known = settings.known_graph
    with use_threads(settings.threads):
        trainer = Trainer(
            data,
            chosen,
            settings.seed,
            None if known is None else graph_from_json(schema, known),
            priors=Priors.from_json(schema, settings.priors),
            memory=settings.memory,
        )
        if contents.has(CHECKPOINT):
            read_checkpoint(contents, trainer, settings)
        return _finish(trainer, path, callback, settings)


def _data_of(path: Path, settings: Settings) -> Dataset:
    if settings.data is None:
        raise ModelError(f"Run {path} does not say where its data are: pass data=.")
    try:
        return load_dataset(settings.data)
    except DataError as error:
        raise DataError(
            f"Run {path} was begun with the dataset {settings.data}: {error} If it was "
            "moved, say where it is: resume(..., data=...) or `oocdm resume --data`."
        ) from None


@contextmanager
def use_threads(count: int | None) -> Iterator[None]:
    """Let torch use so many threads meanwhile: sums depend on how they are divided.

    >>> with use_threads(1):
    ...     torch.get_num_threads()
    1
    """
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@checked(ModelError)
def load(folder: str | Path, method: type[AbstractMethod] | None = None) -> FitResult:
    """Read a run that `FitResult.save` or `fit(folder=...)` wrote.

    Every file is checked against the checksums of the run's manifest. `method` is the class of a
    method of one's own that no installed package adds.
    """
    contents = Contents.of(Path(folder), ModelError)
    settings = Settings.read(contents)
    if not is_finished(contents) and (contents.has(CHECKPOINT) or not contents.has(MODEL)):
        raise ModelError(
            f"Run {folder} is not finished. Go on with it: oocdm.resume or `oocdm resume {folder}`."
        )
    return _load(contents, settings, method)


def _load(contents: Contents, settings: Settings, method: type[AbstractMethod] | None) -> FitResult:
    contents.warn_if_unlisted()
    schema = read_schema(contents)
    chosen = _method_of(contents.folder, settings.method, method)
    model, learned = (
        _read_model(contents, name, chosen, settings, schema) for name in (MODEL, LEARNED)
    )
    least = min(getattr(chosen, "threshold", None) or 0.0, 0.0)
    graph, evidence, prediction_graph = read_graph(contents, model.edges, least)
    history = read_history(contents, model.edges)
    return FitResult(
        *(model, graph, prediction_graph, evidence, learned, chosen),
        settings.seed,
        [dict(row) for row in history["rounds"]],
        history["seconds"],
        settings.objects,
        Priors.from_json(schema, settings.priors),
        history["settled"],
        read_seen(contents, schema),
        schema,
        read_copies(contents, model),
    )


def _read_model(
    contents: Contents,
    name: str,
    method: AbstractMethod,
    settings: Settings,
    schema: Schema,
) -> AbstractWorldModel:
    parts = method.predicted(schema), Scales.unit(schema), settings.counts
    try:
        model = within(settings.memory, lambda: method.build(*parts))
    except (RuntimeError, TypeError, MemoryError, TooMuch) as error:  # such as one of any size
        raise ModelError(
            f"Run {contents.folder}: its schema and settings make no network: "
            f"{str(error).splitlines()[0]}. Were they changed?"
        ) from error
    read_weights(contents, name, model)
    return model


def choose_method(
    method: str | AbstractMethod, preset: str, options: dict[str, Any]
) -> AbstractMethod:
    """The method that `fit` learns with.

    >>> choose_method("oofull", "default", {}).name
    'oofull'
    """
    if isinstance(method, str):
        return configured(method, preset, options)
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
    path: Path, options: dict[str, Any], own: type[AbstractMethod] | None
) -> AbstractMethod:
    """The method of a run, of the class `own` if it is given."""
    name = str(options.get("name", ""))
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
    return method_from_json(options, own)


def _finish(
    trainer: Trainer, path: Path | None, callback: Callback | None, settings: Settings
) -> FitResult:
    def checkpoint() -> None:
        if path is not None:
            write_checkpoint(path, trainer, settings)

    with nullcontext() if path is None else can_go_on(path):
        trainer.run(callback, checkpoint, settings.max_seconds)
        position = trainer.position
        result = FitResult(
            trainer.model,
            trainer.graph,
            trainer.prediction_graph,
            trainer.evidence,
            trainer.learned,
            trainer.method,
            trainer.seed,
            position.history,
            position.seconds,
            settings.objects,
            Priors.from_json(trainer.model.schema, settings.priors),
            trainer.has_settled,
            Seen.of(trainer.training_data, trainer.constants),
            trainer.training_data.schema,
            trainer.doubts,
        )
        if path is not None:
            write_metrics(path, result.history)
            result.write(path)
            write_manifest(path)  # now it is finished
            remove_checkpoints(path)
    if result.ran_out:
        logger.warning(
            "fit: time ran out after %s. What it found is preliminary: allow more.", _done(result)
        )
    if constants := trainer.constants:
        logger.warning(
            "fit: nothing can be learned about what has a single value in the whole log: %s. No "
            "edge from or to it can be tested, and AILL leaves it out.",
            ", ".join(constants),
        )
    schedule = trainer.schedule
    # What is over before anything can have settled was meant as a quick look.
    if not result.settled and schedule.planned_iterations > schedule.patience:
        logger.warning(
            "fit: the decisions had not settled when learning ended, after %s: %s. What it found "
            "is preliminary: allow more iterations or time, or give more data.",
            counted(_steps(result, "learn"), "step"),
            what_is_open(position.found, result.evidence, schedule.patience),
        )
    return result


def _done(result: FitResult) -> str:
    """What was done of what was planned.

    Learning may also end before all of its steps because the graph has settled.
    """
    schedule, learned = result.method.schedule, _steps(result, "learn")
    most = "" if result.method.goes_on else f"of at most {schedule.planned_steps:,} "
    return (
        f"{learned:,} {most}steps of learning and "
        f"{_steps(result, 'polish'):,} of {schedule.polish_steps:,} of polishing"
    )


def _steps(result: FitResult, phase: str) -> int:
    """The steps that were done of a phase."""
    return max((row["step"] for row in result.history if row["phase"] == phase), default=0)


def read_known_graph(
    schema: Schema, counts: Mapping[str, int], graph: Graph | Sequence[str] | None
) -> Graph | None:
    """A graph that `fit` is given, or the one that rows stand for in worlds of so many objects.

    >>> import oocdm
    >>> schema = oocdm.make("block").world.schema
    >>> [str(edge) for edge in read_known_graph(schema, {}, "Block.s1 <- self.a").edges()]
    ['Block.s1 <- self.a']
    """
    if graph is None or isinstance(graph, ClassGraph | VariableGraph):
        return graph
    if isinstance(graph, Sequence) and all(isinstance(row, str) for row in graph):
        rows = [graph] if isinstance(graph, str) else graph
        return graph_from_rows(schema, rows, dict(counts))
    raise GraphError(
        "fit: `graph`: expected a graph, or rows such as `Block.s1 <- self.a`, got "
        f"{type(graph).__name__}."
    )
