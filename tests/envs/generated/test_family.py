"""What families share: names, roles, decoys and the mechanisms of many."""

from __future__ import annotations

import numpy as np
import pytest

from oocdm.envs.generated.family import (
    MAX_KEPT,
    AbstractFamily,
    bounded,
    draw_drift,
    follow,
    log_uniform,
    noise,
    one_of,
    signs,
    uniform,
)
from oocdm.envs.generated.mechanisms import RealMechanism, Term
from oocdm.envs.generated.source import Source
from oocdm.schema import Boolean, Categorical, Integer, Real


class Small(AbstractFamily):
    """A drift with a decoy, a static field with one, a sum, and others to read."""

    def _lay_out(self) -> None:
        a = self.add_class(3, 5)
        self.drift = self.add_drift(a)
        self.decoy = self.add_decoy(self.drift)
        self.sum = self.add_sum(a)
        self.charge = self.add(a, Real(static=True))
        self.static_decoy = self.add_decoy(self.charge)
        self.add_bystanders()


class Kinds(AbstractFamily):
    def _lay_out(self) -> None:
        a = self.add_class(2, 2)
        fields = (Categorical(3, static=True), Boolean(static=True), Integer(static=True))
        self.kinds = [self.add(a, field) for field in (*fields, Real(static=True, shape=(2,)))]
        self.sum = self.add_sum(a)


def test_names_tell_the_type_and_nothing_else():
    assert [s.field_name[0] for s in Kinds([0], False, True).kinds] == ["k", "b", "n", "w"]
    drifts = {Small([seed], False, True).drift.field_name for seed in range(30)}
    assert drifts == {"x1", "x2", "x3", "x4", "x5"}
    fields = list(Small([1], False, True).schema.fields("A"))
    assert fields == sorted(fields)


def test_what_is_drawn_depends_on_the_seed_alone_and_can_be_drawn_anew():
    one, same, other = (Small([seed], False, True) for seed in (0, 0, 1))
    texts = [[str(m) for m in f.blueprint().mechanisms] for f in (one, same, other)]
    assert texts[0] == texts[1] != texts[2]
    one.redraw([one.sum])
    again = [str(m) for m in one.blueprint().mechanisms]
    assert [a != b for a, b in zip(again, texts[0], strict=True)].count(True) == 1


def test_nobody_reads_decoys_or_vectors():
    for seed in range(20):
        family = Small([seed], False, True)
        blueprint = family.blueprint()
        decoys = {family.decoy[:2], family.static_decoy[:2]}
        read = {s[:2] for m in blueprint.mechanisms for s in m.sources if s != m.own}
        assert not read & {d for d in decoys if d[0] == "A"}
        assert family.roles[family.static_decoy[:2]].start.near == family.charge.field_name
    kinds = Kinds([0], False, True)
    pool = kinds.pool(kinds.sum, np.random.default_rng(0))
    assert {s.field_name[0] for s in pool} == {"k", "b", "n", "x"}
    assert kinds.sum not in pool


@pytest.mark.parametrize("index", [0, 1, 2])
def test_there_is_a_term_for_every_kind_of_source(index):
    family = Kinds([0], False, True)
    for is_local in (True, False):
        source = family.kinds[index]._replace(is_local=is_local)
        assert family.term(source, np.random.default_rng(0)).sources[0] == source


def test_sums_are_bounded():
    own = Source("A", "x1", is_local=True)
    wild = RealMechanism(own, 0.8, (Term(-0.8, own), Term(0.4, own)), noise=0.1)
    tame = bounded(wild)
    assert tame.keep + sum(abs(t.weight) for t in tame.terms) == pytest.approx(MAX_KEPT)
    assert bounded(tame).keep == pytest.approx(tame.keep) and tame.noise == 0.1
    family = Small([0], False, True)
    for seed in range(50):
        m = family.draw_sum(family.sum, np.random.default_rng(seed))
        weights = [abs(t.weight) for t in m.terms if hasattr(t, "weight")]
        assert m.keep + sum(weights) <= MAX_KEPT + 1e-9 and 1 <= len(m.terms) <= 3


def test_a_drift_reads_itself_and_a_follower_what_it_follows():
    x1, x2 = (Source("A", name, is_local=True) for name in ("x1", "x2"))
    rng = np.random.default_rng(0)
    assert draw_drift(x1, rng).sources == [x1] and draw_drift(x1, rng).noise > 0
    decoy = follow(x1, x2, rng)
    assert decoy.sources == [x1, x2] and decoy.decoy_of == "x2"


def test_draws_keep_to_their_ranges():
    rng = np.random.default_rng(0)
    assert all(0.1 <= log_uniform(rng, 0.1, 10) <= 10 for _ in range(100))
    assert np.median([log_uniform(rng, 0.1, 10) for _ in range(500)]) == pytest.approx(1, rel=0.3)
    assert all(2 <= uniform(rng, 2, 3) <= 3 for _ in range(100))
    assert {signs(rng) for _ in range(30)} == {-1, 1}
    assert {one_of(rng, "abc") for _ in range(50)} == set("abc")
    free = [noise(rng, free=0.5) == 0 for _ in range(300)]
    assert 0.4 < np.mean(free) < 0.6
