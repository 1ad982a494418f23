"""Results in a folder, one JSON file each: what is there already is read, not measured again."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

import torch

from oocdm.errors import FileError, short
from oocdm.files import write_json
from oocdm.files.reading import read_json

Result = dict[str, Any]


def recall(folder: str | Path | None, name: str, measure: Callable[[], Result]) -> Result:
    """The result of that name: read from the folder, or measured and written there.

    >>> recall(None, "answer", lambda: {"answer": 42})
    {'answer': 42}
    """
    if folder is None:
        return measure()
    path = Path(folder) / f"{name}.json"
    if path.is_file():
        return _read(read_json(path, FileError), path)
    result = measure()
    write_json(path, result)
    return result


class _Recalled(dict[str, Any]):
    """A part of a result from a file: what is not there is damage, and no mistake of ours."""

    def __init__(self, found: dict[str, Any], path: Path) -> None:
        super().__init__({name: _of_file(each, path) for name, each in found.items()})
        self.path = path

    def __missing__(self, name: str) -> Any:
        raise _damaged(self.path, f"`{name}`", "a result without it")


def _read(found: Any, path: Path) -> Result:
    if not isinstance(found, dict):
        raise _damaged(path, "a mapping", short(found))
    return _Recalled(found, path)


def _of_file(found: Any, path: Path) -> Any:
    if isinstance(found, list):
        return [_of_file(each, path) for each in found]
    return _Recalled(found, path) if isinstance(found, dict) else found


def _damaged(path: Path, expected: str, got: str) -> FileError:
    return FileError(
        f"`{path}`: expected {expected}, got {got}: it is damaged, or another version wrote it. "
        "Remove it, and it is measured again."
    )


def recall_all(
    folder: str | Path | None,
    measures: Mapping[str, Callable[[], Result]],
    jobs: int = 1,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> list[Result]:
    """All results, in the order of their names, `jobs` of them at a time.

    More than one are measured side by side in processes of their own, to which `measures` must be
    able to go (functions of a module and `partial`s of them, no closures). Each result is written
    when it is there; `tell` hears how many are, of how many.

    >>> recall_all(None, {"answer": lambda: {"answer": 42}})
    [{'answer': 42}]
    """
    if jobs == 1:
        return [recall(folder, name, measure) for name, measure in measures.items()]
    # Not forked: a copy of a process whose threads hold locks may wait for ever.
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (torch.get_num_threads(),))
    with pool:
        futures = [pool.submit(recall, folder, *measure) for measure in measures.items()]
        try:
            tell(0, len(futures))
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                tell(done, len(futures))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _begin(num_threads: int) -> None:
    """What a process of its own does first: it measures alone, but not on its own account."""
    torch.set_num_threads(num_threads)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed tells nobody: without this, cells would go on without it."""
    parent = parent_process()
    assert parent is not None  # as started
    parent.join()
    os._exit(1)
