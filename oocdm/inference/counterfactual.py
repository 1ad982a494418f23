"""What would have happened: a logged episode again, with something done differently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from oocdm.data.dataset import Dataset
from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.data.values import read_value
from oocdm.errors import DataError, ModelError
from oocdm.graph import Graph, Variable
from oocdm.graph.class_graph import GivenGraph
from oocdm.inference.dynamics import Dynamics
from oocdm.inference.fitted import (
    Fitted,
    check_fit,
    checked_data,
    checked_result,
    prediction_graph,
)
from oocdm.inference.names import place_hint, read_variable
from oocdm.inference.seen import Seen, is_choice, seen_by
from oocdm.inference.words import both_in_words, counted
from oocdm.models.copies import Copies
from oocdm.models.prediction import Predictions
from oocdm.models.world_model import AbstractWorldModel
from oocdm.reading import Count, Seed, checked
from oocdm.schema import Field, Real

CLOSE = 1e-3  # of a field's spread: differences below it are no change
ROUNDING = 1e-5  # relative differences below it are rounding, whatever the spread
TOLD = 0.1  # of a change: doubts that are larger are told
PLAIN = Real()


@dataclass(frozen=True)
class Change:
    """One variable that would have come out differently; prints as a phrase.

    `field` says how values are written: names of categories, True and False, numbers. `doubt` is
    how far copies of the model are from the imagined number, or the share of them that say
    otherwise; it is told where it matters.

    >>> print(Change(4, Variable("Mouse", 0, "hunger"), 40.0, 55.0))
    step 4: Mouse[0].hunger would have been 55, not 40
    >>> print(Change(4, Variable("Mouse", 0, "hunger"), 40.0, 55.0, doubt=6.0))
    step 4: Mouse[0].hunger would have been 55 (give or take 6), not 40
    """

    step: int
    variable: Variable
    actual: Any
    imagined: Any
    field: Field = PLAIN
    doubt: float = 0.0

    def __str__(self) -> str:
        imagined, actual = both_in_words(self.field, self.imagined, self.actual)
        told = f"{self.variable} would have been {imagined}{self._doubt()}, not {actual}"
        return f"step {self.step}: {told}"

    def _doubt(self) -> str:
        if is_choice(self.field):
            share = f"{100 * self.doubt:.0f} %"
            return f" (but not by {share} of the model's copies)" if self.doubt > 0 else ""
        change = np.abs(np.subtract(self.imagined, self.actual)).max()
        return f" (give or take {self.doubt:.2g})" if self.doubt > TOLD * change else ""


@dataclass(frozen=True, repr=False)
class Counterfactual:
    """An episode as it was and as it would have been, from one step on.

    `actual` and `imagined` hold the states after each step, `steps` the numbers of these steps.
    Numbers count as changed if they differ by a thousandth of the spread of their field, which
    `spreads` tells, as `spreads["Ball.x"]`; 1 where it does not. `outside` tells what was set, or
    came of it, that was hardly seen in training: from there on the answer is a guess.

    >>> from oocdm.schema import ObjectClass, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> one, other = (
    ...     Snapshot.of(Schema(Ball), {"Ball": {"x": torch.tensor([[x]])}}) for x in (1.0, 2.0)
    ... )
    >>> Counterfactual((4,), (one,), (other,))
    Counterfactual(1 step, 1 change)
    """

    steps: tuple[int, ...]
    actual: tuple[Snapshot, ...]
    imagined: tuple[Snapshot, ...]
    spreads: Mapping[str, Tensor] = field(default_factory=dict)
    outside: tuple[str, ...] = ()  # of what was seen in training, in words
    others: tuple[tuple[Snapshot, ...], ...] = ()  # what copies of the model imagine

    def changes(self) -> list[Change]:
        """All variables that differ, in the order of time."""
        return [change for i in range(len(self.steps)) for change in self._changes_at(i)]

    def _changes_at(self, i: int) -> Iterator[Change]:
        actual, imagined = self.actual[i], self.imagined[i]
        for c, fields in imagined.values.items():
            for f, value in fields.items():
                real, would = actual.values[c][f][0].cpu(), value[0].cpu()
                kind = imagined.schema.field(c, f)
                differs = self._differs(c, f, kind, real, would) & actual.observed[c][f][0].cpu()
                for j in differs.nonzero()[:, 0].tolist():
                    yield Change(
                        *(self.steps[i], Variable(c, j, f), real[j].tolist(), would[j].tolist()),
                        field=kind,
                        doubt=self._doubt(i, Variable(c, j, f), kind),
                    )

    def _doubt(self, i: int, variable: Variable, kind: Field) -> float:
        """How far copies are from what is imagined of a variable, or how many say otherwise."""
        c, j, f = variable
        first, *others = (
            states[i].values[c][f][0, j].double().cpu() for states in (self.imagined, *self.others)
        )
        if not others:
            return 0.0
        apart = torch.stack(others) - first
        if is_choice(kind):
            return float((apart != 0).flatten(1).any(1).double().mean())
        return float(apart.square().mean(0).sqrt().max())

    def _differs(self, c: str, f: str, kind: Field, real: Tensor, would: Tensor) -> Tensor:
        """Which objects have another value of a field, (object,)."""
        if not kind.is_real:
            return (would != real).flatten(1).any(1) if real.ndim > 1 else would != real
        real, would = (each.double().reshape(len(each), kind.size) for each in (real, would))
        spread = self.spreads.get(f"{c}.{f}", torch.ones(kind.size)).double()
        return ((would - real).abs() > torch.maximum(CLOSE * spread, ROUNDING * real.abs())).any(1)

    def __repr__(self) -> str:
        steps, changes = counted(len(self.steps), "step"), counted(len(self.changes()), "change")
        return f"Counterfactual({steps}, {changes})"

    def __str__(self) -> str:
        changes = list(map(str, self.changes())) or ["nothing would have changed"]
        return "\n".join([*changes, *self.outside])


@checked(ModelError)
def counterfactual(
    result: Fitted,
    data: Dataset,
    episode: int,
    step: int,
    do: Annotated[Mapping[str, Any], 'Give it as {"Ball[0].push": 1.0}.'],
    hold: bool = False,
    horizon: Annotated[Count, "It is how many steps the answer has."] | None = None,
    seed: Seed = 0,
    graph: GivenGraph | None = None,
    doubts: bool = True,
) -> Counterfactual:
    """What would have happened if some variables had been set at one step of an episode.

    The answer goes on to the end of the episode, a gap in its steps, or `horizon`. `do` sets
    variables such as `Mouse[0].move` at the first step, or with `hold` from then on, as long as
    their objects are there; a static field keeps what it is set to. All other actions are as
    logged, and so is the noise: what chance brought in each transition, by the model's light, it
    brings again. For choices, whole numbers and values at a bound of their field several noises
    fit what was logged; `seed` draws one. `graph` is one to predict with in place of the result's
    own. Copies of the model, if it has some, answer too, unless `doubts` is False: so every change
    has a `doubt`.
    Objects come and go as they did, and other values that were not logged stay unknown. They are
    numbered by their place in the episode, or named as they were logged: `Light[L0].on`.

    >>> import oocdm
    >>> env = oocdm.make("block", num_blocks=2)
    >>> data = oocdm.collect(env, steps=300, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> result = oocdm.fit(data, graph=env.true_graph, schedule=quick)
    >>> print(counterfactual(result, data, episode=0, step=3, do={}))
    nothing would have changed
    >>> other = counterfactual(result, data, 0, 3, do={"Block[0].a": 2.0}, horizon=1)
    >>> {change.variable.object for change in other.changes()}
    {0}
    """
    checked_result("counterfactual", result)
    data = checked_data("counterfactual", data)
    check_fit("counterfactual", result, data)
    numbers = data.step[data.starts]
    rows = _rows_from(data, episode, step)[:horizon]
    settings = _read(do, data, rows[:1], step)
    together = data.transitions(rows)  # so that all of them have the same places
    fits = _models(result, prediction_graph(result, graph), doubts)
    answers = [_imagine(Dynamics(fit), together, settings, hold, seed) for fit in fits]
    actual = tuple(together.select(slice(i, i + 1)).after for i in range(len(rows)))
    steps = tuple(int(numbers[row]) + 1 for row in rows)
    spreads = _spreads(result.model, data)
    answer = Counterfactual(steps, actual, answers[0], spreads, others=tuple(answers[1:]))
    seen = seen_by(result)
    if seen is None:
        return answer
    return replace(answer, outside=tuple(_outside(seen, settings, answer)))


@dataclass(frozen=True)
class _Fit:
    """A model and the graph that it predicts with."""

    model: AbstractWorldModel
    graph: Graph


def _models(result: Fitted, graph: Graph, doubts: bool) -> list[_Fit]:
    """A result's model, and copies of it if they are asked for."""
    copies: Copies | None = getattr(result, "copies", None)
    others = copies.models if doubts and copies is not None else ()
    return [_Fit(model, graph) for model in (result.model, *others)]


def _imagine(
    dynamics: Dynamics,
    together: Transitions,
    settings: Mapping[Variable, Tensor],
    hold: bool,
    seed: int,
) -> tuple[Snapshot, ...]:
    """The states after each of some transitions, had variables been set at the first."""
    generator = torch.Generator().manual_seed(seed)
    kind = dynamics.schema.field
    states = {v: value for v, value in settings.items() if not kind(v[0], v[2]).action}
    lasting = states if hold else {v: x for v, x in states.items() if kind(v[0], v[2]).static}
    imagined: list[Snapshot] = []
    for i in range(together.before.batch_size):
        logged = together.select(slice(i, i + 1)).to(dynamics.device)
        before = _with_state(logged.before, imagined[-1] if imagined else None)
        if not imagined or hold:
            before = _set(before, settings)
        noise = _noise(dynamics.predict(logged.before), logged, generator)
        imagined.append(_set(_realise(dynamics.predict(before), noise, logged), lasting))
    return tuple(imagined)


def _rows_from(data: Dataset, episode: int, step: int) -> np.ndarray:
    """The transitions of an episode from a step on, to its end or a gap."""
    if episode not in data.episode_ids:
        raise DataError(f"counterfactual: the dataset has no episode {episode!r}.")
    numbers = data.step[data.starts]
    rows = np.flatnonzero((data.episode_of == episode) & (numbers >= step))
    if len(rows) == 0 or numbers[rows[0]] != step:
        raise DataError(f"counterfactual: episode {episode} has no transition at step {step}.")
    gaps = np.flatnonzero(np.diff(numbers[rows]) > 1)  # what happened there nobody knows
    return rows[: gaps[0] + 1 if len(gaps) else None]


def _outside(
    seen: Seen, settings: Mapping[Variable, Tensor], answer: Counterfactual
) -> Iterator[str]:
    """What was set that was hardly seen, and the first value of each field that came of it."""
    for variable, value in settings.items():
        c, _, f = variable
        said = seen.outside(str(variable), f"{c}.{f}", value)
        if said is not None:
            yield said
    told = {(c, f) for c, _, f in settings}
    for step, actual, imagined in zip(answer.steps, answer.actual, answer.imagined, strict=True):
        for c, fields in imagined.values.items():
            for f, values in fields.items():
                name, value = f"{c}.{f}", values[0].cpu()
                is_out = seen.is_outside(name, value) & imagined.observed[c][f][0].cpu()
                is_new = is_out & ~seen.is_outside(name, actual.values[c][f][0].cpu())
                if (c, f) not in told and bool(is_new.any()):
                    i = int(is_new.int().argmax())
                    told.add((c, f))
                    yield f"step {step}: {seen.outside(str(Variable(c, i, f)), name, value[i])}"


def _spreads(model: AbstractWorldModel, data: Dataset) -> dict[str, Tensor]:
    """The standard deviation of every field of real numbers, one a component."""
    spreads = {}
    for c in data.schema.classes:
        for f, kind in data.schema.fields(c).items():
            if kind.is_real and not kind.action:
                spread = model.scale(c, f).value_sd.detach().cpu()
                known = data.cells[c].values[f][data.cells[c].observed[f]]
                # 1 is that of models in raw units, and of what was always 0 in training.
                if bool((spread == 1).all()) and len(known):
                    spread = torch.as_tensor(known.std(0, dtype=np.float64)).reshape(-1)
                spreads[f"{c}.{f}"] = spread
    return spreads


Noise = Mapping[tuple[str, str], Tensor]


def _noise(
    predictions: Predictions, logged: Transitions, generator: torch.Generator
) -> dict[tuple[str, str], Tensor]:
    """The noise of every predicted variable in a logged transition."""
    schema = logged.schema
    found = {}
    for c in schema.classes:
        for v in schema.targets(c):
            found[c, v] = predictions[c, v].noise_of(logged.after[c, v], generator)
    return found


def _realise(predictions: Predictions, noise: Noise, logged: Transitions) -> Snapshot:
    """The state that predictions become with some noise; who just came is as logged."""
    after = logged.after
    values: dict[str, dict[str, Tensor]] = {c: dict(f) for c, f in after.values.items()}
    for (c, v), each in noise.items():
        real = after[c, v]
        value = predictions[c, v].with_noise(each).reshape(real.shape).to(real.dtype)
        known = logged.known(c, v)
        values[c][v] = torch.where(known.view(*known.shape, *[1] * (real.ndim - 2)), value, real)
    return Snapshot(after.schema, values, after.present, after.observed)


def _with_state(logged: Snapshot, state: Snapshot | None) -> Snapshot:
    """What was logged before a step, with another state; actions are as logged."""
    if state is None:
        return logged
    values = {c: {**fields, **state.values[c]} for c, fields in logged.values.items()}
    observed = {c: {**fields, **state.observed[c]} for c, fields in logged.observed.items()}
    return Snapshot(logged.schema, values, logged.present, observed)


def _read(
    do: Mapping[str, Any], data: Dataset, row: np.ndarray, step: int
) -> dict[Variable, Tensor]:
    """What shall be set, of objects that are there at the first step."""
    first, episode = data.transitions(row).before, int(data.episode_of[row[0]])
    settings = {}
    for name, value in do.items():
        c, i, f = variable = read_variable("do", name, data, episode)
        kind = first.schema.field(c, f)
        there = first.present[c][0].nonzero()[:, 0].tolist()
        if i not in there:
            known = ", ".join(f"{c}[{j}]" for j in there) or "none"
            raise ModelError(
                f"do `{variable}`: expected an object that is there at step {step}, got {c}[{i}], "
                f"which is not. There are: {known}.{place_hint(data, variable, episode)}"
            )
        read = read_value(f"do `{variable}`", kind, value, ModelError)
        settings[variable] = torch.from_numpy(read)
    return settings


def _set(snapshot: Snapshot, settings: Mapping[Variable, Tensor]) -> Snapshot:
    """A snapshot in which some variables have been set, those of objects that are there."""
    values = {c: dict(fields) for c, fields in snapshot.values.items()}
    observed = {c: dict(fields) for c, fields in snapshot.observed.items()}
    for (c, i, f), value in settings.items():
        if snapshot.present[c][0, i]:
            changed, known = values[c][f].clone(), observed[c][f].clone()
            changed[0, i], known[0, i] = value.to(changed), True
            values[c][f], observed[c][f] = changed, known
    return Snapshot(snapshot.schema, values, snapshot.present, observed)
