"""What is held out, what is read, and how batches are made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oocdm import ModelError, Schedule
from oocdm.methods.method import Term
from oocdm.models.memory import DEFAULT_MEMORY
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.parts.pairs import Pairs
from oocdm.models.prepared import Budget
from oocdm.training.material import Material
from tests.training.toys import DATA, METHODS

WITH_PAIRS = replace(METHODS["oocdm"], model=replace(METHODS["oocdm"].model, pair_hidden=4))


def material(method=WITH_PAIRS, device: str = "cpu") -> Material:
    return Material(DATA, method, 3, device, DEFAULT_MEMORY)


def test_episodes_are_either_learned_from_or_held_out() -> None:
    made = material()
    ours, theirs = made.training_data, made.held_out_data[0]
    assert made.has_held_out
    assert {*ours.episode_ids, *theirs.episode_ids} == set(DATA.episode_ids)
    assert not set(ours.episode_ids) & set(theirs.episode_ids)
    assert sorted(made.held_out_data[1]) == list(range(len(theirs)))


def test_without_held_out_episodes_all_serve_for_both() -> None:
    schedule = replace(METHODS["oocdm"].schedule, held_out=0.0)
    made = material(replace(WITH_PAIRS, schedule=schedule))
    made.read(made.model.layout.structure(True), Budget())
    assert not made.has_held_out and made.held_out is made.training
    assert len(made.prepared) == 1 and len(made.training) == len(DATA)


def test_what_no_structure_uses_is_not_read() -> None:
    made = material()
    assert isinstance(made.model, OocdmModel)
    everything = made.model.layout.structure(True)
    without = everything - made.model.layout.ways((Pairs.name,))
    made.read(without, Budget())
    assert made.model.idle == {Pairs.name}
    assert not any(Pairs.name in key for key in made.training.inputs.extra)
    before = made.training
    made.read_again(without)
    assert made.training is before
    made.read_again(everything)
    assert made.model.idle == frozenset()
    assert any(Pairs.name in key for key in made.training.inputs.extra)


@pytest.mark.parametrize(("num", "size"), [(8, 32), (5, 30), (40, 40)])
def test_structures_share_a_batch_evenly(num: int, size: int) -> None:
    made = material()
    structure = made.model.layout.structure(True)
    made.read(structure, Budget())
    terms = [Term(1.0, np.repeat(structure.flags[None], num, axis=0))]
    assert made.batch_size(terms, 32) == size
    assert len(made.largest_batch(terms, 32)) == size


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(ModelError, match="fit: `device`: expected one that torch can use here"):
        material(device="abacus")


def test_copies_are_counted_in_what_stays() -> None:
    schedule = Schedule(1, 1, 100)
    weights = [
        material(replace(WITH_PAIRS, schedule=replace(schedule, copies=n))).standing.weights
        for n in (0, 4)
    ]
    assert weights[1] == 3 * weights[0]
