"""What work takes, and how much of it fits."""

from __future__ import annotations

import pytest
import torch

from oocdm.errors import ModelError
from oocdm.models.memory import (
    Fit,
    TooMuch,
    Used,
    largest_fit,
    measure,
    read_memory,
    rows_at_once,
    within,
)


def test_all_tensors_count_while_they_live() -> None:
    def work() -> torch.Tensor:
        first = torch.zeros(250)  # 1000 bytes
        second = first + 1
        del first
        return second.view(5, 50) + torch.ones(())  # a view takes nothing

    assert measure(work) == Used(peak=2004, kept=1000)


def test_what_was_there_before_does_not_count() -> None:
    weight = torch.zeros(100, 100)
    assert measure(lambda: weight.T[:, :50]) == Used(0, 0)
    assert measure(lambda: weight.add_(1)) == Used(0, 0)


def test_gradients_count_too() -> None:
    weight = torch.zeros(1000, requires_grad=True)
    used = measure(lambda: weight.exp().sum().backward())
    assert used.kept == 4000 and used.peak >= 8000


def test_no_more_is_tried_than_fits() -> None:
    tried = []

    def taken(size: int) -> int:
        tried.append(size)
        return max(5000, 100 * size)  # flat at first

    found = largest_fit(taken, most=10_000, limit=100_000)
    assert 800 <= found.size <= 1000 and found.taken <= 100_000
    assert max(tried) <= 2000


def test_small_work_is_done_at_once_after_two_looks() -> None:
    tried: list[int] = []
    found = largest_fit(lambda n: tried.append(n) or 10 * n, most=500, limit=10**6)
    assert found == Fit(500, 5000) and tried == [1, 64]


def test_what_cannot_be_divided_may_take_more() -> None:
    assert largest_fit(lambda n: 100 * n, 8, limit=50) == Fit(0, 100)
    assert largest_fit(lambda n: 100 * n, 8, limit=50, at_most=1000) == Fit(2, 200)
    assert largest_fit(lambda n: 100 * n, 8, limit=50, at_most=90) == Fit(0, 100)


@pytest.mark.parametrize("given", [0, -1, True, None, "4", "4 GiBs", "GiB", "1e3GiB", float("nan")])
def test_what_is_no_memory_is_refused(given: object) -> None:
    with pytest.raises(ModelError) as error:
        read_memory("fit", given)
    assert str(error.value) == (
        f"fit: `memory`: expected a number of bytes, or words such as '4GiB', got {given!r}."
    )


def test_memory_is_read_in_words() -> None:
    assert read_memory("fit", "4GiB") == read_memory("fit", 2**32) == 2**32
    assert read_memory("fit", "500 mb") == 500_000_000


def test_rows_that_fit_are_done_at_once_others_are_not_tried() -> None:
    tried = []

    def work(rows: int) -> torch.Tensor:
        tried.append(rows)
        return torch.zeros(rows, 100)  # 400 bytes each

    assert rows_at_once(work, 10, limit=4000) == 10 and tried == [1]
    assert rows_at_once(work, 11, limit=4000) == 10
    assert rows_at_once(work, 10, limit=300) == 1


def test_what_would_take_too_much_is_not_begun() -> None:
    made = []

    def work() -> None:
        made.append(torch.zeros(1000))
        made.append(torch.zeros(10**13))  # more than any machine has

    with pytest.raises(TooMuch, match="more than 1 MiB"):
        within(2**20, work)
    assert len(made) == 1
    assert within(8000, lambda: torch.zeros(1000) + 1).sum() == 1000
    with pytest.raises(TooMuch):
        within(4000, lambda: torch.zeros(900) + 1)
