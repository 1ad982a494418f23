"""The 100 tasks of Mouse, numbers of food, monsters and traps, split into seen and unseen."""

from __future__ import annotations

MouseTask = tuple[int, int, int]  # numbers of food, monsters and traps


def seen_tasks() -> list[MouseTask]:
    """The 47 tasks (food, monsters, traps) that models are trained on.

    >>> seen_tasks()[:2], len(seen_tasks())
    ([(3, 1, 1), (3, 2, 3)], 47)
    """
    return [task for task, is_seen in _split().items() if is_seen]


def unseen_tasks() -> list[MouseTask]:
    """The 53 tasks (food, monsters, traps) that models are transferred to.

    >>> len(unseen_tasks())
    53
    """
    return [task for task, is_seen in _split().items() if not is_seen]


def _split() -> dict[MouseTask, bool]:
    """Which tasks are seen, by the authors' linear congruential generator."""
    split: dict[MouseTask, bool] = {}
    state = 12345
    for food in range(3, 7):
        for monsters in range(1, 6):
            for traps in range(1, 6):
                state = (22695477 * state + 1) % 2**32
                split[food, monsters, traps] = state < 2**31
    return split
