"""Damages things and uses them, again and again, and counts what came of it.

`python -m tests.fuzz.fuzzing --count 20000 --seed 0 -o FILE` writes the counts as JSON.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oocdm.bench.machine import describe_machine
from oocdm.errors import OocdmError
from tests.fuzz.subjects import Subject, subjects

LONGEST = 10  # seconds that anything may take
BAD = ("internal error", "silently wrong", "hung")


class Hung(BaseException):
    """Something took longer than it may."""


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raise `Hung` if it takes longer."""

    def stop(*_: Any) -> None:
        raise Hung

    old = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


class Warnings(logging.Handler):
    """Hears whether anything was warned of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1


def outcome(subject: Subject, path: Path, expected: str) -> tuple[str, str]:
    """What using a damaged thing came to, and where it went wrong if it did."""
    heard, logger = Warnings(), logging.getLogger("oocdm")
    logger.addHandler(heard)
    try:
        with at_most(LONGEST):
            found = subject.use(path)
    except OocdmError as error:
        return ("refused", "") if str(error) else ("internal error", "an error without words")
    except Hung:
        return "hung", "".join(traceback.format_exc(limit=-4))
    except BaseException:
        return "internal error", "".join(traceback.format_exc(limit=-4))
    finally:
        logger.removeHandler(heard)
    if found == expected:
        return "as it was", ""
    if heard.count:
        return "warned of", ""
    return ("silently wrong", "") if subject.vouched else ("accepted", "")


def fuzz(count: int, seed: int, folder: Path, show: bool = False) -> dict[str, Any]:
    """Damage and use things `count` times; what is bad is told with how to have it again."""
    kinds = subjects(folder / "originals")
    expected = {}
    for subject in kinds:
        path = folder / "whole"
        _copy_whole(subject, path)
        expected[subject.name] = subject.use(path) if path.exists() else ""
        _remove(path)
    counts: dict[str, Counter[str]] = {subject.name: Counter() for subject in kinds}
    bad, began = [], time.time()
    for number in range(count):
        subject, rng = kinds[number % len(kinds)], random.Random(f"{seed}/{number}")
        path = folder / "damaged"
        where = subject.damage(path, rng)
        what, trace = outcome(subject, path, expected[subject.name])
        counts[subject.name][what] += 1
        if what in BAD:
            row = {"subject": subject.name, "number": number, "file": where, "trace": trace}
            bad.append({"what": what, **row})
            if show:
                print(f"{what}: {subject.name}, {where}, number {number}\n{trace}", file=sys.stderr)
        _remove(path)
        if show and number % 500 == 499:
            left = (time.time() - began) / (number + 1) * (count - number - 1)
            print(f"{number + 1:,} of {count:,}, {left:.0f} s left", file=sys.stderr)
    table = {name: dict(counter) for name, counter in counts.items()}
    return {"count": count, "seed": seed, "outcomes": table, "bad": bad}


def _copy_whole(subject: Subject, path: Path) -> None:
    """The thing as it is without damage, for what can be compared."""
    original = subject.original
    if original is None:
        return
    if original.is_dir():
        shutil.copytree(original, path)
    else:
        shutil.copy(original, path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    logging.getLogger("oocdm").addHandler(logging.NullHandler())
    logging.getLogger("oocdm").propagate = False
    with tempfile.TemporaryDirectory() as folder:
        found = fuzz(asked.count, asked.seed, Path(folder), show=True)
    command = f"make fuzz COUNT={asked.count} SEED={asked.seed}"
    found |= {"command": command, **describe_machine()}
    if asked.output is not None:
        asked.output.parent.mkdir(parents=True, exist_ok=True)
        asked.output.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found["outcomes"], indent=1))
    sys.exit(1 if found["bad"] else 0)


if __name__ == "__main__":
    main()
