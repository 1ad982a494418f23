"""The drawing of generated worlds."""

from __future__ import annotations

import numpy as np

from oocdm.envs.generated.design import MAX_OBJECTS, Design
from oocdm.envs.generated.mechanisms import RealMechanism
from oocdm.envs.generated.source import Source


def design(seed=0, varying=False, with_decoy=False, max_classes=3, max_fields=3):
    return Design([seed], varying, with_decoy, max_classes, max_fields)


def test_sizes_keep_to_their_limits():
    drawn = [design(seed, varying=True, max_fields=4) for seed in range(60)]
    assert {len(d.schema.classes) for d in drawn} == {2, 3}
    fields = {len(d.schema.fields(c)) for d in drawn for c in d.schema.classes}
    assert fields == {2, 3, 4}
    assert {n for d in drawn for n in d.max_objects.values()} == set(range(2, MAX_OBJECTS + 1))
    alone = {n for seed in range(20) for n in design(seed).max_objects.values()}
    assert 1 in alone  # only a number that varies needs room to
    for d in drawn:
        assert any(f.action for c in d.schema.classes for f in d.schema.fields(c).values())


def test_every_class_has_a_number_of_objects():
    drawn = [design(seed, max_classes=5) for seed in range(40)]
    assert {len(d.schema.classes) for d in drawn} == {2, 3, 4, 5}
    assert all(set(d.max_objects) == set(d.schema.classes) for d in drawn)
    for d in drawn:
        assert [m.own for m in d.mechanisms()] == d.targets


def test_each_state_field_has_one_mechanism():
    for seed in range(20):
        d = design(seed, with_decoy=True)
        mechanisms = d.mechanisms()
        assert [m.own for m in mechanisms] == d.targets
        for m in mechanisms:
            assert set(m.sources) <= set(d.sources(m.own.class_name))
            assert not {s for s in m.sources if s != m.own and s[:2] == d.decoy}


def test_only_what_is_asked_for_is_drawn_anew():
    d = design(3)
    before = d.mechanisms()
    assert d.mechanisms() == before
    changed = set()
    for _ in range(5):
        d.redraw([before[0].own])
        after = d.mechanisms()
        assert after[1:] == before[1:]
        changed.add(str(after[0]))
    assert len(changed) > 1


def test_a_single_object_has_no_others_of_its_class():
    d = next(d for d in map(design, range(20)) if 1 in d.max_objects.values())
    (alone, *_) = [c for c, number in d.max_objects.items() if number == 1]
    field = next(iter(d.schema.fields(alone)))
    assert Source(alone, field, False) not in d.sources(alone)
    assert Source(alone, field, True) in d.sources(alone)
    other = next(c for c in d.schema.classes if c != alone)
    assert Source(alone, field, False) in d.sources(other)


def test_noise_and_thresholds_suit_the_sample():
    for seed in range(20):
        d = design(seed)
        real = [s[:2] for c in d.schema.classes for s in d.sources(c) if d._is_real(s)]
        d.sample = {name: np.linspace(100, 200, 101) for name in real}
        for m in d.mechanisms():
            for condition in m.conditions:
                is_real = condition.source[:2] in d.sample
                assert (135 <= condition.limit <= 165) if is_real else condition.limit < 3
            if isinstance(m, RealMechanism) and m.noise:
                assert 1.4 < m.noise < 3  # a twentieth to a tenth of a spread of 29
