"""Where episodes of a learned world start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import final

import numpy as np

from oocdm.data.dataset import Dataset
from oocdm.data.snapshot import Snapshot
from oocdm.errors import PlanError
from oocdm.learned.counts import Counts
from oocdm.models.world_model import AbstractWorldModel
from oocdm.schema import Schema
from oocdm.worlds.convert import to_world_state
from oocdm.worlds.world import WorldState

StartFunction = Callable[[np.random.Generator], Snapshot]
Start = Dataset | Snapshot | StartFunction
Objects = Mapping[str, Mapping[str, np.ndarray]]  # (object, *shape) a class and field, one world


@final
class Starts:
    """Draws the first state of an episode.

    `start` is a dataset, whose episodes' first states are drawn from; or a snapshot, any of whose
    states may be drawn; or a function of a random generator that returns a snapshot of one world.
    If no given state has the wanted numbers of objects, one is put together: each object is drawn
    from all the objects of its class. Only what is completely known is drawn. Without `start`
    every field is drawn on its own: choices evenly, numbers from a normal with the mean and the
    spread of the training data.

    >>> import oocdm
    >>> env = oocdm.make("mouse")
    >>> data = oocdm.collect(env, steps=300, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> model = oocdm.fit(data, graph=env.true_graph, schedule=quick).model
    >>> counts = Counts.of(data.schema, {"Mouse": 1, "Food": 9, "Monster": 0, "Trap": 2})
    >>> state = Starts(model, counts, data).draw(np.random.default_rng(0))
    >>> state.values["Mouse"]["health"], int(state.present["Food"].sum())
    (array([[10.]], dtype=float32), 9)
    """

    def __init__(self, model: AbstractWorldModel, counts: Counts, start: Start | None) -> None:
        self.schema = model.schema
        self.counts = counts
        self._model = model
        self._function: StartFunction | None = None
        self._given: _GivenStates | None = None
        if isinstance(start, Dataset):
            start.check_schema(self.schema, "the model")
            firsts = np.unique(start.episode_of, return_index=True)[1]
            start = start.transitions(firsts).before
        if isinstance(start, Snapshot):
            self._given = _GivenStates(start, self.schema)
            self._given.check_classes(counts)
        elif callable(start):
            self._function = start
        elif start is not None:
            raise PlanError(
                "start: expected a Dataset, a Snapshot, or a function of a random generator that "
                f"returns a Snapshot, got {type(start).__name__}."
            )
        elif not model.knows_scales:
            raise PlanError(
                "start: expected a Dataset, a Snapshot or a function, got none, and this model "
                'does not know where its data lay, as with preset="paper". Give start=data.'
            )

    def draw(self, rng: np.random.Generator) -> WorldState:
        """A state of one world, (1, max_objects, ...) a field."""
        if self._function is not None:
            return self._padded(*self._called(self._function(rng)))
        numbers = self.counts.draw(rng)
        if self._given is not None:
            return self._padded(numbers, self._given.draw(numbers, rng))
        scattered = {c: self._scattered(c, n, rng) for c, n in numbers.items()}
        return self._padded(numbers, scattered)

    def _called(self, state: Snapshot) -> tuple[Mapping[str, int], Objects]:
        """The numbers of objects in a state that a function returned, and the objects."""
        if not isinstance(state, Snapshot) or state.batch_size != 1:
            is_state = isinstance(state, Snapshot)
            got = f"{state.batch_size} worlds" if is_state else type(state).__name__
            raise PlanError(
                f"start: expected the function to return a Snapshot of one world, got {got}."
            )
        given = _GivenStates(state, self.schema)
        objects = given.whole_state(0)
        numbers = {c: int(present[0].sum()) for c, present in given.present.items()}
        for c, num in numbers.items():
            low, high = self.counts.ranges[c]
            if not low <= num <= high:
                wanted = f"{low}" if low == high else f"{low} to {high}"
                raise PlanError(
                    f"start: expected {wanted} objects of class `{c}` as `counts` says, got {num}. "
                    "Change the function or the counts."
                )
        return numbers, objects

    def _scattered(self, c: str, num: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """So many objects of a class, each field drawn on its own."""
        drawn = {}
        for f, field in self.schema.fields(c).items():
            if field.action:
                continue
            shape = (num, *field.shape)
            if field.is_coded:
                drawn[f] = field.from_codes(rng.integers(field.num_codes, size=shape))
                continue
            scale = self._model.scale(c, f)
            mean, sd = (t.numpy().reshape(field.shape) for t in (scale.value_mean, scale.value_sd))
            sd = np.where(sd == np.abs(mean), 0.0, sd)  # its own size: it never varied
            numbers = field.clip(mean + sd * rng.standard_normal(shape))
            drawn[f] = (numbers if field.is_real else np.round(numbers)).astype(field.dtype)
        return drawn

    def _padded(self, numbers: Mapping[str, int], objects: Objects) -> WorldState:
        values: dict[str, dict[str, np.ndarray]] = {}
        present: dict[str, np.ndarray] = {}
        for c, rows in self.counts.max_objects.items():
            # A class may have nothing but actions: then only its number is known.
            present[c] = np.arange(rows)[None] < numbers[c]
            values[c] = {}
            for f, given in objects[c].items():
                field = self.schema.field(c, f)
                values[c][f] = np.zeros((1, rows, *field.shape), field.dtype)
                values[c][f][0, : len(given)] = given
        return WorldState(values, present)


class _GivenStates:
    """States of a snapshot to draw from, or to take objects from."""

    def __init__(self, snapshot: Snapshot, schema: Schema) -> None:
        difference = snapshot.schema.difference(schema)
        if difference is not None:
            raise PlanError(
                "start: expected states of the model's schema. First difference, start against "
                f"model: {difference}."
            )
        state = to_world_state(snapshot)
        self.values, self.present = state.values, state.present
        self.known = {
            c: present & np.all([snapshot.observed[c][f].cpu().numpy() for f in self.values[c]], 0)
            for c, present in self.present.items()
        }
        self.is_whole = np.all(
            [(self.known[c] == present).all(1) for c, present in self.present.items()], 0
        )
        # Where known objects stand, (object, 2): row and slot.
        self.places = {c: np.argwhere(known) for c, known in self.known.items()}
        self._check_values(schema)

    def _check_values(self, schema: Schema) -> None:
        for c, fields in self.values.items():
            for f, values in fields.items():
                field, known = schema.field(c, f), values[self.known[c]]
                wrong = ~np.isfinite(known) | field.out_of_domain(known)
                if wrong.any():
                    raise PlanError(
                        f"start: field `{c}.{f}`: expected finite numbers within [{field.low}, "
                        f"{field.high}], got {known[wrong][0]}."
                    )

    def check_classes(self, counts: Counts) -> None:
        """Raise a `PlanError` if there is nothing to draw objects of some class from."""
        for c, (_, high) in counts.ranges.items():
            if high > 0 and len(self.places[c]) == 0:
                raise PlanError(
                    f"start: expected completely known objects of class `{c}` to draw from, got "
                    f"none. Give states that have some, or counts={{{c!r}: 0, ...}}."
                )

    def draw(self, numbers: Mapping[str, int], rng: np.random.Generator) -> Objects:
        """A state with such numbers of objects, or one put together."""
        fits = [present.sum(1) == numbers[c] for c, present in self.present.items()]
        rows = np.flatnonzero(self.is_whole & np.all(fits, 0))
        if len(rows) > 0:
            return self.whole_state(int(rows[rng.integers(len(rows))]))
        objects = {}
        for c, num in numbers.items():
            places = self.places[c]
            chosen = np.zeros((0, 2), int)
            if num > 0:
                chosen = places[rng.choice(len(places), num, replace=len(places) < num)]
            objects[c] = {f: v[chosen[:, 0], chosen[:, 1]] for f, v in self.values[c].items()}
        return objects

    def whole_state(self, row: int) -> Objects:
        """The objects of one state, which must be completely known."""
        if not self.is_whole[row]:
            raise PlanError(
                "start: expected a state whose values are all known, got one with unknown values. "
                "Fill them in."
            )
        return {
            c: {f: v[row, self.present[c][row]] for f, v in fields.items()}
            for c, fields in self.values.items()
        }
