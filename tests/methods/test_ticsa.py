"""TICSA: the price of edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import oocdm
from oocdm.graph import Structure
from oocdm.methods import make_method
from oocdm.methods.method import Inquiry, LearningState
from oocdm.methods.ticsa import TicsaModel
from oocdm.models.scales import Scales
from tests.methods.toys import (
    DATA,
    QUICK,
    SCHEMA,
    TRUE,
    built,
)


def test_edges_that_ticsa_was_given_cost_nothing_and_are_not_judged() -> None:
    known = oocdm.fit(DATA, "ticsa", graph=TRUE, schedule=QUICK)
    first = built("ticsa")
    assert isinstance(known.model, TicsaModel) and isinstance(first, TicsaModel)
    assert torch.equal(known.model.logits, first.logits)
    partly = oocdm.fit(DATA, "ticsa", priors=["Ball.x <- !Lamp[*].heat"], schedule=QUICK)
    assert isinstance(partly.model, TicsaModel)
    stayed = (partly.model.logits == first.logits).tolist()
    assert [
        name for name, same in zip(partly.evidence.edges.names, stayed, strict=True) if same
    ] == [f"Ball[{i}].x <- Lamp[0].heat" for i in range(2)]


@pytest.mark.parametrize("num", [1, 2, 5])
def test_the_price_of_ticsa_is_that_of_one_nat_an_output(num: int) -> None:
    """Likelihoods are means over the objects of a class, and so must prices be."""
    method = make_method("ticsa")
    counts = {"Ball": num, "Lamp": 2}
    model = method.build(SCHEMA, Scales.unit(SCHEMA), counts)
    assert isinstance(model, TicsaModel)
    model.logits.data.fill_(-1e3)
    into = np.array([name.startswith("Ball[0].x <-") for name in model.edges.names])
    model.logits.data[torch.as_tensor(into)] = 1e3
    everything = model.layout.structure(True)
    price = method.penalty(LearningState(model, everything, everything, everything, 0))
    assert price is not None
    # One nat for one ball of all is this much of the mean over balls.
    assert float(price.detach()) == pytest.approx(1 / num)


def test_relaxed_edges_where_free_and_the_estimate_elsewhere() -> None:
    method, model = make_method("ticsa", schedule=QUICK), built("ticsa")
    layout, rng = model.layout, np.random.default_rng(0)
    estimate, free = (Structure(layout, rng.random(len(layout)) < 0.5) for _ in range(2))
    now = LearningState(model, estimate, free, layout.structure(False), 0)
    (term,) = method.objective(now, rng)
    assert isinstance(term.structures, torch.Tensor) and term.weight == 1.0
    drawn = term.structures.detach().numpy()
    assert drawn.shape == (QUICK.batch_size, len(layout))
    assert (drawn[:, ~free.flags] == estimate.flags[~free.flags]).all()
    relaxed = drawn[:, free.flags]
    assert ((relaxed > 0) & (relaxed < 1)).all() and relaxed.mean() > 0.5  # rather there at first
    (late,) = method.objective(replace(now, share=1.0), rng)
    assert isinstance(late.structures, torch.Tensor)
    colder = late.structures.detach().numpy()[:, free.flags]
    assert np.abs(colder - 0.5).mean() > np.abs(relaxed - 0.5).mean() + 0.1


def test_edges_are_those_more_probable_than_not_among_the_free() -> None:
    method, model = make_method("ticsa"), built("ticsa")
    assert isinstance(model, TicsaModel)
    layout, rng = model.layout, np.random.default_rng(1)
    model.logits.data = torch.as_tensor(rng.normal(size=len(layout)), dtype=torch.float32)
    likely = layout.structure((model.logits > 0).numpy())
    estimate, free = (Structure(layout, rng.random(len(layout)) < 0.5) for _ in range(2))
    found = method.discover(Inquiry(model, None, estimate, free))  # type: ignore[arg-type]
    assert found is not None and found.structure == likely.where(free, estimate)
    assert found.graph == (likely & free).graph
    np.testing.assert_allclose(
        found.evidence.score[free.edges],
        model.logits.sigmoid().detach().numpy()[free.edges],
        rtol=1e-6,
    )
    assert method.discover(Inquiry(model, None, estimate, layout.structure(False))) is None  # type: ignore[arg-type]
