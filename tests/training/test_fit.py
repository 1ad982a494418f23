"""`fit`: what it keeps, what it repeats, where it stops, what it refuses."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from oocdm import (
    Categorical,
    DataError,
    Dataset,
    FitResult,
    GraphError,
    ModelError,
    ObjectClass,
    Oofull,
    Progress,
    Real,
    Schedule,
    Schema,
    evaluate,
    fit,
    load,
    load_dataset,
    resume,
)
from oocdm.graph import ClassEdges, ClassGraph
from oocdm.training import Trainer
from oocdm.training.run import CHECKPOINT
from tests.inference.ragged import ragged
from tests.training.toys import (
    DATA,
    HIDING,
    METHODS,
    Ball,
    Interrupt,
    Sum,
    assert_same,
    interrupt,
    stop_at,
)

pytestmark = pytest.mark.usefixtures("short_rounds")

# ---------------------------------------------------------------- interruptions


@pytest.mark.parametrize(
    ("phase", "step"),
    [
        ("learn", 2),  # before there is any checkpoint
        ("learn", 4),  # after the last step of a round, before its discovery
        ("learn", 7),
        ("learn", 12),
        ("polish", 1),
        ("polish", 5),
        ("polish", 7),
        ("copy", 1),
        ("copy", 3),
    ],
)
def test_a_resumed_run_equals_the_uninterrupted_one(
    phase: str, step: int, tmp_path: Path, finished: dict[str, FitResult]
) -> None:
    interrupt(tmp_path, METHODS["oocdm"], phase, step)
    assert (tmp_path / CHECKPOINT).exists() == ((phase, step) not in [("learn", 2), ("learn", 4)])
    torch.manual_seed(99)  # another process
    found = resume(tmp_path, DATA)
    assert_same(found, finished["oocdm"])
    assert_same(load(tmp_path), finished["oocdm"])


@pytest.mark.parametrize("name", ["paper", "oofull", "oocdm+"])
def test_other_methods_resume_too(
    name: str, tmp_path: Path, finished: dict[str, FitResult]
) -> None:
    interrupt(tmp_path, METHODS[name], "learn", 7)
    assert_same(resume(tmp_path, DATA), finished[name])


def test_many_interruptions(tmp_path: Path, finished: dict[str, FitResult]) -> None:
    interrupt(tmp_path, METHODS["oocdm"], "learn", 6)
    for phase, step in [("learn", 10), ("learn", 10), ("polish", 2), ("polish", 6)]:
        with pytest.raises(Interrupt):
            resume(tmp_path, DATA, callback=stop_at(phase, step))
    steps: list[tuple[str, int]] = []
    found = resume(tmp_path, DATA, callback=lambda p: steps.append((p.phase, p.step)))
    assert_same(found, finished["oocdm"])
    copied = [("copy", i) for i in range(1, 5)]
    assert steps == [("polish", 4), ("polish", 5), ("polish", 6), ("polish", 7), *copied]


def test_an_end_between_training_and_saving(
    tmp_path: Path, finished: dict[str, FitResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise Interrupt

    with monkeypatch.context() as patch, pytest.raises(Interrupt):
        patch.setattr(FitResult, "write", fail)
        fit(DATA, METHODS["oocdm"], seed=6, folder=tmp_path)
    steps: list[Progress] = []
    assert_same(resume(tmp_path, DATA, callback=steps.append), finished["oocdm"])
    assert steps == []  # nothing was left to do


def test_a_known_graph_survives_an_interruption(tmp_path: Path) -> None:
    graph = ClassGraph.random(DATA.schema, 0.5, np.random.default_rng(0))
    whole = fit(DATA, METHODS["oocdm"], seed=6, graph=graph)
    with pytest.raises(Interrupt):
        fit(DATA, METHODS["oocdm"], 6, graph, folder=tmp_path, callback=stop_at("learn", 7))
    assert_same(resume(tmp_path, DATA), whole)


def test_a_folder_changes_nothing(tmp_path: Path, finished: dict[str, FitResult]) -> None:
    assert_same(fit(DATA, METHODS["oocdm"], seed=6, folder=tmp_path), finished["oocdm"])
    assert_same(load(tmp_path), finished["oocdm"])


# ---------------------------------------------------------------- seeds


def test_the_same_seed_gives_the_same_bits(finished: dict[str, FitResult]) -> None:
    torch.manual_seed(1)
    np.random.seed(1)
    state = torch.random.get_rng_state()
    again = fit(DATA, METHODS["oocdm"], seed=6)
    assert_same(again, finished["oocdm"])
    # And the caller's random numbers are left alone.
    assert torch.equal(torch.random.get_rng_state(), state)


def test_another_seed_gives_other_weights(finished: dict[str, FitResult]) -> None:
    other = fit(DATA, METHODS["oofull"], seed=5)
    ours = dict(finished["oofull"].model.named_parameters())
    for name, parameter in other.model.named_parameters():
        if parameter.ndim > 2:  # biases may be zero in both
            assert not torch.equal(parameter, ours[name]), name


# ---------------------------------------------------------------- hidden variables


@pytest.mark.parametrize(("phase", "step"), [("learn", 7), ("polish", 5)])
def test_hiding_survives_an_interruption(phase: str, step: int, tmp_path: Path) -> None:
    interrupt(tmp_path, HIDING, phase, step)
    uninterrupted = fit(DATA, HIDING, seed=6)
    assert_same(resume(tmp_path, DATA), uninterrupted)
    assert_same(load(tmp_path), uninterrupted)


@pytest.mark.parametrize("probability", [-0.1, 1.0])
def test_a_probability_of_hiding(probability: float) -> None:
    with pytest.raises(ModelError, match=r"`hide_variables`: expected a number of at least 0"):
        fit(DATA, hide_variables=probability)


# ---------------------------------------------------------------- the graph


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_known_graph_is_kept_exactly(name: str, seed: int) -> None:
    # Untestable edges included: it is the user's graph.
    graph = ClassGraph.random(DATA.schema, 0.5, np.random.default_rng(seed))
    result = fit(DATA, METHODS[name], graph=graph)
    assert result.graph == graph
    assert np.isnan(result.evidence.score).all()
    words = set(result.evidence.decision[graph.mask]), set(result.evidence.decision[~graph.mask])
    assert words[0] == {"required"} and words[1] <= {"forbidden", "untestable"}


def test_discovery_never_takes_an_untestable_edge(finished: dict[str, FitResult]) -> None:
    testable = ClassEdges.of(DATA.schema).testable(DATA.max_counts)
    assert (~testable).sum() == 1
    for name in ("oocdm", "paper"):
        assert not finished[name].graph.mask[~testable].any()
        evidence = finished[name].evidence
        assert np.array_equal(~np.isnan(evidence.score), testable)
        assert np.array_equal(evidence.decision == "untestable", ~testable)
        assert np.array_equal(evidence.graph.mask, finished[name].graph.mask)


def test_oofull_predicts_with_the_full_graph(finished: dict[str, FitResult]) -> None:
    assert finished["oofull"].graph == ClassGraph.full(DATA.schema)
    assert np.isnan(finished["oofull"].evidence.score).all()


def test_a_graph_of_another_schema() -> None:
    message = (
        "The graph is for another schema. They differ in classes ['Ball'] against ['Ball', 'Sum']."
    )
    with pytest.raises(GraphError, match=f"^{re.escape(message)}$"):
        fit(DATA, graph=ClassGraph.full(Schema(Ball)))


# ---------------------------------------------------------------- progress and its end


def test_max_seconds_ends_training_early() -> None:
    seen: list[Progress] = []
    long = Schedule(iterations=500, steps_per_iteration=500, polish_steps=500, batch_size=32)
    result = fit(DATA, Oofull(schedule=long), callback=seen.append, max_seconds=0.0)
    # One step of each phase, so that what is returned is whole.
    assert [(p.phase, p.step) for p in seen] == [("learn", 1), ("polish", 1), ("copy", 1)]
    assert math.isfinite(evaluate(result, DATA).aill)


def test_max_seconds_of_plenty_changes_nothing(finished: dict[str, FitResult]) -> None:
    assert_same(fit(DATA, METHODS["oofull"], seed=6, max_seconds=1e12), finished["oofull"])


def test_a_resumed_run_keeps_its_time_limit(tmp_path: Path) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.phase == "polish":
            raise KeyboardInterrupt

    long = Schedule(iterations=500, steps_per_iteration=500, polish_steps=500, batch_size=32)
    with pytest.raises(KeyboardInterrupt):
        fit(DATA, Oofull(schedule=long), folder=tmp_path, callback=interrupt, max_seconds=0.0)
    assert resume(tmp_path, DATA).history[-1]["step"] == 1


@pytest.mark.parametrize(
    "name", ["schema.json", "model.safetensors", "graph.json", "seen.json", "history.json"]
)
def test_a_run_that_ends_while_it_is_written_can_go_on(
    name: str, tmp_path: Path, finished: dict[str, FitResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = os.replace
    learned = []

    def cut(source: Any, target: Any) -> None:
        if Path(target).name == name and (learned or name == "schema.json"):
            raise Interrupt
        written(source, target)

    monkeypatch.setattr(os, "replace", cut)
    with pytest.raises(Interrupt):
        fit(DATA, METHODS["oofull"], seed=6, folder=tmp_path, callback=learned.append)
    monkeypatch.setattr(os, "replace", written)
    again = (
        fit(DATA, METHODS["oofull"], seed=6, folder=tmp_path)
        if name == "schema.json"
        else resume(tmp_path, DATA)
    )
    assert_same(again, finished["oofull"])
    assert_same(load(tmp_path), finished["oofull"])


# ---------------------------------------------------------------- data of all kinds


@pytest.mark.parametrize("name", METHODS)
def test_ragged_data_can_be_fitted(name: str) -> None:
    data = ragged(lengths=(4, 1, 3, 6))
    quick = replace(METHODS[name].schedule, iterations=1, steps_per_iteration=2)
    result = fit(data, replace(METHODS[name], schedule=quick))
    assert all(math.isfinite(row["loss"]) for row in result.history)
    assert math.isfinite(evaluate(result, data).aill)
    for tensor in result.model.state_dict().values():
        assert tensor.isfinite().all()


@pytest.mark.parametrize("name", ["type", "half", "training"])
def test_a_field_may_have_any_name(name: str) -> None:
    schema = Schema(type("Ball", (ObjectClass,), {"x": Real(), name: Real()}))
    fit(ragged(schema), METHODS["oofull"])


def test_empty_data() -> None:
    frame = pd.DataFrame({"episode": [], "step": [], "object": [], "x": []})
    with pytest.raises(DataError):
        Dataset.from_frames({"Sum": frame}, Schema(Sum))

    class Nothing:
        """What a dataset without transitions would look like, could it be made."""

        schema = DATA.schema

        def __len__(self) -> int:
            return 0

    with pytest.raises(DataError, match=r"^fit: the dataset holds no transition\.$"):
        Trainer(Nothing(), METHODS["oofull"], seed=0)  # type: ignore[arg-type]


def test_a_single_episode_cannot_be_held_out() -> None:
    one = DATA.select_episodes([0])
    with pytest.raises(DataError, match=r"^split: expected at least two episodes"):
        fit(one, METHODS["oocdm"])
    fit(one, METHODS["paper"])  # which holds nothing out


# ---------------------------------------------------------------- names and options


def test_unknown_names() -> None:
    with pytest.raises(ModelError, match=r"^Unknown method `ocdm`\. Did you mean `oocdm`\?"):
        fit(DATA, method="ocdm")
    with pytest.raises(ModelError, match=r"^Unknown preset `papers`\. Did you mean `paper`\?"):
        fit(DATA, preset="papers")
    with pytest.raises(
        ModelError, match=r"^Method `oocdm`: there is no `thresold`\. Did you mean `threshold`\?"
    ):
        fit(DATA, thresold=0.3)
    with pytest.raises(ModelError, match=r"unknown value 'adamw'\. Did you mean `adam`\?"):
        fit(DATA, schedule={"optimiser": "adamw"})


def test_a_bad_call_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        fit(DATA, method="ocdm", folder=tmp_path / "run")
    with pytest.raises(ModelError):
        fit(DATA, schedule={"optimiser": "adamw"}, folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_options_belong_to_a_name_not_to_a_method() -> None:
    for options in ({"threshold": 0.3}, {"preset": "paper"}):
        with pytest.raises(ModelError, match=r"^fit: "):
            fit(DATA, METHODS["oocdm"], **options)  # type: ignore[arg-type]


# ---------------------------------------------------------------- prior knowledge


@pytest.mark.parametrize("name", ["oocdm", "paper"])
def test_required_edges_stay_and_forbidden_ones_never_enter(name: str) -> None:
    schema = DATA.schema
    edges = ClassEdges.of(schema).edges
    c, v = next((c, v) for c in schema.classes for v in schema.targets(c))
    own = [e for e in edges if e.target == f"{c}.{v}" and e.is_local]
    rows = [str(own[0]), *(f"{e.target} <- !{e.source}" for e in own[1:])]
    for threshold in (-1e9, 1e9):  # whatever discovery would say
        method = replace(METHODS[name], threshold=threshold)
        result = fit(DATA, method, priors=rows)
        assert own[0] in result.graph
        assert not any(e in result.graph for e in own[1:])
        positions = [ClassEdges.of(schema).position[e] for e in own]
        words = result.evidence.decision[positions].tolist()
        assert words == ["required"] + ["forbidden"] * (len(own) - 1)
        others = np.setdiff1d(np.arange(len(edges)), positions)
        testable = ClassEdges.of(schema).testable(DATA.max_counts)[others]
        assert result.graph.mask[others].tolist() == (testable & (threshold < 0)).tolist()


def test_priors_are_kept_for_resuming(tmp_path: Path) -> None:
    edge = str(ClassEdges.of(DATA.schema).edges[0])
    fit(DATA, METHODS["oocdm"], priors=[edge], folder=tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["priors"] == [edge]


def test_a_known_graph_and_priors_exclude_each_other() -> None:
    graph = ClassGraph.full(DATA.schema)
    with pytest.raises(GraphError, match=r"^fit: expected a known graph or priors, got both\.$"):
        fit(DATA, METHODS["oocdm"], graph=graph, priors=[str(graph.edges()[0])])


# ---------------------------------------------------------------- what is given


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("data/train", "fit: `data`: expected an oocdm.Dataset, got str 'data/train'. Load it: "),
        (Path("data"), "got PosixPath 'data'. Load it: oocdm.load_dataset('data')."),
        (pd.DataFrame(), "got DataFrame. Make one with oocdm.Dataset.from_frames"),
    ],
    ids=["text", "path", "frame"],
)
def test_what_is_no_dataset(given: Any, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        fit(given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "fit: `seed`: expected a whole number of at least 0, got -1."),
        ({"seed": "a"}, "fit: `seed`: expected a whole number of at least 0, got 'a'."),
        ({"seed": 2**64}, "fit: `seed`: expected a whole number of at least 0 that fits into 64"),
        ({"preset": None}, "fit: `preset`: expected text, got None."),
        ({"max_seconds": -1}, "fit: `max_seconds`: expected a number of at least 0, got -1."),
        ({"max_seconds": "9"}, "`max_seconds`: expected a number of at least 0 or None, got '9'."),
        ({"max_seconds": math.nan}, "expected a finite number of at least 0, got nan."),
        ({"device": "gpu"}, "`device`: expected one that torch can use here, such as cpu, got"),
        ({"device": "cuda:99"}, "`device`: expected one that torch can use here"),
        (
            {"schedule": {"iterations": 0}},
            "`schedule.iterations`: expected a whole number of at least 1",
        ),
        (
            {"schedule": {"iterations": 1.5}},
            "iterations`: expected a whole number of at least 1 or None, got 1.5",
        ),
        (
            {"schedule": {"batch_size": 0}},
            "`schedule.batch_size`: expected a whole number of at least 1",
        ),
        ({"schedule": {"polish_steps": -1}}, ".polish_steps`: expected a whole number of at least"),
        ({"schedule": {"learning_rate": -1.0}}, "expected a number above 0, got -1.0."),
        (
            {"schedule": {"learning_rate": "fast"}},
            "`schedule.learning_rate`: expected a number above 0, got 'fast'.",
        ),
        ({"schedule": {"held_out": 1}}, "expected a number of at least 0 and below 1, got 1"),
        (
            {"schedule": {"resolution": math.nan}},
            "expected a finite number of at least 0",
        ),
    ],
)
def test_settings_that_mean_nothing(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        fit(DATA, folder=tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_a_known_graph_may_be_given_as_rows(finished: dict[str, FitResult]) -> None:
    rows = ["Ball.x <- self.x, self.push", "Sum.x <- Ball[*].x"]
    known = ClassGraph.parse(DATA.schema, rows)
    method = METHODS["oocdm"]
    assert_same(fit(DATA, method, graph=rows), fit(DATA, method, graph=known))
    with pytest.raises(GraphError, match=r"^Expected a class graph, got a variable graph"):
        fit(DATA, method, graph=["Ball[1].x <- Ball[0].x"])
    with pytest.raises(GraphError, match=r"`graph`: expected a graph, or rows such as .* got int"):
        fit(DATA, method, graph=3)  # type: ignore[arg-type]


def test_a_folder_of_other_things_is_left_alone(
    tmp_path: Path, finished: dict[str, FitResult]
) -> None:
    DATA.save(tmp_path / "data")
    (tmp_path / "file").write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for name, message in (
        ("data", r"expected a new folder, got .*data, which holds "),
        ("file", r"expected a new folder, got .*file, which holds file. Choose another."),
    ):
        with pytest.raises(ModelError, match=message):
            fit(DATA, METHODS["oofull"], folder=tmp_path / name)
        with pytest.raises(ModelError, match=message):
            finished["oofull"].save(tmp_path / name)
    assert before == {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    finished["oofull"].save(tmp_path / "run")
    with pytest.raises(ModelError, match=r"holds a run already\. Choose another folder, or go on"):
        finished["oofull"].save(tmp_path / "run")


def test_a_run_goes_on_with_its_own_data_only(
    tmp_path: Path, finished: dict[str, FitResult]
) -> None:
    interrupt(tmp_path / "run", METHODS["oocdm"], "learn", 7)
    fewer = DATA.select_episodes(DATA.episode_ids[:-1])
    with pytest.raises(DataError, match=r"resume: expected the data that run .* was begun with"):
        resume(tmp_path / "run", fewer)
    with pytest.raises(DataError, match=r"resume: `data`: expected an oocdm\.Dataset, got"):
        resume(tmp_path / "run", "data/x")  # type: ignore[arg-type]
    DATA.save(tmp_path / "data")
    assert_same(resume(tmp_path / "run", load_dataset(tmp_path / "data")), finished["oocdm"])


def test_what_is_not_finished_says_how_to_go_on(tmp_path: Path) -> None:
    interrupt(tmp_path, METHODS["oocdm"], "learn", 7)
    with pytest.raises(ModelError, match=r"is not finished\. Go on with it: oocdm\.resume or"):
        load(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "data": str(tmp_path / "moved")}))
    with pytest.raises(DataError, match=r"was begun with the dataset .*moved: .* say where it is"):
        resume(tmp_path)


def test_running_out_of_time_is_said(caplog: pytest.LogCaptureFixture) -> None:
    result = fit(DATA, METHODS["oofull"], max_seconds=0.0)
    assert result.ran_out and "time ran out" in repr(result)
    done = "1 of at most 12 steps of learning and 1 of 7 of polishing"
    assert f"fit: time ran out after {done}. What it found is preliminary" in caplog.text


def test_categories_may_be_many() -> None:
    class Car(ObjectClass):
        zone = Categorical(100, static=True)
        route = Categorical(70)

    data = ragged(Schema(Car), (12,) * 4, slots={"Car": 2}, is_whole=True)
    for method in (METHODS["oocdm"], METHODS["paper"]):
        assert math.isfinite(evaluate(fit(data, method), data).aill)
