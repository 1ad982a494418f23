"""The tasks of Mouse, split as the authors did."""

from __future__ import annotations

from itertools import product

from oocdm.envs.mouse_tasks import seen_tasks, unseen_tasks


def test_tasks_are_split_into_47_seen_and_53_unseen():
    seen, unseen = seen_tasks(), unseen_tasks()
    assert (len(seen), len(unseen)) == (47, 53)
    assert len({*seen, *unseen}) == 100
    first = (22695477 * 12345 + 1) % 2**32 / 2**32
    assert ((3, 1, 1) in seen) == (first < 0.5)


def test_the_tasks_have_the_numbers_of_the_paper():
    tasks = {*seen_tasks(), *unseen_tasks()}
    assert tasks == set(product(range(3, 7), range(1, 6), range(1, 6)))
    assert seen_tasks()[:3] == [(3, 1, 1), (3, 2, 3), (3, 2, 4)]
