"""Learning single targets alone, where a richer network surely predicts them better.

What happens between two objects, and products, cost more than all else, and most targets need
neither. So they are not learned with all targets, but when these have been, for those of which more
can surely be explained: they are learned again from the beginning and alone, under all edges that
may be there, and the search begins with everything. What surely predicts held-out episodes better
in the end takes the place of what was found before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from oocdm.data.clusters import MIN_CLUSTERS
from oocdm.data.dataset import Dataset
from oocdm.discovery import Discovery
from oocdm.discovery.gains import Gains, element_gains, gains_of_clusters, target_gains
from oocdm.discovery.unexplained import SURE, what_is_unexplained
from oocdm.graph import Structure
from oocdm.methods import Oocdm
from oocdm.methods.method import AbstractMethod, Inquiry, LearningState, Term
from oocdm.models.oocdm.excerpt import excerpt_of, places_of, take_out, within
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.predictor import LATE
from oocdm.models.prepared import Budget, Prepared, Receivers
from oocdm.training.batch import Batch
from oocdm.training.clock import Clock
from oocdm.training.confirm import Confirmation, falling
from oocdm.training.optimiser import make_optimiser
from oocdm.training.plan import rows_at_once

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
    tell: Tell

    def run(self) -> list[Outcome]:
        """Targets that are better learned alone, some at a time."""
        names, outcomes = self.unexplained(), []
        for i in range(0, len(names), AT_ONCE):
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(int(self.rng.integers(2**31)))
                part = excerpt_of(self.model, names[i : i + AT_ONCE])
            lesson = Lesson(self, part)
            lesson.learn_full(self.tell)
            outcome = lesson.search(self.tell) if self.clock.share < 1 else None
            if outcome is not None:
                outcomes.append(outcome)
        return outcomes

    def unexplained(self) -> list[str]:
        """The targets of which more can be explained."""
        layout, idle = self.estimate.layout, self.model.idle
        self.model.idle = frozenset()
        try:
            budget = replace(self.training.budget, kept=0)
            order = self.rng.permutation(len(self.training_data))
            data = (
                Prepared.of(self.model, self.training_data, order, budget),
                Prepared.of(self.model, self.held_out_data, self.held_out_rows, budget),
            )
            gains = what_is_unexplained(self.model, self.estimate, *data)
        finally:
            self.model.idle = idle
        is_more = gains.mean > np.maximum(UNEXPLAINED, SURE * gains.error)
        is_more &= gains.groups >= MIN_CLUSTERS
        return [t for t, more in zip(layout.edges.targets, is_more, strict=True) if more]


def focus_bytes(model: OocdmModel, *data: Dataset) -> int:
    """What it takes beside the model: of as many targets as there may be at once."""
    part = excerpt_of(model, model.schema.all_targets[:AT_ONCE])
    taken = 3 * sum(p.nbytes for p in part.parameters())  # with gradients and Adam's moments
    for each in data:
        prepared = Prepared.of(part, each, budget=Budget(kept=0))
        kept = prepared.num_bytes
        taken += kept if kept <= KEPT else prepared.rows(slice(0, BATCH)).num_bytes
    return taken


class Lesson:
    """Learning an excerpt: first under all that may be there, then around an estimate."""

    def __init__(self, focus: Focus, part: OocdmModel) -> None:
        self.focus, self.part = focus, part
        self.rng, self.clock = focus.rng, focus.clock
        assert isinstance(focus.method, Oocdm)
        self.method = replace(focus.method, num_graphs=NUM_GRAPHS)
        budget = replace(focus.training.budget, kept=KEPT)
        self.training = Prepared.of(part, focus.training_data, budget=budget)
        self.held_out = Prepared.of(part, focus.held_out_data, focus.held_out_rows, budget)
        before, free = (within(s, part.layout) for s in (focus.estimate, focus.free))
        self.free = free | part.layout.ways(LATE)
        self.before, self.full = before, before | self.free
        parameters = [p for p in part.parameters() if p.requires_grad]
        self.optimiser = make_optimiser("adam", [{"params": parameters}])
        self.blur = part.resolution(focus.method.schedule.resolution) or None
        self.at_once = rows_at_once(self._batch(self.full.flags[None]), part)
        self.judged, self.ranked = (self.held_out.rows(slice(0, n)) for n in (JUDGED, RANKED))
        self.steps = 0

    # ---------------------------------------------------------------- learning

    def learn_full(self, tell: Tell) -> None:
        """Learn under all that may be there."""
        for i in range(FULL_STEPS):
            loss = self._step(self.full.flags[None], RATE * falling(i / FULL_STEPS))
            tell(i + 1, FULL_STEPS, loss)
            if self.clock.share >= 1:
                break

    def _step(self, structures: np.ndarray, rate: float) -> float:
        self.steps += 1
        self.part.zero_grad(set_to_none=True)
        loss = self._batch(structures).backward(self.at_once)
        torch.nn.utils.clip_grad_norm_(
            self.part.parameters(), self.focus.method.schedule.max_gradient_norm
        )
        for group in self.optimiser.param_groups:
            group["lr"] = rate * min(self.steps / WARM_UP, 1.0)
        self.optimiser.step()
        return float(loss)

    def _batch(self, structures: np.ndarray) -> Batch:
        size = max(min(BATCH, len(self.training)) // len(structures), 1) * len(structures)
        rows = torch.as_tensor(self.rng.integers(len(self.training), size=size))
        data = self.training.rows(rows)
        receivers = Receivers.draw(self.part, data, self.rng)
        return Batch(self.part, data, [Term(1.0, structures)], receivers, self.blur)

    # ---------------------------------------------------------------- judging

    @torch.no_grad()
    def _gains(self, structure: Structure) -> Gains:
        """What the excerpt under a structure adds to the whole model under its estimate."""
        whole, part = self.focus.model, self.part
        rows = whole.structures(self.focus.estimate), part.structures(structure)
        chosen = {
            c: [list(whole.heads[c].targets).index(v) for v in part.heads[c].targets]
            for c in part.predictors
        }
        data = self.focus.held_out.rows(slice(0, 4096)), self.held_out.rows(slice(0, 4096))
        gains, known = [], []
        blur = whole.resolution(self.focus.method.schedule.resolution) if self.blur else None
        for i in range(0, len(data[0]), CHUNK):
            ours, theirs = (each.rows(slice(i, i + CHUNK)) for each in data)
            (before,) = whole(ours.inputs, rows[0])
            (now,) = part(theirs.inputs, rows[1])
            old, new = before.log_prob(ours.targets, blur), now.log_prob(theirs.targets, self.blur)
            gains.append(_summed({c: new[c] - old[c][..., chosen[c]] for c in chosen}))
            known.append(_summed({c: theirs.targets.known[c].double() for c in chosen}))
        return gains_of_clusters(torch.cat(gains), torch.cat(known), self.held_out.cluster[:4096])

    # ---------------------------------------------------------------- searching

    def trim(self, tell: Tell) -> Structure:
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
                tell(number * ROUND_STEPS + i + 1, TRIM_ROUNDS * ROUND_STEPS, loss)
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

    def search(self, tell: Tell) -> Outcome | None:
        """Learn around an estimate that begins with everything, and discover, until it settles.

        None if no target is surely predicted better in the end than before.
        """
        method, estimate, unchanged = self.method, self.trim(tell), 0
        discovery: Discovery | None = None
        total = ROUNDS * ROUND_STEPS
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
                tell(done + 1, total, loss)
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

    def _confirmed(self, found: Discovery, tell: Tell) -> Discovery:
        """What is found once doubtful edges have been learned both ways."""

        def step(rows: np.ndarray, share: float) -> None:
            tell(0, 1, self._step(rows, 0.5 * ROUND_RATE * falling(share)))

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


def _summed(by_class: dict[str, Tensor]) -> Tensor:
    """Over the objects of each transition, targets of all classes side by side."""
    return torch.cat([each.sum(1).double().cpu() for each in by_class.values()], dim=1)
