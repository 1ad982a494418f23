"""Learning copies of a polished model, each a little further and from other episodes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

from oocdm.graph import Structure
from oocdm.methods.method import Schedule, Term
from oocdm.models.prepared import Prepared, Receivers
from oocdm.models.world_model import AbstractWorldModel
from oocdm.training.batch import Batch
from oocdm.training.clock import Clock
from oocdm.training.optimiser import make_optimiser

STEPS, SHARE = 100, 5  # of learning a copy, at most, and no more than a fifth of those of polishing
BATCH_SHARE = 2  # half as many transitions as in polishing
RATE = 4.0  # of the schedule's learning rate: copies must get away from each other
LEAST_RATE, WARM_UP = 0.05, 50

Tell = Callable[[int, float], None]  # steps done, and the loss


def steps_of_copy(schedule: Schedule) -> int:
    """For how many steps each copy is learned; 0 if there is none.

    >>> steps_of_copy(Schedule()), steps_of_copy(Schedule(polish_steps=200))
    (100, 40)
    >>> steps_of_copy(Schedule(copies=0))
    0
    """
    return min(STEPS, schedule.polish_steps // SHARE) if schedule.copies else 0


def learn_copy(
    model: AbstractWorldModel,
    structure: Structure,
    data: Prepared,
    schedule: Schedule,
    at_once: int,
    rng: np.random.Generator,
    clock: Clock,
    tell: Tell,
) -> AbstractWorldModel:
    """A copy of a model that learned on from episodes drawn with replacement, and fast."""
    copy, steps = model.copy(), steps_of_copy(schedule)
    for c in copy.schema.classes:  # what was calibrated would hide errors from learning
        copy.heads[c].calibrated_sigma.zero_()
        copy.heads[c].calibrated_share.fill_(1.0)
    optimiser = make_optimiser("adam", copy.parameter_groups())
    blur = None
    if schedule.resolution:
        blur = copy.resolution(math.sqrt(schedule.resolution * schedule.final_resolution))
    chances = _drawn_episodes(data, rng)
    size = min(-(-schedule.polish_batch_size // BATCH_SHARE), len(data))
    terms = [Term(1.0, structure.flags[None])]
    for i in range(steps):
        falling = 0.5 * (1 + math.cos(math.pi * max(i / steps, clock.share)))
        rate = RATE * schedule.learning_rate * (LEAST_RATE + (1 - LEAST_RATE) * falling)
        some = data.rows(torch.as_tensor(rng.choice(len(data), size=size, p=chances)))
        copy.zero_grad(set_to_none=True)
        batch = Batch(copy, some, terms, Receivers.draw(copy, some, rng), blur)
        loss = batch.backward(at_once)
        torch.nn.utils.clip_grad_norm_(copy.parameters(), schedule.max_gradient_norm)
        for group in optimiser.param_groups:
            group["lr"] = rate * min((i + 1) / WARM_UP, 1.0) * group.get("boost", 1.0)
        optimiser.step()
        tell(i + 1, float(loss))
        if clock.share >= 1:
            break
    copy.zero_grad(set_to_none=True)
    return copy


def _drawn_episodes(data: Prepared, rng: np.random.Generator) -> np.ndarray:
    """How likely each transition is drawn, if episodes are drawn with replacement first."""
    _, episode = np.unique(data.cluster.cpu().numpy(), return_inverse=True)
    times = rng.poisson(1.0, size=int(episode.max()) + 1)
    weights = times[episode] if times.any() else np.ones(len(episode))
    return np.asarray(weights / weights.sum())
