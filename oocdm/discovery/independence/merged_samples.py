"""What a test of one class-level edge looks at: the samples of all objects of a class, merged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oocdm.data import Dataset
from oocdm.errors import DataError
from oocdm.graph import Edge
from oocdm.schema import Field


@dataclass(frozen=True)
class Question:
    """Does y depend on x, `given` all else? Arrays are (sample, feature).

    `edge` says which edge is asked about, for those who answer without looking at samples.
    `cluster`, (sample,), numbers the episodes: samples of one are alike.

    >>> x = np.zeros((100, 1))
    >>> Question(x, x, given=np.zeros((100, 3))).edge is None
    True
    """

    x: np.ndarray
    y: np.ndarray
    given: np.ndarray
    edge: Edge | None = None
    cluster: np.ndarray | None = None


class MergedSamples:
    """Transitions as the objects of one class see them, one sample an object and transition.

    A sample starts with the object's own fields, then come those of all other objects, class by
    class. Merging needs a place for each of them that means the same for every object and every
    transition. Numbers of objects mean nothing, so others of a class are sorted by their values,
    all fields of an object together. That is sound whatever the order is made of: by the
    symmetries of the paper the law of an object's next state is the same for all objects of its
    class and does not change when others of one class swap places, so it is a function of the
    *sets* of others, and a sorted list says as much as the set. If U of the others does not
    matter, the set of their other fields is all that does, and it is in `given` as a whole,
    though the values of U had a say in its order. So x and y are independent given the rest in
    the merged samples exactly if they are for each object.

    At most `max_samples` are drawn at random, from all episodes alike.

    >>> import oocdm
    >>> data = oocdm.collect(oocdm.make("block", num_blocks=3), steps=100, seed=0)
    >>> samples = MergedSamples(data, "Block", 250, np.random.default_rng(0))
    >>> question = samples.question(Edge("Block", "s1", "Block", "s2", is_local=False))
    >>> question.x.shape, question.y.shape, question.given.shape
    ((250, 2), (250, 1), (250, 14))
    """

    def __init__(
        self, data: Dataset, class_name: str, max_samples: int, rng: np.random.Generator
    ) -> None:
        self.data = data
        self.class_name = class_name
        self._slots = fixed_slots(data)
        is_known = np.ones(len(data), dtype=bool)
        for c, slots in self._slots.items():
            for observed in data.observed[c].values():
                is_known &= observed[data.starts][:, slots].all(axis=1)
        steps, objects = np.meshgrid(
            data.starts[is_known], np.arange(len(self._slots[class_name])), indexing="ij"
        )
        if steps.size == 0:
            raise DataError(
                f"Tests of edges into `{class_name}`: expected objects of that class in "
                "transitions whose values before the step are all known, got none."
            )
        chosen = rng.permutation(steps.size)[:max_samples]
        self._steps, self._objects = steps.ravel()[chosen], objects.ravel()[chosen]
        self._cluster = data.clusters[np.searchsorted(data.starts, self._steps)]

    def question(self, edge: Edge) -> Question:
        """What to ask about an edge into the class."""
        source = (edge.source_class, edge.source_field, edge.is_local)
        field = self.data.schema.field(self.class_name, edge.target_field)
        after = (self._steps + 1, self._slots[self.class_name][self._objects])
        known = self.data.observed[self.class_name][edge.target_field][after]
        y = numbers(field, self.data.values[self.class_name][edge.target_field][after])
        given = [columns for key, columns in self._before.items() if key != source]
        nothing = np.empty((len(y), 0))  # a single field of a single object has nothing beside it
        given_all = np.concatenate([nothing, *given], axis=1)
        x, cluster = self._before[source], self._cluster
        return Question(x[known], y[known], given_all[known], edge, cluster[known])

    @cached_property
    def _before(self) -> dict[tuple[str, str, bool], np.ndarray]:
        """All columns before the step, by class, field and whether they are the object's own."""
        columns = {}
        for f, values in self._fields(self.class_name, self._objects[:, None]).items():
            columns[self.class_name, f, True] = values[:, 0]
        for c, slots in self._slots.items():
            is_own = c == self.class_name
            others = np.tile(np.arange(len(slots) - is_own), (len(self._steps), 1))
            if others.shape[1] == 0:
                continue
            if is_own:
                others += others >= self._objects[:, None]  # steps over the object itself
            fields = self._fields(c, others)
            keys = np.concatenate(list(fields.values()), axis=2)
            # By the first feature, then the second and so on; lexsort wants the first one last.
            order = np.lexsort(np.moveaxis(keys, 2, 0)[::-1], axis=1)[:, :, None]
            for f, values in fields.items():
                ordered = np.take_along_axis(values, order, axis=1)
                columns[c, f, False] = ordered.reshape(len(ordered), -1)
        return columns

    def _fields(self, class_name: str, objects: np.ndarray) -> dict[str, np.ndarray]:
        """The fields of some objects of each sample before the step, (sample, object, feature)."""
        at = (self._steps[:, None], self._slots[class_name][objects])
        return {
            f: numbers(field, self.data.values[class_name][f][at])
            for f, field in self.data.schema.fields(class_name).items()
        }


def fixed_slots(data: Dataset) -> dict[str, np.ndarray]:
    """Where the objects of each class stand; they must be the same ones in all transitions."""
    rows = np.union1d(data.starts, data.starts + 1)
    slots = {}
    for c, cells in data.cells.items():
        places = cells.places.take(rows)[0]
        low, high = places.counts.min(), places.counts.max()
        taken = places.place[:low]
        if low < high or (places.place.reshape(len(rows), low) != taken).any():
            got = f"{low} to {high}" if low < high else f"{low}, not always the same ones"
            raise DataError(
                f"Independence tests: expected the same objects of class `{c}` in all transitions, "
                f"got {got}. Discover the graph with a model, which takes any numbers, by "
                "`oocdm.fit`, or choose episodes of equal numbers by `Dataset.select_episodes`."
            )
        slots[c] = taken
    return slots


def numbers(field: Field, values: np.ndarray) -> np.ndarray:
    """Values (..., *shape) as numbers (..., feature); unordered ones as one-hot codes."""
    if not field.is_numeric:
        return np.eye(field.num_codes)[values]
    leading = values.shape[: values.ndim - len(field.shape)]
    return values.reshape(*leading, field.size).astype(float)
