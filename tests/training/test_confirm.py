"""Learning doubtful edges both ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from oocdm import Oocdm, Schedule, fit
from oocdm.data.dataset import Dataset
from oocdm.discovery import Discovery, look
from oocdm.graph import Structure
from oocdm.methods.method import Inquiry, Term
from oocdm.schema import ObjectClass, Real, Schema
from oocdm.training import Trainer, confirm, trainer
from oocdm.training.confirm import AT_ONCE, DOUBTFUL, Confirmation


class Ball(ObjectClass):
    cause = Real()
    decoy = Real()
    moved = Real()


CAUSE, DECOY = "Ball.moved <- self.cause", "Ball.moved <- self.decoy"
METHOD = Oocdm(schedule=Schedule(iterations=2, steps_per_iteration=20, batch_size=128))


def balls(num_episodes: int = 160, steps: int = 16) -> Dataset:
    """One ball that is moved by a cause; a decoy is nearly the same number and does nothing."""
    rng = np.random.default_rng(0)
    cause, moved, rows = rng.standard_normal(num_episodes), rng.standard_normal(num_episodes), []
    for step in range(steps):
        decoy = cause + 0.3 * rng.standard_normal(num_episodes)
        rows.append(
            {"episode": range(num_episodes), "step": step, "object": 0}
            | {"cause": cause, "decoy": decoy, "moved": moved}
        )
        moved = 0.5 * moved + cause + 0.3 * rng.standard_normal(num_episodes)
        cause = 0.7 * cause + 0.7 * rng.standard_normal(num_episodes)
    return Dataset.from_frames({"Ball": pd.concat(map(pd.DataFrame, rows))}, Schema(Ball))


class Learning:
    """A model, and how it learns under some structures."""

    def __init__(self) -> None:
        self.built = Trainer(balls(), METHOD, seed=0)
        self.model, self.layout = self.built.model, self.built.model.layout
        self.rng, self.asked = np.random.default_rng(0), list[np.ndarray]()
        self.optimiser = torch.optim.Adam(self.model.parameters())

    def step(self, rows: np.ndarray, share: float) -> None:
        """Learn one step."""
        self.asked.append(rows)
        terms = [Term(1.0, rows)]
        size = self.built.material.batch_size(terms, 128)
        chosen = self.rng.integers(len(self.built.training), size=size)
        batch = self.built.material.batch(chosen, terms, self.model.resolution(0.1), self.rng)
        self.model.zero_grad()
        batch.backward(size)
        for group in self.optimiser.param_groups:
            group["lr"] = 3e-3 * confirm.falling(share)
        self.optimiser.step()

    def look(self, structure: Structure) -> Discovery:
        """What the model says of all edges, whatever it has learned."""
        inquiry = Inquiry(self.model, self.built.held_out, structure, self.built.free)
        return look(self.model, structure, METHOD.search(inquiry))

    def confirmation(self, is_late: Callable[[], bool] = lambda: False) -> Confirmation:
        """To learn on."""
        free, held_out = self.built.free, self.built.held_out
        return Confirmation(METHOD, self.model, held_out, free, None, self.step, is_late)


@pytest.fixture(scope="module")
def relying() -> Learning:
    """A network that has always had all inputs."""
    learning = Learning()
    full = learning.layout.structure(True) - learning.layout.ways(("pairs", "products"))
    for _ in range(400):
        learning.step(full.flags[None], 0.5)
    return learning


def test_a_network_that_relies_on_a_decoy_learns_to_do_without(relying: Learning) -> None:
    full = relying.layout.structure(True) - relying.layout.ways(("pairs", "products"))
    before = relying.look(full)
    assert before.evidence[DECOY].decision == "yes"  # it would be claimed
    relying.asked.clear()
    after = relying.confirmation().run(before)
    assert after.evidence[CAUSE].decision == "yes" and after.evidence[CAUSE].score > 0.1
    assert after.evidence[DECOY].decision == "no"
    assert DECOY not in after.structure.names
    assert 0 < len(relying.asked) <= confirm.ROUNDS * confirm.STEPS
    first = relying.asked[0]
    assert np.array_equal(first[0], full.flags) and len(first) == 1 + AT_ONCE
    for columns in relying.layout.by_target:  # at most one element of each target is turned
        assert ((first[1:] != first[0])[:, columns].sum(1) <= 1).all()


def test_an_edge_must_add_more_than_its_gain_still_moves_by(relying: Learning) -> None:
    found = relying.look(relying.layout.structure(True) - relying.layout.ways(("pairs",)))
    search = METHOD.search(
        Inquiry(relying.model, relying.built.held_out, found.structure, relying.built.free)
    )
    moved = np.zeros(relying.layout.num_edges)
    place = relying.layout.edges.names.index(CAUSE)
    moved[place] = found.evidence[CAUSE].score
    still = look(relying.model, found.structure, confirm._within(search, moved)).evidence
    assert still[CAUSE].decision != "yes"
    assert still[CAUSE].limit == pytest.approx(2 * moved[place])
    assert still["Ball.moved <- self.moved"].decision == "yes"


def test_what_adds_much_and_what_is_out_for_sure_is_not_asked_about(relying: Learning) -> None:
    found = relying.look(relying.layout.structure(True) - relying.layout.ways(("pairs",)))
    urgency = relying.confirmation()._urgency(found)
    assert urgency[relying.layout.num_edges :].sum() == 0  # paths are not edges
    for i, each in enumerate(found.evidence.rows()):
        if each["decision"] == "yes" and each["score"] > DOUBTFUL:
            assert urgency[i] == 0
    out = found.structure.with_edges(False)
    urgency = relying.confirmation()._urgency(replace(found, structure=out))
    is_open = found.evidence.decision == "undecided"
    assert not urgency[: relying.layout.num_edges][~is_open].any()


def test_it_ends_when_time_is_over(relying: Learning) -> None:
    found = relying.look(relying.layout.structure(True) - relying.layout.ways(("pairs",)))
    relying.asked.clear()
    cut = relying.confirmation(lambda: len(relying.asked) >= 3).run(found)
    assert len(relying.asked) == 3
    assert cut is found  # so little learning tells nothing


def test_a_fit_confirms_what_it_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer, "LEAST_LEARNED", 40)
    monkeypatch.setattr(confirm, "STEPS", 5)
    schedule = replace(METHOD.schedule, polish_steps=4, copies=0)
    phases = [row["phase"] for row in fit(balls(20), replace(METHOD, schedule=schedule)).history]
    assert phases == ["learn", "learn", "confirm", "focus", "polish"]
    monkeypatch.setattr(trainer, "LEAST_LEARNED", 41)  # too little was learned to tell
    phases = [row["phase"] for row in fit(balls(20), replace(METHOD, schedule=schedule)).history]
    assert phases == ["learn", "learn", "polish"]
