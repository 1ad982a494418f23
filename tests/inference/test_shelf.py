"""What is kept as long as there is room."""

from __future__ import annotations

import torch

from oocdm.inference.shelf import Shelf


def test_what_came_first_stays_until_all_goes() -> None:
    shelf = Shelf(room=24)
    for name, size in (("one", 4), ("too large", 3), ("small", 2), ("late", 1)):
        shelf.put(name, torch.full((size,), float(size)))
    assert len(shelf) == 2
    assert torch.equal(shelf.get("small"), torch.full((2,), 2.0))  # type: ignore[arg-type]
    assert shelf.get("too large") is None and shelf.get("late") is None
    assert not shelf.has_room(torch.zeros(1))
    shelf.clear()
    assert len(shelf) == 0 and shelf.get("one") is None
    assert shelf.has_room(torch.zeros(6)) and not shelf.has_room(torch.zeros(7))


def test_without_a_room_all_is_kept_and_with_none_nothing() -> None:
    endless, none = Shelf(), Shelf(room=0)
    for i in range(50):
        endless.put(i, torch.zeros(1000))
        none.put(i, torch.zeros(1))
    assert (len(endless), len(none)) == (50, 0)
