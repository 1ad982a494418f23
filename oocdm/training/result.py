"""What a fit returns, and writes into the folder of its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oocdm.errors import ModelError
from oocdm.files import write_json, write_manifest
from oocdm.files.writing import whole_folder
from oocdm.graph import ClassGraph, Evidence, Graph, Priors
from oocdm.inference.seen import Seen
from oocdm.methods import AbstractMethod
from oocdm.models.copies import Copies
from oocdm.models.world_model import AbstractWorldModel
from oocdm.reading import checked
from oocdm.schema import Schema
from oocdm.training.given import check_new
from oocdm.training.run import (
    COPIES,
    GRAPH,
    HISTORY,
    LEARNED,
    MODEL,
    SCHEMA,
    SEEN,
    graph_to_json,
    write_copies,
    write_weights,
)
from oocdm.training.settings import CONFIG, Settings, read_notes


@dataclass(frozen=True, repr=False)
class FitResult:
    """A fitted world model with its graph, and what the data say about each possible edge.

    `graph` is what is claimed. The model predicts best under `prediction_graph`, which has the same
    edges and those undecided ones that help it to predict. `learned` is the network when the graph
    was decided, before polishing: it predicts under many graphs. `settled` tells whether the graph
    had stopped changing when learning ended, `seen` which values there were to learn from.
    `copies` are those of the model that tell what it cannot know, if any were learned.
    `objects` are the names of the objects by class and place, if the method knows objects one by
    one; `priors` are what was known of single edges; `said` is the schema with the likelihoods as
    the data have it.

    >>> import oocdm
    >>> data = oocdm.collect(oocdm.make("block", num_blocks=2), steps=300, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> result = oocdm.fit(data, graph=["Block.s1 <- self.s1, self.a"], schedule=quick)
    >>> result
    FitResult(method oocdm, seed 0, 2 of 84 possible edges)
    >>> result.kept_undecided
    ()
    """

    model: AbstractWorldModel
    graph: Graph
    prediction_graph: Graph
    evidence: Evidence
    learned: AbstractWorldModel
    method: AbstractMethod
    seed: int
    history: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    objects: Mapping[str, Sequence[str]] | None = None
    priors: Priors | None = None
    settled: bool = True
    seen: Seen | None = None
    said: Schema | None = None
    copies: Copies | None = None

    def __repr__(self) -> str:
        edges = f"{len(self.graph.edges())} of {len(self.model.edges)} possible edges"
        more = len(self.kept_undecided)
        kept = f", predicts with {more} undecided {'one' if more == 1 else 'ones'} as well"
        open_still = "" if self.settled else ", not settled"
        when = ", time ran out" if self.ran_out else ""
        notes = f"{edges}{kept if more else ''}{open_still}{when}"
        return f"FitResult(method {self.method.name}, seed {self.seed}, {notes})"

    @property
    def kept_undecided(self) -> tuple[str, ...]:
        """The edges that the model predicts with, though they are not claimed."""
        claimed = set(map(str, self.graph.edges()))
        return tuple(
            name for name in map(str, self.prediction_graph.edges()) if name not in claimed
        )

    @property
    def schema(self) -> Schema:
        """The schema of the data, with the likelihoods that their user said."""
        return self.model.schema if self.said is None else self.said

    @property
    def ran_out(self) -> bool:
        """Whether limited time left something undone that was planned."""
        return any(entry.get("ran_out", False) for entry in self.history)

    @property
    def class_graph(self) -> ClassGraph:
        """The graph between classes; of one between variables, the smallest that covers it."""
        return ClassGraph.covering(self.schema, self.graph)

    @checked(ModelError)
    def save(self, folder: str | Path, notes: Mapping[str, Any] | None = None) -> None:
        """Write the run to a new folder, all of it or nothing: config, schema, graph and weights.

        `notes` are anything of yours that JSON can hold; they are kept in `config.json`.
        """
        check_new("save", folder)
        settings = Settings(
            method=self.method.to_json(),
            seed=self.seed,
            priors=None if self.priors is None else self.priors.to_json(),
            objects=_as_lists(self.objects),
            counts=None if self.model.counts is None else dict(self.model.counts),
            notes=read_notes("save", notes),
        )
        with whole_folder(Path(folder)) as draft:
            write_settings(draft, settings, self.schema)
            self.write(draft)
            write_manifest(draft)

    def write(self, path: Path) -> None:
        """Write weights, graph and history into the folder of a run, beside its settings."""
        for name, model in ((LEARNED, self.learned), (MODEL, self.model)):
            write_weights(path / name, model)
        if self.copies is not None:
            write_copies(path / COPIES, self.copies)
        write_json(path / GRAPH, graph_to_json(self.graph, self.evidence, self.prediction_graph))
        write_json(path / SEEN, None if self.seen is None else self.seen.to_json())
        history = {"seconds": self.seconds, "settled": self.settled, "rounds": self.history}
        write_json(path / HISTORY, history)


def write_settings(path: Path, settings: Settings, schema: Schema) -> None:
    """Begin the folder of a run: what it learns about, and how."""
    write_json(path / SCHEMA, schema.to_json())
    write_json(path / CONFIG, settings.to_json())  # last: there is a run where it is


def _as_lists(names: Mapping[str, Sequence[str]] | None) -> dict[str, list[str]] | None:
    return None if names is None else {c: list(each) for c, each in names.items()}
