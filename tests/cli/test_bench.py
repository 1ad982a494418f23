"""Benchmarks on the command line: which methods they take, and what they refuse at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from oocdm.bench import discovery_times
from oocdm.methods import METHODS, registry

Error = Callable[..., str]

TABLES: dict[str, list[str]] = {
    "cells": ["--env", "block2"],
    "graphs": ["--table", "graphs", "--env", "block2"],
    "time": ["--table", "time", "--env", "block2"],
    "returns": ["--table", "returns"],
    "unseen": ["--table", "unseen"],
}


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any measurement fails."""

    def measure(folder: object, name: str, measure: object) -> None:
        raise AssertionError(f"{name} was measured")

    for module in ("paper", "returns", "discovery_times"):
        monkeypatch.setattr(f"oocdm.bench.{module}.recall", measure)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The methods that each benchmark was asked for; none is run."""
    found: list[list[str]] = []

    def acting(folder: object, tell: object, methods: Iterable[str], *_: object) -> dict[str, Any]:
        found.append(list(methods))
        return {"cells": []}

    def comparing(envs: object, methods: Iterable[str], *_: object, **__: object) -> dict[str, Any]:
        return acting(None, None, methods)

    for name in ("returns.run_returns", "returns.run_unseen"):
        monkeypatch.setattr(f"oocdm.bench.{name}", acting)
    for name in ("paper.run_paper", "paper.run_times"):
        monkeypatch.setattr(f"oocdm.bench.{name}", comparing)
    return found


@pytest.mark.parametrize("words", TABLES.values(), ids=TABLES)
def test_wrong_names_are_told_before_anything_runs(
    words: list[str], idle: None, error: Error
) -> None:
    said = error("bench", "paper", *words, "--method", "oocdm", "--method", "cdk")
    assert "Unknown method `cdk`. Did you mean `cdl`?" in said


def test_other_wrong_words_are_told_before_anything_runs(idle: None, error: Error) -> None:
    said = error("bench", "paper", "--env", "block2", "--env", "blok5")
    assert "Unknown experiment `blok5`. Did you mean `block5`?" in said
    said = error("bench", "paper", "--table", "time", "--env", "block2", "--env", "mous")
    assert "Unknown experiment `mous`. Did you mean `mouse`?" in said
    said = error("bench", "paper", "--env", "walker", "--variant", "paper")
    assert "Environment `walker` has no variants, got 'paper'. Leave the option out." in said
    said = error("bench", "speed", "--env", "walker")
    assert "bench speed: expected a world whose graph is known, got `walker`." in said
    said = error("bench", "curves", "--env", "block5", "--env", "mouse")
    assert "expected an environment that the authors' program was run in, got `mouse`." in said
    said = error("bench", "curves", "--preset", "papr")
    assert "Unknown preset `papr`. Did you mean `paper`?" in said
    said = error("bench", "paper", "--env", "block2", "--method", "cdl", "--preset", "papr")
    assert "Unknown preset `papr`. Did you mean `paper`?" in said


def test_methods_that_a_table_cannot_take(idle: None, error: Error) -> None:
    message = "Times of discovery: expected one of oocdm, cdl, cdl-a, grader, got `mlp`."
    words = ("--method", "cdl", "--method", "mlp")
    assert message in error("bench", "discovery", "--blocks", "2", *words)
    assert message in error("bench", "paper", "--table", "time", "--env", "block2", *words)
    said = error("bench", "paper", "--table", "unseen", *words)
    assert "Unseen tasks: expected a method for varying numbers of objects, got `cdl`." in said


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("cells", list(METHODS)),
        ("graphs", list(METHODS)),
        ("time", list(discovery_times.METHODS)),
        ("returns", list(METHODS)),
        ("unseen", ["oocdm", "oofull", "oocdm+", "oofull+"]),
    ],
)
def test_all_methods_are_those_that_the_table_takes(
    table: str, expected: list[str], asked: list[list[str]], oocdm: Callable[..., Result]
) -> None:
    assert oocdm("bench", "paper", *TABLES[table], "--method", "all").stderr == ""
    assert asked == [expected]


def test_all_leaves_out_what_cannot_be_loaded(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch, oocdm: Callable[..., Result]
) -> None:
    lost = EntryPoint("lost", "no_such_module:Lost", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [lost])
    said = oocdm("bench", "paper", *TABLES["graphs"], "--method", "all").stderr
    assert asked == [list(METHODS)]
    assert said.startswith("Warning: Method `lost` of an installed package cannot be loaded: ")
    assert said.endswith(" It is left out.\n")


def test_cells_with_another_limit_are_not_taken_for_those_asked(
    idle: None, tmp_path: Path, error: Error
) -> None:
    path = tmp_path / "block2-cdl-default-released-seed0.json"
    path.write_text('{"minutes_allowed": 7.5}')
    words = ("--env", "block2", "--method", "cdl", "--seeds", "0", "-o", tmp_path)
    advice = "Choose another folder, or remove the file."
    said = error("bench", "paper", *words, "--minutes", "60")
    assert f"`{path}`: expected a cell of 60 minutes, got one of 7.5 minutes. {advice}" in said
    said = error("bench", "paper", "--table", "graphs", *words)
    assert f"`{path}`: expected a cell of 5 minutes, got one of 7.5 minutes. {advice}" in said
    path.write_text('{"minutes_allowed": null}')
    said = error("bench", "paper", "--table", "graphs", *words)
    assert f"`{path}`: expected a cell of 5 minutes, got one of unlimited time. {advice}" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--table", "returns", "--env", "mouse"], "the table of returns has no use for --env"),
        (["--table", "unseen", "--minutes", "3"], "the table of unseen has no use for --minutes"),
        (["--table", "graphs", "--seeds", "0"], "graphs without --env has no use for --seeds"),
        (["--table", "graphs", "--preset", "paper"], "without --env has no use for --preset"),
        ([*TABLES["time"], "--seeds", "0"], "the table of time has no use for --seeds"),
        ([*TABLES["time"], "--minutes", "2"], "the table of time has no use for --minutes"),
        ([*TABLES["time"], "--jobs", "2"], "the table of time has no use for --jobs"),
        (["--table", "returns", "--jobs", "2"], "the table of returns has no use for --jobs"),
        ([*TABLES["graphs"], "--episodes", "2"], "table of graphs has no use for --episodes"),
    ],
)
def test_options_that_a_table_would_ignore(
    words: list[str], message: str, idle: None, error: Error
) -> None:
    assert message in error("bench", "paper", *words)


def test_online_shows_both_ways_and_draws_the_histories(
    monkeypatch: pytest.MonkeyPatch, oocdm: Callable[..., Result], tmp_path: Path
) -> None:
    earned = {"mean_return": 9.0, "standard_error": 1.0, "aill_random": 12.0}
    part = {"round": 1, "transitions": 9, "mean_return": 1.0, "aill": None}
    done = {"transitions": 9, "added": [], "removed": []}
    asked: list[Any] = []

    def run(folder: Any, tell: Any, env: str, seeds: Any) -> Any:
        asked.append((folder, env, list(seeds)))
        cell = {"env": env, "seed": 0, "online": earned, "offline": earned}
        history = {"parts": [part], "rounds": [done]}
        return {"cells": [{**cell, "difference": 0.5, "standard_error": 0.2, "history": history}]}

    monkeypatch.setattr("oocdm.bench.online.run_online", run)
    told = oocdm("bench", "online", "-o", tmp_path).stdout
    assert "0.5 ± 0.2" in told
    assert asked == [(tmp_path, "mouse", [0, 1])]
    assert (tmp_path / "online-mouse.png").is_file()
