"""Results that are measured once, one after the other or side by side."""

import json
import os
from functools import partial

import pytest
import torch

from oocdm.bench.results import recall_all
from oocdm.errors import OocdmError


def measure(number):
    return {"number": number, "process": os.getpid(), "threads": torch.get_num_threads()}


def fail():
    raise OocdmError("This cell cannot be measured.")


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_order_and_are_not_measured_again(tmp_path, jobs):
    (tmp_path / "cell1.json").write_text(json.dumps({"number": "known"}))
    found = recall_all(tmp_path, {f"cell{i}": partial(measure, i) for i in range(3)}, jobs)
    assert [each["number"] for each in found] == [0, "known", 2]
    assert json.loads((tmp_path / "cell2.json").read_text()) == found[2]


def test_side_by_side_means_other_processes_with_the_same_threads():
    told = []
    found = recall_all(
        None,
        {"a": partial(measure, 1), "b": partial(measure, 2)},
        2,
        lambda *count: told.append(count),
    )
    assert os.getpid() not in {each["process"] for each in found}
    assert {each["threads"] for each in found} == {torch.get_num_threads()}
    assert told == [(0, 2), (1, 2), (2, 2)]


def test_what_is_wrong_with_a_result_is_told_and_the_others_are_kept(tmp_path):
    with pytest.raises(OocdmError, match="This cell cannot be measured"):
        recall_all(tmp_path, {"good": partial(measure, 1), "bad": fail}, 2)
    assert json.loads((tmp_path / "good.json").read_text())["number"] == 1
