"""The training loop: optimise, discover, repeat; then polish the discovered structure."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from oocdm.data.dataset import Dataset
from oocdm.discovery import Discovery
from oocdm.errors import DataError, ModelError
from oocdm.graph import Evidence, Graph, Priors, Structure
from oocdm.methods import Oocdm
from oocdm.methods.method import AbstractMethod, DataInquiry, Inquiry, LearningState, Term
from oocdm.models.allocator import (
    Ceiling,
    keep_freed_memory,
    release_freed_memory,
    resident_memory,
)
from oocdm.models.copies import Copies
from oocdm.models.memory import DEFAULT_MEMORY
from oocdm.models.oocdm.excerpt import merged, places_of, put_back
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.prepared import Prepared
from oocdm.models.world_model import AbstractWorldModel
from oocdm.training import confirm
from oocdm.training.calibrated_sigma import calibrate_sigma
from oocdm.training.clock import Clock
from oocdm.training.confirm import Confirmation, falling
from oocdm.training.copies import BATCH_SHARE, learn_copy, steps_of_copy
from oocdm.training.focus import MOST_OBJECTS, Focus
from oocdm.training.given import keep_given, with_given
from oocdm.training.likelihoods import choose_likelihoods
from oocdm.training.material import Material
from oocdm.training.optimiser import make_optimiser
from oocdm.training.plan import Plan, make_plan, rows_at_once
from oocdm.training.position import AFTER_LEARNING, Callback, Position, Progress
from oocdm.training.settling import most_iterations

logger = logging.getLogger(__name__)

CONTESTED = (0.005, 0.6)  # nats, of either sign, that may be an artefact of training
LEAST_LEARNED = 500  # steps of learning, before which nobody can tell what is hard to learn
FOCUS_SHARE = 0.3  # of limited time that learning single targets alone may take
CONFIRM_SHARE = 0.1  # of it that learning doubtful edges both ways may take
FIRST_DISCOVERY_SHARE = 0.5  # of limited time that discovery before any training may take
POLISH_ROUND = 500  # steps of polishing between checkpoints
LONGEST = 10.0  # learning rates that a weight may move in one step


class Trainer:
    """Trains one method on one dataset; `run` goes on from wherever the position says."""

    def __init__(
        self,
        data: Dataset,
        method: AbstractMethod,
        seed: int,
        known: Graph | None = None,
        device: str = "cpu",
        priors: Priors | None = None,
        memory: int = DEFAULT_MEMORY,
    ) -> None:
        if len(data) == 0:
            raise DataError("fit: the dataset holds no transition.")
        method.check_data(data)
        keep_freed_memory()
        resident = resident_memory()
        self.method, self.schedule, self.seed = method, method.schedule, seed
        self.memory = memory
        self.rng = np.random.default_rng(seed)
        self.material = Material(data, method, seed, device, memory)
        self.model = self.material.model
        edges = self.model.edges
        self.constants = data.constants
        self.testable = edges.testable(data.max_counts, self.constants)
        known_mask = None if known is None else edges.mask(known)
        start, free = method.start(self.model.layout, known_mask, self.testable)
        known_edges = Priors.none(data.schema) if priors is None else priors
        method.check_priors(known_edges)
        self.priors = known_edges.over(edges)
        is_given = self.priors.required | self.priors.forbidden
        self.free = free.with_edges(free.edges & ~is_given)
        # The network when the graph was decided: polishing fits it to that graph alone.
        self.learned = self.model
        self.copies: list[AbstractWorldModel] = []
        self.optimiser = self._new_optimiser()
        self.position = Position(start.with_edges(self.priors.apply(start.edges)))
        self._planned = self.position.structure | self.free
        budget = self.material.standing.budget(memory, self.schedule.targets_per_class)
        self.material.read(self._planned, budget)
        self.plan = self._make_plan()
        self.material.stay_below(Ceiling.above(resident, self.plan.estimate.total))
        release_freed_memory()
        logger.info("%s", self.plan.estimate)

    def _make_plan(self) -> Plan:
        """How much of each phase is done at once, measured on a little of each.

        Structures are the largest that a phase may see: those that it will see later are unknown.
        """
        estimate, none = self.position.structure, self.model.layout.structure(False, False)
        rng = np.random.default_rng(self.seed)
        now = LearningState(self.model, estimate, self.free, none, iteration=0)
        learned = self.method.objective(now, rng)
        polished = [Term(1.0, self._planned.flags[None])]
        material, s = self.material, self.schedule
        is_focused = self.free.any() and self._focuses
        with torch.random.fork_rng(devices=[]):
            return make_plan(
                material.standing,
                material.prepared,
                material.largest_batch(learned, s.batch_size),
                material.largest_batch(polished, s.polish_batch_size) if s.polish_steps else None,
                self.held_out if _discovers(self.method) and self.free.any() else None,
                self.memory,
                self._focus(rng, Clock(0.0, None)).fit() if is_focused else None,
            )

    def _focus(self, rng: np.random.Generator, clock: Clock) -> Focus:
        """What learning single targets alone starts from."""
        assert isinstance(self.model, OocdmModel)  # the methods that focus have them
        weights = self.priors.weights(self.free.edges)
        return Focus(
            *(self.model, self.method, self.position.structure, self.free, weights),
            *(self.training, self.training_data, self.held_out, *self.material.held_out_data),
            *(rng, clock),
        )

    @property
    def training(self) -> Prepared:
        """The transitions that are learned from."""
        return self.material.training

    @property
    def training_data(self) -> Dataset:
        """The dataset that these are of."""
        return self.material.training_data

    @property
    def held_out(self) -> Prepared:
        """The transitions that learning is judged on."""
        return self.material.held_out

    def follow_estimate(self) -> None:
        """Prepare the data again, and divide polishing anew, for what was not reckoned with.

        What is done depends on the position alone, so that a run goes on to the bit.
        """
        position = self.position
        self.material.read_again(position.structure | self.free)
        if position.phase in AFTER_LEARNING and (position.structure - self._planned).any():
            self.model.zero_grad(set_to_none=True)
            terms = [Term(1.0, position.structure.flags[None])]
            batch = self.material.largest_batch(terms, self.schedule.polish_batch_size)
            self.plan = replace(self.plan, polishing=rows_at_once(batch, self.model))

    def _new_optimiser(self) -> torch.optim.Optimizer:
        return make_optimiser(self.schedule.optimiser, self.model.parameter_groups())

    @property
    def graph(self) -> Graph:
        """The graph that is claimed: edges that were decided or given."""
        return self.evidence.graph

    @property
    def prediction_graph(self) -> Graph:
        """The current estimate; once the graph is decided, with what is kept to predict."""
        return self.position.structure.graph

    @property
    def has_settled(self) -> bool:
        """Whether the decisions would stay as they are if learning went on, as far as it shows."""
        position = self.position
        if _discovers(self.method) and self.free.edges.any():
            return position.unchanged >= self.schedule.patience
        return not any(row["ran_out"] for row in position.history if row["phase"] == "discover")

    @property
    def evidence(self) -> Evidence:
        """What the data say about each edge, at the last discovery."""
        position, edges, free = self.position, self.model.edges, self.free
        none = np.zeros(len(edges), dtype=bool)
        evidence = position.evidence
        if evidence is None:
            if position.phase in AFTER_LEARNING:
                free = free.with_edges(False)  # nothing is open any more: the method took them all
            evidence = Evidence.of_test(edges, free.edges, none, none)
        # The first iteration has no estimate to learn around: its graph is preliminary.
        later = np.array(position.found[1:])
        if len(later) > 1:  # a single look agrees with itself, which says nothing
            agreement = (later == position.structure.edges).mean(0)
            stability = np.where(evidence.is_decided, agreement, np.nan)
            evidence = replace(evidence, stability=stability)
        return with_given(evidence, position.structure, free, self.testable)

    def run(
        self,
        callback: Callback | None = None,
        checkpoint: Callable[[], None] | None = None,
        max_seconds: float | None = None,
    ) -> None:
        """Train to the end, calling back after every step and checkpointing after every round."""
        rounds = {
            "discover": self._discover_round,
            "learn": self._learn_round,
            "confirm": self._confirm_round,
            "focus": self._focus_round,
            "polish": self._polish_round,
            "copy": self._copy_round,
        }
        clock = Clock(self.position.seconds, max_seconds)
        while self.position.phase != "done":
            phase = self.position.phase
            began = self.position.began.setdefault(phase, clock.elapsed)
            clock.start(began, self._share_of(phase))
            rounds[phase](callback, clock)
            self.position.seconds = clock.elapsed
            if not self.position.history:
                continue  # the method finds nothing before it learns
            self.position.history[-1]["seconds"] = self.position.seconds
            logger.info("%s", self.position.history[-1])
            self.position.rng = dict(self.rng.bit_generator.state)
            if checkpoint is not None:
                checkpoint()
        # Who has them may ask them about anything.
        for model in (self.model, self.learned, *self.copies):
            if isinstance(model, OocdmModel):
                model.idle = frozenset()

    def _share_of(self, phase: str) -> float:
        """The part of the time that is left, if it is limited, that a phase may take."""
        s = self.schedule
        learning = s.planned_steps * s.batch_size
        share = learning / (learning + s.polish_steps * s.polish_batch_size)
        shares = {"learn": share}
        if self._focuses:
            shares = {"learn": (1 - FOCUS_SHARE) * share, "focus": FOCUS_SHARE}
        if self._confirms:
            shares |= {"learn": shares["learn"] * (1 - CONFIRM_SHARE), "confirm": CONFIRM_SHARE}
        if copied := s.copies * steps_of_copy(s) / BATCH_SHARE:
            shares["polish"] = s.polish_steps / (s.polish_steps + copied)
        return shares.get(phase, 1.0)

    @property
    def _focuses(self) -> bool:
        """Whether single targets may be learned alone; else no time and memory is kept for it."""
        is_small = max(self.training_data.max_counts.values()) <= MOST_OBJECTS
        return self.method.focuses and is_small and self._is_judged

    @property
    def _confirms(self) -> bool:
        """Whether doubtful edges are learned both ways: where any edges are decided."""
        return self.method.confirms and self._is_judged and bool(self.free.edges.any())

    @property
    def _is_judged(self) -> bool:
        """Whether enough learning is planned to tell what is hard to learn, on other episodes."""
        return self.schedule.planned_steps >= LEAST_LEARNED and self.material.has_held_out

    # ---------------------------------------------------------------- the phases

    def _discover_round(self, callback: Callback | None, clock: Clock) -> None:
        """What the method can find before it has a model."""

        def on_settled(done: int, total: int) -> None:
            if callback is not None:
                callback(Progress("discover", done, total, {}))

        free = self.free.edges
        limit = None if clock.max_seconds is None else FIRST_DISCOVERY_SHARE * clock.max_seconds
        inquiry = DataInquiry(
            self.training_data, self.free, self.seed, self.priors.weights(free), on_settled, limit
        )
        found = self.method.discover_first(inquiry) if free.any() else None
        if found is not None:
            who = f"Method `{self.method.name}`: `discover_first`"
            self.position.take(
                keep_given(who, found, self.position.structure, self.free, self.testable)
            )
            self.position.record(int(free.sum()), [], found.is_cut)
        self.position.begin("learn")

    def _learn_round(self, callback: Callback | None, clock: Clock) -> None:
        s, position = self.schedule, self.position
        num_edges, is_timed = int(self.free.edges.sum()), clock.max_seconds is not None
        most = most_iterations(self.method, num_edges, is_timed) * s.steps_per_iteration
        done, total = position.rounds * s.steps_per_iteration, s.planned_steps
        shown = total if done < total else int(min(most, done + s.steps_per_iteration))
        estimate = position.structure
        now = LearningState(self.model, estimate, self.free, self._contested(), position.rounds)
        blur = self.model.resolution(s.resolution) if s.resolution else None
        before, losses = self.model.copy(), []
        for i in range(s.steps_per_iteration):
            share = min(max((done + i) / total, clock.share), 1.0)
            rate = s.learning_rate + (s.final_learning_rate - s.learning_rate) * share
            rate *= self._warmth(done + i + 1, total)
            at = replace(now, share=share)
            terms = self.method.objective(at, self.rng)
            losses.append(self._step(terms, rate, blur, self.method.penalty(at)))
            _report(callback, "learn", done + i + 1, shown, losses[-1])
            if clock.share >= 1:
                break
        position.rounds += 1
        weights = self.priors.weights(self.free.edges)
        discovery = self._discover(estimate, self.free, weights, before)
        if discovery is not None:
            self.position.take(discovery)
        is_settled = discovery is not None and position.unchanged >= s.patience
        is_over = done + len(losses) >= most or is_settled
        is_late = clock.share >= 1 and not is_over
        self.position.record(done + len(losses), losses, is_late)
        if is_over or is_late:
            is_learned = done + len(losses) >= LEAST_LEARNED
            if is_learned and self._confirms:
                position.begin("confirm")
            elif is_learned and self._focuses:
                position.begin("focus")
            else:
                self._finish_learning()

    def _confirm_round(self, callback: Callback | None, clock: Clock) -> None:
        """Learn doubtful edges both ways, and judge them once more."""
        assert isinstance(self.method, Oocdm)  # the methods that confirm
        s, position, losses = self.schedule, self.position, []
        assert position.evidence is not None  # as they have discovered
        total = confirm.ROUNDS * confirm.STEPS
        blur = self.model.resolution(s.resolution) if s.resolution else None

        def step(rows: np.ndarray, share: float) -> None:
            rate = 0.5 * s.learning_rate * falling(share)
            losses.append(self._step([Term(1.0, rows)], rate, blur))
            _report(callback, "confirm", len(losses), total, losses[-1])

        weights = self.priors.weights(self.free.edges)
        found = Confirmation(
            *(self.method, self.model, self.held_out, self.free, weights, step),
            is_late=lambda: clock.share >= 1,
        ).run(Discovery(position.structure, position.evidence))
        position.structure, position.evidence = found.structure, found.evidence
        position.found.append(found.structure.edges)
        position.record(len(losses), losses, clock.share >= 1)
        if self._focuses:
            position.begin("focus")
        else:
            self._finish_learning()

    def _focus_round(self, callback: Callback | None, clock: Clock) -> None:
        """Learn alone what a richer network predicts better."""
        assert isinstance(self.model, OocdmModel)
        position, losses = self.position, []

        def tell(done: int, total: int, loss: float) -> None:
            losses.append(loss)
            _report(callback, "focus", done, total, loss)

        outcomes = self._focus(self.rng, clock).run(tell)
        for outcome in outcomes:
            put_back(self.model, outcome.part)
            position.structure = merged(position.structure, outcome.structure)
            if outcome.discovery is not None and position.evidence is not None:
                places = places_of(outcome.part.layout, self.model.layout)
                of_edges = places[: outcome.part.layout.num_edges]
                position.evidence = position.evidence.replaced(of_edges, outcome.discovery.evidence)
                position.unchanged *= outcome.has_settled
        if outcomes:
            position.found.append(position.structure.edges)
        self.follow_estimate()
        self.position.record(len(losses), losses, clock.share >= 1)
        self._finish_learning()

    def _discover(
        self,
        estimate: Structure,
        free: Structure,
        weights: np.ndarray | None = None,
        before: AbstractWorldModel | None = None,
    ) -> Discovery | None:
        """What the method finds among what is free; None if it does not discover."""
        inquiry = Inquiry(self.model, self.held_out, estimate, free, weights, before=before)
        release_freed_memory()
        found = self.method.discover(inquiry) if free.any() else None
        release_freed_memory()
        if found is None:
            return None
        who = f"Method `{self.method.name}`: `discover`"
        return keep_given(who, found, estimate, free, self.testable)

    def _contested(self) -> Structure:
        """Edges that the last discovery found neither strong nor useless."""
        contested: np.ndarray | bool = False
        if self.position.evidence is not None:
            (low, high), size = CONTESTED, np.abs(self.position.evidence.score)
            contested = (low < size) & (size < high)  # not where it is NaN
        return self.model.layout.structure(contested, paths=False)

    def _finish_learning(self) -> None:
        structure, position = self.position.structure, self.position
        if position.evidence is not None:
            structure = self._plausible(structure, self.evidence)
        judged = self._discover(structure, self.free.with_edges(False))
        position.structure = structure if judged is None else judged.structure
        self.model.paths.copy_(torch.tensor(position.structure.paths))
        self.learned = self.model.copy()
        if self.schedule.polish_steps:  # which fits what is chosen
            blur = self.model.resolution(self.schedule.resolution)
            choose_likelihoods(self.model, position.structure, self.held_out, blur)
        position.begin("polish" if self.schedule.polish_steps else "done")
        self.optimiser = self._new_optimiser()
        self.follow_estimate()

    def _plausible(self, structure: Structure, evidence: Evidence) -> Structure:
        """What is claimed, and those open edges of the estimate that the predictor keeps.

        Edges that were only there for trial go, and on data that it learned from every edge helps.
        """
        claimed = structure.with_edges(structure.edges & evidence.is_in)
        is_open = structure.edges & self.free.edges & (evidence.decision == "undecided")
        if not (self.material.has_held_out and is_open.any()):
            return claimed
        undecided = self.model.layout.structure(is_open, paths=False)
        inquiry = Inquiry(self.model, self.held_out, claimed | undecided, undecided)
        release_freed_memory()
        kept = self.method.keep_plausible(inquiry)
        release_freed_memory()
        return claimed | (kept & undecided)

    def _polish_round(self, callback: Callback | None, clock: Clock) -> None:
        s, position = self.schedule, self.position
        total = s.polish_steps
        done = position.rounds * POLISH_ROUND
        terms = [Term(1.0, position.structure.flags[None])]
        losses = []
        for i in range(min(POLISH_ROUND, total - done)):
            share = max((done + i) / total, clock.share)
            rate = s.learning_rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * share)))
            rate *= self._warmth(done + i + 1, total)
            losses.append(self._step(terms, rate, self._polish_blur(share)))
            _report(callback, "polish", done + i + 1, total, losses[-1])
            if clock.share >= 1:
                break
        position.rounds += 1
        is_over = done + len(losses) >= total
        is_late = clock.share >= 1 and not is_over
        self.position.record(done + len(losses), losses, is_late)
        if is_over or is_late:
            calibrate_sigma(self.model, self.prediction_graph, self.held_out, s.final_resolution)
            position.begin("copy" if steps_of_copy(s) else "done")

    def _copy_round(self, callback: Callback | None, clock: Clock) -> None:
        """Learn a copy of the polished model."""
        s, position, losses = self.schedule, self.position, []
        steps = steps_of_copy(s)
        before = position.rounds * steps

        def tell(done: int, loss: float) -> None:
            losses.append(loss)
            _report(callback, "copy", before + done, s.copies * steps, loss)

        args = (self.model, position.structure, self.training, s, self.plan.polishing)
        self.copies.append(learn_copy(*args, self.rng, clock, tell))
        position.rounds += 1
        is_over = position.rounds >= s.copies
        is_late = clock.share >= 1 and not is_over
        self.position.record(before + len(losses), losses, is_late)
        if is_over or is_late:
            position.begin("done")

    @property
    def doubts(self) -> Copies | None:
        """The copies, with what is usual of them; None if there are none."""
        if not self.copies:
            return None
        structures = self.model.structures(self.position.structure)
        return Copies.measured(self.model, self.copies, structures, self.held_out)

    def _warmth(self, step: int, total: int) -> float:
        """How large a step may be: a new optimiser knows too little of the gradients for full ones.

        Nor does a new network predict what it is unsure of: its first errors are enormous.
        """
        return min(step / max(min(self.schedule.warm_up, total // 20), 1), 1.0)

    def _polish_blur(self, share: float) -> dict[str, Tensor] | None:
        """The blur shrinks geometrically and is at its end for the last fifth of the steps."""
        s = self.schedule
        if not s.resolution:
            return None
        fraction = s.resolution * (s.final_resolution / s.resolution) ** min(1, 1.25 * share)
        return self.model.resolution(fraction)

    # ---------------------------------------------------------------- one step

    def _step(
        self,
        terms: list[Term],
        learning_rate: float,
        blur: dict[str, Tensor] | None,
        penalty: Tensor | None = None,
    ) -> float:
        is_polish = self.position.phase == "polish"
        s, material = self.schedule, self.material
        size = material.batch_size(terms, s.polish_batch_size if is_polish else s.batch_size)
        rows = self.rng.integers(len(self.training), size=size)
        batch = material.batch(rows, terms, blur, self.rng)
        self.model.zero_grad(set_to_none=True)
        at_once = self.plan.polishing if is_polish else self.plan.learning
        loss = batch.backward(at_once, penalty)
        norm = torch.nn.utils.clip_grad_norm_(
            self.model.parameters(), self.schedule.max_gradient_norm
        )
        if not norm.isfinite():
            raise ModelError(
                f"Training diverged: the loss is {float(loss):.3g} and its gradient is "
                "not finite. Lower the schedule's learning_rate, or look for extreme values in "
                "the data."
            )
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate
            group["longest"] = LONGEST
        self.optimiser.step()
        return float(loss)


def _discovers(method: AbstractMethod) -> bool:
    """Whether a method asks its model about edges."""
    return type(method).discover is not AbstractMethod.discover


def _report(callback: Callback | None, phase: str, step: int, total: int, loss: float) -> None:
    if callback is not None:
        callback(Progress(phase, step, total, {"loss": loss}))
