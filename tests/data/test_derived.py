"""What is made of tensors is remembered, but never out of date."""

from __future__ import annotations

import gc

import torch
from torch import Tensor

from oocdm.data.derived import Derived, absent_rows


class Counted:
    """A sum that counts how often it is made."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, tensor: Tensor) -> float:
        self.times += 1
        return float(tensor.sum())


def test_an_answer_is_made_once_for_each_tensor() -> None:
    made = Counted()
    total = Derived(made)
    one, two = torch.ones(2), torch.ones(2)
    assert [total(one), total(two), total(one), total(two)] == [2.0] * 4
    assert made.times == 2  # equal values, but nobody knows that


def test_a_change_in_place_is_seen() -> None:
    total, tensor = Derived(Counted()), torch.ones(2)
    assert total(tensor) == 2.0
    tensor[0] = 5.0
    assert total(tensor) == 6.0
    with torch.inference_mode():
        tensor[0] = 7.0
        assert total(tensor) == 8.0
    tensor.view(-1)[1] = 0.0  # through another tensor that shares the memory
    assert total(tensor) == 7.0


def test_nothing_is_remembered_of_tensors_of_inference_mode() -> None:
    total = Derived(Counted())
    with torch.inference_mode():
        tensor = torch.ones(2)
        assert total(tensor) == 2.0
        tensor[0] = 5.0
        assert total(tensor) == 6.0


def test_answers_go_with_their_tensors() -> None:
    total = Derived(Counted())
    for number in range(100):
        tensor = torch.full((2,), float(number))
        assert total(tensor) == 2.0 * number  # whatever had the same address before
    del tensor
    gc.collect()
    assert len(total._kept) == 0


def test_no_row_is_absent_if_all_are_present() -> None:
    assert absent_rows(torch.ones(3, 2, dtype=torch.bool)) is None
    assert absent_rows(torch.ones(3, 0, dtype=torch.bool)) is None
