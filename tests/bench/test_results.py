"""Results that are measured once, one after the other or side by side."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
import torch

from oocdm.bench.results import recall, recall_all
from oocdm.errors import FileError, OocdmError


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


KILLED = """
import os, time
from functools import partial
from pathlib import Path
from oocdm.bench.results import recall_all

def wait(name):
    Path(name).write_text(str(os.getpid()))
    os.rename(name, f"{name}.pid")
    time.sleep(60)

if __name__ == "__main__":
    recall_all(None, {name: partial(wait, name) for name in ("a", "b")}, 2)
"""


def test_cells_end_with_the_process_that_asked_for_them(tmp_path):
    (tmp_path / "killed.py").write_text(KILLED)
    parent = subprocess.Popen([sys.executable, "killed.py"], cwd=tmp_path)
    pids = [tmp_path / "a.pid", tmp_path / "b.pid"]
    try:
        assert happens(lambda: all(path.is_file() for path in pids), seconds=40)
        workers = [int(path.read_text()) for path in pids]
        assert all(is_running(worker) for worker in workers)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    assert happens(lambda: not any(is_running(worker) for worker in workers), seconds=10)


def happens(condition, seconds):
    ends = time.monotonic() + seconds
    while not condition() and time.monotonic() < ends:
        time.sleep(0.05)
    return condition()


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{process}/stat")
    return not (stat.is_file() and stat.read_text().rsplit(")", 1)[1].split()[0] == "Z")


def test_results_that_are_none_are_told_of(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(
        FileError, match=r"list\.json`: expected a mapping, got \[1\]: it is damaged"
    ):
        recall(tmp_path, "list", dict)
    (tmp_path / "less.json").write_text('{"rows": [{"size": 1}], "seconds": 2.0}')
    found = recall(tmp_path, "less", dict)
    assert found == {"rows": [{"size": 1}], "seconds": 2.0}
    for part, name in ((found, "aill"), (found["rows"][0], "seed")):
        with pytest.raises(
            FileError, match=rf"less\.json`: expected `{name}`, got a result without"
        ):
            part[name]
