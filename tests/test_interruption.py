"""Ctrl-C on the command line, from the first moment on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from oocdm.interruption import INTERRUPTED, end_at_once, is_command, raising


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    """Leave the handler as it was."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["python", "-m", "oocdm"], True),
        (["python", "-X", "importtime", "-P", "-m", "oocdm"], True),
        (["python", "/usr/bin/oocdm", "train"], True),
        (["python", "C:/Scripts/oocdm.exe"], True),
        (["python", "-m", "pytest", "oocdm"], False),
        (["python", "train.py", "oocdm"], False),
        (["python", "-c", "import oocdm"], False),
        (["python"], False),
        ([""], False),
    ],
)
def test_which_processes_are_the_command_line(arguments: list[str], expected: bool) -> None:
    assert is_command(arguments) is expected


@pytest.mark.parametrize("lines", [1, 100, 600])
def test_a_command_that_still_loads_ends_with_a_word(lines: int) -> None:
    # Python tells of each module that it has loaded, so that the moment does not depend on time.
    command = [sys.executable, "-X", "importtime", "-m", "oocdm", "envs"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stderr is not None
    for line in process.stderr:
        if "oocdm.interruption" in line:
            break
    for _ in range(lines):
        process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    told = [line for line in err.splitlines() if not line.startswith("import time:")]
    assert (process.returncode, out, told) == (INTERRUPTED, "", ["Interrupted."])


def test_work_is_ended_by_an_error() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    end_at_once()
    with pytest.raises(KeyboardInterrupt), raising():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler


def test_a_handler_of_somebody_else_stays() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_at_once()
    with raising():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
