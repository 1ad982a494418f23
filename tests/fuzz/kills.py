"""Kills commands while they write, goes on with them, and compares what comes out to the bit.

`python -m tests.fuzz.kills --count 300 --seed 0 -o FILE` writes the counts as JSON. Half of the
kills come before a file operation, the others at any moment.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch

import oocdm
from oocdm.bench.machine import describe_machine
from oocdm.cli import app
from oocdm.training import confirm, focus, trainer
from tests.files.killing import be_killed
from tests.fuzz.subjects import DATA, print_of_data, print_of_run

LONGEST = 60  # seconds that a command may take
WORDS = "words.txt"  # that a command printed
MOST_KILLS = 4  # of one run, one after the other
OPTIONS = ["--iterations", "2", "--steps-per-iteration", "2", "--polish-steps", "2"]
OTHER = DATA.head(5)
# So that all targets are learned alone, too, in a few steps, and what was learned is taken.
ALONE = {"FULL_STEPS": 2, "ROUND_STEPS": 2, "TRIM_ROUNDS": 1, "ROUNDS": 1}
ALONE |= dict.fromkeys(("UNEXPLAINED", "SURE", "LEAST", "ERRORS"), -1e9)


class Stuck(Exception):
    """A folder that no command goes on with."""


def call(*words: str | Path) -> None:
    """Run a command as a person does."""
    app([str(word) for word in words], standalone_mode=True)


def in_child(
    action: Callable[[], object], rng: random.Random | None, longest: float, folder: Path
) -> str:
    """Do something in a process of its own, perhaps with a kill: "ended", "failed", "killed"."""
    aimed = rng is not None and rng.random() < 0.5
    delay = LONGEST if rng is None or aimed else rng.random() * longest
    before = rng.randrange(60) if rng is not None and aimed else None
    child = os.fork()
    if child == 0:
        _be_child(action, before, folder)
    until = time.monotonic() + delay
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            break
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            break
        time.sleep(0.002)
    if os.WIFSIGNALED(status):
        return "killed"
    return "ended" if os.WEXITSTATUS(status) == 0 else "failed"


def _be_child(action: Callable[[], object], before: int | None, folder: Path) -> None:
    words = os.open(folder / WORDS, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(words, 1)
    os.dup2(words, 2)
    if before is not None:
        be_killed(before)
    try:
        action()
    except SystemExit as end:
        os._exit(int(end.code or 0) if isinstance(end.code, int | None) else 1)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _last_words(folder: Path) -> str:
    return " ".join((folder / WORDS).read_text().split())[-500:]


def try_training(folder: Path, rng: random.Random | None, longest: float) -> tuple[int, str]:
    """Train with kills until a run is finished: how many kills, and its fingerprint."""
    data, run, kills = folder / "data", folder / "run", 0
    ways = {
        "train": lambda: call("train", data, "-o", run, "--seed", "3", *OPTIONS),
        "resume": lambda: call("resume", run),
    }
    while True:
        may_kill = rng if kills < MOST_KILLS else None
        ended = {}
        # Whoever finds the folder tries to go on with it, else to begin.
        for way in ("resume", "train") if run.exists() else ("train",):
            ended[way] = in_child(ways[way], may_kill, longest, folder)
            if ended[way] != "failed":
                break
        if "killed" in ended.values():
            kills += 1
        elif "ended" in ended.values():
            return kills, print_of_run(oocdm.load(run))
        else:
            left = sorted(p.name for p in run.iterdir()) if run.is_dir() else "nothing"
            raise Stuck(f"{ended}, {left} is there: {_last_words(folder)}")


def try_saving(folder: Path, rng: random.Random, longest: float) -> tuple[int, str]:
    """Replace a dataset, and be killed: it is the old one or the new one."""
    path = folder / "data"
    killed = (
        in_child(lambda: OTHER.save(path, overwrite=True), rng, longest / 20, folder) == "killed"
    )
    return int(killed), print_of_data(oocdm.load_dataset(path))


def run_kills(count: int, seed: int, folder: Path, show: bool = False) -> dict[str, Any]:
    """Kill commands `count` times; what is bad is told with how to have it again."""
    with (
        mock.patch.object(trainer, "LEAST_LEARNED", 4),
        mock.patch.object(confirm, "STEPS", 2),
        mock.patch.multiple(focus, **ALONE),
    ):
        return _run_kills(count, seed, folder, show)


def _run_kills(count: int, seed: int, folder: Path, show: bool) -> dict[str, Any]:
    DATA.save(folder / "original")
    OTHER.save(folder / "other")
    whole = folder / "whole"
    began = time.monotonic()
    shutil.copytree(folder / "original", whole / "data")
    _, expected = try_training(whole, None, 0.0)
    longest = time.monotonic() - began
    phases = [row["phase"] for row in oocdm.load(whole / "run").history]
    assert phases == ["learn", "learn", "confirm", "focus", "polish"], phases
    either = {print_of_data(oocdm.load_dataset(folder / name)) for name in ("original", "other")}
    counts: Counter[str] = Counter()
    bad: list[dict[str, Any]] = []
    number = done = 0
    while done < count:
        rng, here = random.Random(f"{seed}/{number}"), folder / "here"
        shutil.copytree(folder / "original", here / "data")
        what = "saving" if number % 5 == 4 else "training"
        try:
            if what == "saving":
                kills, found = try_saving(here, rng, longest)
                is_good = found in either
            else:
                kills, found = try_training(here, rng, longest)
                is_good = found == expected
                left = _leftovers(here / "run")
            word = "as if nothing had happened" if is_good else "another outcome"
            if what == "training" and left:
                word = f"left behind: {left}"
        except (Stuck, oocdm.OocdmError) as error:
            kills, word = 1, f"stuck: {error}"
        counts[f"{what}: kills"] += kills
        counts[f"{what}: {word.split(':')[0]}"] += 1
        if word != "as if nothing had happened":
            bad.append({"number": number, "what": what, "word": word})
            if show:
                print(bad[-1], file=sys.stderr)
        shutil.rmtree(here)
        done, number = done + kills, number + 1
        if show and number % 20 == 0:
            print(f"{done} of {count} kills", file=sys.stderr)
    return {"count": done, "seed": seed, "outcomes": dict(counts), "bad": bad}


def _leftovers(run: Path) -> list[str]:
    """What a finished run should not hold: temporaries, checkpoints or locks."""
    names = sorted(p.name for p in run.iterdir())
    return [n for n in names if n == "checkpoints" or n.startswith(".")]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)  # a process with threads cannot be forked
    with tempfile.TemporaryDirectory() as folder:
        found = run_kills(asked.count, asked.seed, Path(folder), show=True)
    command = f"make kill COUNT={asked.count} SEED={asked.seed}"
    found |= {"command": command, **describe_machine()}
    if asked.output is not None:
        asked.output.parent.mkdir(parents=True, exist_ok=True)
        asked.output.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found["outcomes"], indent=1))
    sys.exit(1 if found["bad"] else 0)


if __name__ == "__main__":
    main()
