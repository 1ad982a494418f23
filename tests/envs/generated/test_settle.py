"""Worlds are drawn until they are fair."""

from __future__ import annotations

import numpy as np
import pytest

from oocdm.envs.generated.family import AbstractFamily
from oocdm.envs.generated.mechanisms import RealMechanism, Term
from oocdm.envs.generated.pilot import run_pilot
from oocdm.envs.generated.settle import MIN_LIKENESS, is_fair, misleads, settle
from oocdm.envs.generated.source import Source
from oocdm.schema import Real


class Odd(AbstractFamily):
    """A field that explodes, one with a cause that hardly matters, and a decoy: by the seed."""

    def _lay_out(self) -> None:
        a = self.add_class(2, 2)
        self.drift = self.add_drift(a)
        self.add(a, Real(), self._draw)
        if self.decoys:
            self.add_decoy(self.drift)

    def _draw(self, own: Source, rng: np.random.Generator) -> RealMechanism:
        keep, weight = rng.choice([0.5, 1.2]), rng.choice([0.0001, 1.0])
        terms = (Term(float(weight), self.drift),) if rng.random() < 0.7 else ()
        return RealMechanism(own, float(keep), terms, noise=0.3)


@pytest.mark.parametrize("seed", range(6))
def test_a_settled_world_is_bounded_and_its_edges_matter(seed):
    blueprint = settle(Odd, [seed], False, decoys=True)
    (own,) = [m for m in blueprint.mechanisms if m.noise == 0.3]
    assert own.keep == 0.5 and [t.weight for t in own.terms] == [1.0]
    (decoy,) = [m for m in blueprint.mechanisms if m.decoy_of]
    before = run_pilot(blueprint, 100, 30, [1]).before
    fields = before.values["A"]
    pair = [fields[f][before.present["A"]] for f in (decoy.own.field_name, decoy.decoy_of)]
    assert np.corrcoef(pair)[0, 1] > MIN_LIKENESS - 0.1
    assert misleads(blueprint)


def test_a_cause_that_hardly_matters_is_not_fair():
    found = {}
    for seed in range(20):
        blueprint = Odd([seed], False, False).blueprint()
        pilot = run_pilot(blueprint, 50, 10, [0])
        (m,) = [m for m in blueprint.mechanisms if m.noise == 0.3]
        if m.terms:
            found[m.terms[0].weight] = is_fair(blueprint, m, pilot, [0])
    assert found == {0.0001: False, 1.0: True}


def test_a_decoy_misleads_only_if_it_resembles_a_cause():
    drawn = [Odd([seed], False, True).blueprint() for seed in range(20)]
    for blueprint in drawn:
        (m,) = [m for m in blueprint.mechanisms if m.noise == 0.3]
        assert misleads(blueprint) == bool(m.terms)
    assert {misleads(b) for b in drawn} == {True, False}
    assert not misleads(Odd([0], False, False).blueprint())
