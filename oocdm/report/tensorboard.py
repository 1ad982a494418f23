"""The scalars of a run for TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

    from oocdm.training.position import Progress


class ScalarLog:
    """Writes what training reports into a folder that `tensorboard --logdir` shows.

    Give it to `oocdm.fit` as a `callback` for the curves while training, and `write_rounds` the
    result's history for the number of edges after each round. Nothing is written, not even
    the folder, before the first scalar.

    >>> import tempfile
    >>> from oocdm.training import Progress
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ScalarLog(folder) as log:
    ...         log(Progress("learn", 10, 100, {"loss": 1.5}))
    ...     print(len(list(Path(folder).iterdir())))
    1
    """

    def __init__(self, folder: str | Path, every: int = 10) -> None:
        self._folder = Path(folder)
        self._every = every
        self._writer: SummaryWriter | None = None

    def __enter__(self) -> ScalarLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._writer is not None:
            self._writer.close()

    def __call__(self, progress: Progress) -> None:
        """Write the metrics of every tenth step, such as `loss/learn`."""
        if progress.step % self._every == 0:
            for name, value in progress.metrics.items():
                self._write(f"{name}/{progress.phase}", value, progress.step)

    def write_rounds(self, history: Sequence[Mapping[str, Any]]) -> None:
        """Write the number of edges after each round of learning."""
        for entry in history:
            if entry["phase"] == "learn":
                self._write("edges", entry["edges"], entry["step"])

    def _write(self, name: str, value: float, step: int) -> None:
        if self._writer is None:
            from torch.utils.tensorboard import SummaryWriter  # slow to import

            self._writer = SummaryWriter(str(self._folder))
        self._writer.add_scalar(name, value, step)
