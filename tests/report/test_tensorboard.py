"""Curves of a run, as TensorBoard reads them."""

from __future__ import annotations

from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from oocdm.report.tensorboard import ScalarLog
from oocdm.training import Progress


def test_scalars_can_be_read_back(tmp_path: Path) -> None:
    with ScalarLog(tmp_path / "curves", every=2) as log:
        for step in range(1, 6):
            log(Progress("learn", step, 5, {"loss": -float(step)}))
        log(Progress("polish", 2, 2, {"loss": -9.0}))
        log.write_rounds(
            [
                {"phase": "learn", "step": 5, "edges": 14},
                {"phase": "polish", "step": 2, "edges": 14},
            ]
        )
    events = EventAccumulator(str(tmp_path / "curves"))
    events.Reload()
    assert sorted(events.Tags()["scalars"]) == ["edges", "loss/learn", "loss/polish"]
    assert [(e.step, e.value) for e in events.Scalars("loss/learn")] == [(2, -2.0), (4, -4.0)]
    assert [(e.step, e.value) for e in events.Scalars("edges")] == [(5, 14.0)]


def test_nothing_is_written_without_a_scalar(tmp_path: Path) -> None:
    with ScalarLog(tmp_path / "curves"):
        pass
    assert not (tmp_path / "curves").exists()
