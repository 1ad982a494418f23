"""Learning single targets alone, where a richer network surely predicts them better.

What happens between two objects, and products, cost more than all else, and most targets need
neither. So they are not learned with all targets, but when these have been, for those of which more
can surely be explained: they are learned again from the beginning and alone, under all edges that
may be there, and the search begins with everything. What surely predicts held-out episodes better
in the end takes the place of what was found before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from oocdm.data.clusters import MIN_CLUSTERS
from oocdm.data.dataset import Dataset
from oocdm.discovery import Discovery
from oocdm.discovery.gains import Gains, element_gains, gains_of_clusters, portions, target_gains
from oocdm.discovery.unexplained import SURE, fit_of_unexplained, what_is_unexplained
from oocdm.graph import Structure
from oocdm.methods import Oocdm
from oocdm.methods.method import AbstractMethod, Inquiry, LearningState, Term
from oocdm.models.allocator import release_freed_memory
from oocdm.models.memory import Fit, largest_fit, measure
from oocdm.models.oocdm.excerpt import excerpt_of, places_of, take_out, within
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.predictor import LATE
from oocdm.models.prepared import Budget, Prepared, Receivers
from oocdm.models.world_model import Structures
from oocdm.training import confirm
from oocdm.training.batch import Batch
from oocdm.training.clock import Clock
from oocdm.training.confirm import Confirmation, falling
from oocdm.training.optimiser import make_optimiser
from oocdm.training.plan import KEPT_SHARE, Standing, rows_that_fit

UNEXPLAINED = 0.004  # nats that random functions must explain
BATCH = 48  # few transitions and many steps: one has many pairs of objects
RATE, WARM_UP = 5e-3, 50
ROUND_RATE = 3.5e-3  # where a round begins; it ends with a tenth, so that it can be judged
NUM_GRAPHS = 16  # structures in a batch
FULL_STEPS = 1200  # under all that may be there
TRIM_ROUNDS, ROUNDS, ROUND_STEPS, PATIENCE = 14, 3, 150, 3
VARIANTS = 4  # structures that are tried at once
TRIFLE = 0.003  # nats that may be lost with what is left out
HARM = 0.01  # nats that are won without what does harm
JUDGED, RANKED = 4096, 768  # held-out transitions that decide what goes, and in what order
AT_ONCE = 12  # targets of one excerpt
LEAST, ERRORS = 0.01, 3.0  # nats, and standard errors, that a target must be better by in the end
CHUNK = 256

MOST_OBJECTS = 64  # of a class, where pairs of objects can still be gone through
KEPT = 2**28  # bytes of what is read of the data, made when needed if it is more

Tell = Callable[[int, int, float], None]  # steps done, of how many, and the loss
TellOfPart = Callable[[int, float], None]  # steps of an excerpt that are done, and the loss


@dataclass(frozen=True)
class Outcome:
    """What was learned of some targets: their predictors, and what was found."""

    part: OocdmModel
    discovery: Discovery | None  # None if no edge was free
    structure: Structure
    has_settled: bool


@dataclass(frozen=True)
class Focus:
    """Targets of a model, and all that is needed to learn them alone."""

    model: OocdmModel
    method: AbstractMethod
    estimate: Structure
    free: Structure
    weights: np.ndarray  # of edges, from soft priors
    training: Prepared
    training_data: Dataset
    held_out: Prepared
    held_out_data: Dataset
    held_out_rows: np.ndarray | None
    rng: np.random.Generator
    clock: Clock

    def run(self, tell: Tell) -> list[Outcome]:
        """Targets that are better learned alone, some at a time."""
        names, outcomes = self.unexplained(), []
        # Steps of an excerpt, at most.
        each = FULL_STEPS + (TRIM_ROUNDS + ROUNDS) * ROUND_STEPS + confirm.ROUNDS * confirm.STEPS
        total = -(-len(names) // AT_ONCE) * each

        def tell_of_all(done: int, loss: float) -> None:
            tell(i // AT_ONCE * each + done, total, loss)

        for i in range(0, len(names), AT_ONCE):
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(int(self.rng.integers(2**31)))
                part = excerpt_of(self.model, names[i : i + AT_ONCE])
            outcome = Lesson(self, part).learn(tell_of_all)
            if outcome is not None:
                outcomes.append(outcome)
        return outcomes

    def unexplained(self) -> list[str]:
        """The targets of which more can be explained."""
        order = self.rng.permutation(len(self.training_data))
        with self._all_read():
            gains = what_is_unexplained(self.model, self.estimate, *self._looked_at(order))
        is_more = gains.mean > np.maximum(UNEXPLAINED, SURE * gains.error)
        is_more &= gains.groups >= MIN_CLUSTERS
        targets = self.estimate.layout.edges.targets
        return [t for t, more in zip(targets, is_more, strict=True) if more]

    def fit(self) -> Fit:
        """The fewest rows that are done at once, 0 if not all work fits, and what all takes.

        It is measured on as many targets as are learned at once, those with the most outputs.
        """
        with self._all_read():
            most = self.estimate | self.free
            looked = fit_of_unexplained(self.model, most, self._looked_at()[0])
        part = excerpt_of(self.model, _widest(self.model)[:AT_ONCE])
        learned = Lesson(self, part, keeps=False).fit()
        return Fit(min(looked.size, learned.size), max(looked.taken, learned.taken))

    @contextmanager
    def _all_read(self) -> Iterator[None]:
        """Let the model read all that it can, with what only pairs read."""
        idle, self.model.idle = self.model.idle, frozenset()
        try:
            yield
        finally:
            self.model.idle = idle

    def _looked_at(self, order: np.ndarray | None = None) -> tuple[Prepared, Prepared]:
        """What the model reads of all data, those to learn from in some order."""
        budget = replace(self.training.budget, kept=0)
        return (
            Prepared.of(self.model, self.training_data, order, budget),
            Prepared.of(self.model, self.held_out_data, self.held_out_rows, budget),
        )


@dataclass(frozen=True)
class Room:
    """The memory of an excerpt: bytes that it takes all the time, and the budget of its work."""

    stays: int
    update: int  # bytes of a step of the optimiser
    budget: Budget

    @staticmethod
    def of(model: OocdmModel, part: OocdmModel, budget: Budget, data: Sequence[Prepared]) -> Room:
        """For an excerpt of a model and what it reads, within the budget of all work."""
        one = Standing.of(part, "adam", 0)  # with a copy, of before the last round
        learned = sum(p.nbytes for p in model.parameters())  # in excerpts before this one
        stays = one.weights + one.optimiser + one.gradients + learned
        free = max(budget.largest - stays, 0)
        most = min(KEPT, free // KEPT_SHARE)
        inputs = sum(size for size in (each.num_bytes for each in data) if size <= most)
        largest = free - inputs
        inside = replace(budget, working=min(budget.working, largest), largest=largest, kept=most)
        return Room(stays + inputs, one.update, inside)


class Lesson:
    """Learning an excerpt: first under all that may be there, then around an estimate."""

    def __init__(self, focus: Focus, part: OocdmModel, keeps: bool = True) -> None:
        """`keeps` says whether what is read may be kept: to look at a little of it need not."""
        self.focus, self.part = focus, part
        self.rng, self.clock = focus.rng, focus.clock
        assert isinstance(focus.method, Oocdm)
        self.method = replace(focus.method, num_graphs=NUM_GRAPHS)
        data = self._read(replace(focus.training.budget, kept=0))
        self.room = Room.of(focus.model, part, focus.training.budget, data)
        kept = self.room.budget.kept if keeps else 0
        self.training, self.held_out = self._read(replace(self.room.budget, kept=kept))
        before, free = (within(s, part.layout) for s in (focus.estimate, focus.free))
        self.free = free | part.layout.ways(LATE)
        self.before, self.full = before, before | self.free
        parameters = [p for p in part.parameters() if p.requires_grad]
        self.optimiser = make_optimiser("adam", [{"params": parameters}])
        self.blur = part.resolution(focus.method.schedule.resolution) or None
        self.one = self._fit_of_steps(1, self.rng)
        self.many = self._fit_of_steps(NUM_GRAPHS, np.random.default_rng(0))
        self.judged, self.ranked = (self.held_out.rows(slice(0, n)) for n in (JUDGED, RANKED))
        self.steps = 0

    def learn(self, tell: TellOfPart) -> Outcome | None:
        """All of it, as long as there is time; None if nothing surely came of it."""
        release_freed_memory()
        self.learn_full(tell)
        outcome = self.search(tell) if self.clock.share < 1 else None
        self.part.zero_grad(set_to_none=True)
        release_freed_memory()
        return outcome

    # ---------------------------------------------------------------- memory

    def fit(self) -> Fit:
        """The fewest rows that are done at once, 0 if not all work fits, and what all takes."""
        portion = portions(self.part, self.held_out)
        fits = [self.one, self.many, self._fit_of_both(), Fit(portion.rows, portion.taken)]
        most = max(self.room.update, *(each.taken for each in fits))
        return Fit(min(each.size for each in fits), self.room.stays + most)

    def _read(self, budget: Budget) -> tuple[Prepared, Prepared]:
        """What the excerpt reads of all data."""
        focus = self.focus
        return (
            Prepared.of(self.part, focus.training_data, budget=budget),
            Prepared.of(self.part, focus.held_out_data, focus.held_out_rows, budget),
        )

    def _fit_of_steps(self, num: int, rng: np.random.Generator) -> Fit:
        """How many rows of a batch with so many structures fit, if they have the most objects."""
        drawn = self._batch(np.repeat(self.full.flags[None], num, axis=0), rng)
        fullest = np.resize(self.training.fullest(len(drawn)).numpy(), len(drawn))
        batch = replace(drawn, data=self.training.rows(torch.as_tensor(fullest)))
        return rows_that_fit(batch, sum(p.nbytes for p in self.part.parameters()))

    def _fit_of_both(self) -> Fit:
        """How many transitions fit that the excerpt and the whole model are both asked about."""
        focus, part = self.focus, self.part
        rows = focus.model.structures(focus.estimate), part.structures(part.largest())
        fullest = focus.held_out.fullest(CHUNK)

        def taken(num: int) -> int:
            data = (each.rows(fullest[:num]) for each in (focus.held_out, self.held_out))
            return measure(lambda: self._asked(rows, *data)).peak

        most, budget = min(CHUNK, len(self.held_out)), self.room.budget
        limits = budget.working, budget.largest
        return self.held_out.fit("both models", lambda: largest_fit(taken, most, *limits))

    # ---------------------------------------------------------------- learning

    def learn_full(self, tell: TellOfPart) -> None:
        """Learn under all that may be there."""
        for i in range(FULL_STEPS):
            loss = self._step(self.full.flags[None], RATE * falling(i / FULL_STEPS))
            tell(i + 1, loss)
            if self.clock.share >= 1:
                break

    def _step(self, structures: np.ndarray, rate: float) -> float:
        self.steps += 1
        self.part.zero_grad(set_to_none=True)
        fit = self.one if len(structures) == 1 else self.many
        loss = self._batch(structures, self.rng).backward(max(fit.size, 1))
        torch.nn.utils.clip_grad_norm_(
            self.part.parameters(), self.focus.method.schedule.max_gradient_norm
        )
        for group in self.optimiser.param_groups:
            group["lr"] = rate * min(self.steps / WARM_UP, 1.0)
        self.optimiser.step()
        return float(loss)

    def _batch(self, structures: np.ndarray, rng: np.random.Generator) -> Batch:
        size = max(min(BATCH, len(self.training)) // len(structures), 1) * len(structures)
        rows = torch.as_tensor(rng.integers(len(self.training), size=size))
        data = self.training.rows(rows)
        receivers = Receivers.draw(self.part, data, rng)
        return Batch(self.part, data, [Term(1.0, structures)], receivers, self.blur)

    # ---------------------------------------------------------------- judging

    def _gains(self, structure: Structure) -> Gains:
        """What the excerpt under a structure adds to the whole model under its estimate."""
        focus = self.focus
        rows = focus.model.structures(focus.estimate), self.part.structures(structure)
        data = focus.held_out.rows(slice(0, JUDGED)), self.judged
        size = max(self._fit_of_both().size, 1)
        gains: list[Tensor] = []
        known: list[Tensor] = []
        for i in range(0, len(data[0]), size):
            some = (each.rows(slice(i, i + size)) for each in data)
            for found, values in zip((gains, known), self._asked(rows, *some), strict=True):
                found.append(values)
            focus.held_out.budget.ceiling.hold()
        return gains_of_clusters(torch.cat(gains), torch.cat(known), self.judged.cluster)

    @torch.no_grad()
    def _asked(
        self, rows: tuple[Structures, Structures], ours: Prepared, theirs: Prepared
    ) -> tuple[Tensor, Tensor]:
        """What the excerpt adds to the whole model's score of each target, and what is known."""
        whole, part = self.focus.model, self.part
        chosen = {
            c: [list(whole.heads[c].targets).index(v) for v in part.heads[c].targets]
            for c in part.predictors
        }
        blur = whole.resolution(self.focus.method.schedule.resolution) if self.blur else None
        (before,) = whole(ours.inputs, rows[0])
        (now,) = part(theirs.inputs, rows[1])
        old, new = before.log_prob(ours.targets, blur), now.log_prob(theirs.targets, self.blur)
        gains = _summed({c: new[c] - old[c][..., chosen[c]] for c in chosen})
        return gains, _summed({c: theirs.targets.known[c].double() for c in chosen})

    # ---------------------------------------------------------------- searching

    def trim(self, tell: TellOfPart) -> Structure:
        """Leave out what does no good, from all that may be there: the least helpful first.

        A network that always had an input relies on it, cause or not. So it is not asked what it
        would lose without some: it learns for a while mostly without them, and if it then predicts
        as well without them as with them, they go. If not, fewer are tried, in the end one by one.
        """
        layout, now, part = self.part.layout, self.full, self.part
        trials = [Trial(columns[self.free.flags[columns]]) for columns in layout.by_target]
        for number in range(TRIM_ROUNDS):
            gains = element_gains(part, self.ranked, now, self.blur, now & self.free)
            tried = [trial.propose(now, gains) for trial in trials]
            if not any(map(len, tried)):
                break
            less = [now.flags.copy() for _ in range(VARIANTS)]
            for variants in tried:
                for v, chosen in enumerate(variants):
                    less[v][chosen] = False
            rows = np.stack([now.flags, *less])
            for i in range(ROUND_STEPS):
                loss = self._step(rows, ROUND_RATE * falling(i / ROUND_STEPS))
                tell(FULL_STEPS + number * ROUND_STEPS + i + 1, loss)
            judged = {flags.tobytes(): Structure(layout, flags) for flags in less}
            adds = {key: self._adds(now, each) for key, each in judged.items()}
            added = [adds[flags.tobytes()] for flags in less]
            flags = now.flags.copy()
            for t, trial in enumerate(trials):
                flags[trial.verdict([each[t] for each in added])] = False
            now = Structure(layout, flags)
            if self.clock.share >= 1:
                break
        return now

    def _adds(self, now: Structure, other: Structure) -> np.ndarray:
        """What another structure adds to each target; nothing where it is the same."""
        found = target_gains(self.part, self.judged, now, other, self.blur, JUDGED)
        return Gains.joined([found[c] for c in self.part.schema.classes if c in found]).mean

    def search(self, tell: TellOfPart) -> Outcome | None:
        """Learn around an estimate that begins with everything, and discover, until it settles.

        None if no target is surely predicted better in the end than before.
        """
        method, estimate, unchanged = self.method, self.trim(tell), 0
        discovery: Discovery | None = None
        begun = FULL_STEPS + TRIM_ROUNDS * ROUND_STEPS  # where trimming ends at the latest
        for number in range(ROUNDS):
            before = self.part.copy()
            contested = self.part.layout.structure(False, False)
            if discovery is not None:
                size = np.abs(discovery.evidence.score)
                contested = contested.with_edges((size > 0.005) & (size < 0.6))
            now = LearningState(self.part, estimate, self.free, contested, number + 1)
            for i in range(ROUND_STEPS):
                done = number * ROUND_STEPS + i
                terms = method.objective(now, self.rng)
                rate = ROUND_RATE * falling(i / ROUND_STEPS)
                loss = self._step(np.asarray(terms[0].structures), rate)
                tell(begun + done + 1, loss)
            inquiry = Inquiry(
                *(self.part, self.held_out, estimate, self.free, self._weights()), before=before
            )
            discovery = method.discover(inquiry)
            if discovery is None:
                break
            is_same = np.array_equal(discovery.structure.edges, estimate.edges)
            unchanged = unchanged + 1 if is_same else 0
            estimate = discovery.structure
            if unchanged >= PATIENCE or self.clock.share >= 1:
                break
        if discovery is not None:
            discovery = self._confirmed(discovery, tell)
            estimate = discovery.structure
        gains = self._gains(estimate)
        is_better = gains.mean > np.maximum(LEAST, ERRORS * gains.error)
        is_better &= gains.groups >= MIN_CLUSTERS
        if not is_better.all():
            return self._only(is_better, discovery, estimate, unchanged)
        return Outcome(self.part, discovery, estimate, unchanged >= PATIENCE)

    def _confirmed(self, found: Discovery, tell: TellOfPart) -> Discovery:
        """What is found once doubtful edges have been learned both ways."""
        done = FULL_STEPS + (TRIM_ROUNDS + ROUNDS) * ROUND_STEPS

        def step(rows: np.ndarray, share: float) -> None:
            nonlocal done
            done += 1
            tell(done, self._step(rows, 0.5 * ROUND_RATE * falling(share)))

        return Confirmation(
            *(self.method, self.part, self.held_out, self.free, self._weights(), step),
            is_late=lambda: self.clock.share >= 1,
        ).run(found)

    def _only(
        self, chosen: np.ndarray, discovery: Discovery | None, estimate: Structure, unchanged: int
    ) -> Outcome | None:
        """The outcome for some of the targets."""
        names = [t for t, is_in in zip(self.part.edges.targets, chosen, strict=True) if is_in]
        if not names:
            return None
        part = excerpt_of(self.focus.model, names)
        take_out(self.part, part)
        some = within(estimate, part.layout)
        if discovery is not None:
            places = places_of(part.layout, self.part.layout)[: part.layout.num_edges]
            evidence = discovery.evidence.at(places, part.edges)
            discovery = Discovery(some, evidence)
        return Outcome(part, discovery, some, unchanged >= PATIENCE)

    def _weights(self) -> np.ndarray:
        whole = self.focus.estimate.layout
        return self.focus.weights[places_of(self.part.layout, whole)[: self.part.layout.num_edges]]


class Trial:
    """What is left out of one target for trial: first some elements at once, then single ones."""

    def __init__(self, elements: np.ndarray) -> None:
        self.open = elements  # those that are there, and not known to be needed
        self.share = 0.5
        self.variants: list[np.ndarray] = []

    def propose(self, now: Structure, gains: Gains) -> list[np.ndarray]:
        """What to leave out in each variant: the same of many, or a single element in each."""
        self.open = self.open[now.flags[self.open]]
        weak = self.open[np.argsort(gains.mean[self.open], kind="stable")]
        num = int(len(weak) * self.share)
        self.variants = [weak[:num]] * VARIANTS if num > 1 else list(weak[:VARIANTS, None])
        return self.variants

    def verdict(self, added: Sequence[float]) -> np.ndarray:
        """What goes for good, given what each variant adds to the target."""
        nothing = np.zeros(0, dtype=int)
        if not self.variants:
            return nothing
        if len(self.variants[0]) > 1:
            does_no_harm = added[0] >= -TRIFLE
            self.share = 0.5 if does_no_harm else self.share / 2
            return self.variants[0] if does_no_harm else nothing
        needed = [c for c, nats in zip(self.variants, added, strict=False) if nats < -TRIFLE]
        self.open = np.setdiff1d(self.open, np.concatenate([nothing, *needed]))
        # One at a time: of two that can stand in for each other one must stay. The least helpful
        # goes first, unless another one surely does harm.
        best = int(np.argmax(added[: len(self.variants)]))
        if added[best] >= HARM:
            return self.variants[best]
        return self.variants[0] if added[0] >= -TRIFLE else nothing


def _widest(model: OocdmModel) -> list[str]:
    """All targets, those with the most outputs first."""
    outputs = {
        f"{c}.{v}": field.size * (field.num_codes if field.is_choice else 1)
        for c in model.predictors
        for v, field in model.heads[c].targets.items()
    }
    return sorted(outputs, key=lambda name: -outputs[name])


def _summed(by_class: dict[str, Tensor]) -> Tensor:
    """Over the objects of each transition, targets of all classes side by side."""
    return torch.cat([each.sum(1).double().cpu() for each in by_class.values()], dim=1)
