"""Methods by name: those of the library, and those that packages add."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oocdm.errors import ModelError
from oocdm.methods import (
    METHODS,
    AbstractMethod,
    Oocdm,
    Schedule,
    make_method,
    method_from_json,
    method_names,
    registry,
)
from oocdm.methods.cdl import Cdl
from oocdm.methods.gnn import Gnn, GnnWidths
from oocdm.models.head import HeadOptions
from oocdm.models.oocdm.options import ModelOptions

NAMES = ", ".join(method_names())


def fails(message: str) -> Any:
    return pytest.raises(ModelError, match=f"^{re.escape(message)}$")


def test_methods_by_name() -> None:
    ours, others = ["oocdm", "oofull", "oocdm+", "oofull+"], ["cdl", "cdl-a", "grader", "ticsa"]
    assert list(METHODS) == [*ours, *others, "gnn", "mlp"]
    for name, kind in METHODS.items():
        method = make_method(name)
        assert isinstance(method, kind) and isinstance(method, AbstractMethod)
        assert method.name == name
        assert method == kind() == kind.preset("default")


def test_options_reach_the_method() -> None:
    method = make_method("oocdm", "paper", threshold=0.3, num_graphs=24)
    assert isinstance(method, Oocdm)
    assert (method.threshold, method.num_graphs, method.search_name) == (0.3, 24, "leave-one-out")
    quick = Schedule(iterations=2)
    assert make_method("oofull", schedule=quick).schedule == quick
    assert make_method("oocdm", "paper", schedule=quick).schedule == quick
    small = ModelOptions(decoder_dim=8)
    for name in ("oocdm", "oofull"):
        assert make_method(name, model=small).model == small  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["oocdm", "oofull"])
@pytest.mark.parametrize("preset", ["default", "paper"])
def test_json_round_trip(name: str, preset: str) -> None:
    method = make_method(name, preset, schedule=Schedule(iterations=3, resolution=0.2))
    back = method_from_json(json.loads(json.dumps(method.to_json(), allow_nan=False)))
    assert back == method and type(back) is type(method)
    assert back.schedule == method.schedule


@pytest.mark.parametrize("name", METHODS)
def test_all_methods_are_optimised_alike(name: str) -> None:
    """Otherwise a comparison would be one of optimisers."""
    ours, theirs = make_method("oocdm").schedule, make_method(name).schedule
    differ = {"iterations", "steps_per_iteration", "patience", "batch_size"}
    assert {k for k, v in vars(theirs).items() if v != getattr(ours, k)} <= differ


def test_unknown_names() -> None:
    with fails(f"Unknown method `oocmd`. Did you mean `oocdm`? Known: {NAMES}."):
        make_method("oocmd")
    with fails(f"Unknown method `lstm`. Known: {NAMES}."):
        make_method("lstm")
    with fails("Unknown preset `papr`. Did you mean `paper`? Known: default, paper."):
        make_method("oocdm", "papr")
    with fails(
        "Method `oofull`: there is no `shedule`. Did you mean `schedule`? Known: schedule, "
        "likelihood, model."
    ):
        make_method("oofull", shedule=Schedule())
    with pytest.raises(
        ModelError, match=r"^Method `oocdm`: there is no `treshold`\. Did you mean `threshold`\?"
    ):
        make_method("oocdm", treshold=0.3)


def test_errors_of_json() -> None:
    good = Oocdm().to_json()
    with fails(f"Unknown method `oocd`. Did you mean `oocdm`? Known: {NAMES}."):
        method_from_json({**good, "name": "oocd"})
    with fails(f"Unknown method ``. Known: {NAMES}."):
        method_from_json({})
    with fails("Method: expected a mapping, got None."):
        method_from_json(None)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"there is no `hads`\. Did you mean `heads`\?"):
        method_from_json({**good, "model": {**good["model"], "hads": 2}})
    with fails(
        "Method `oocdm`: `model.heads`: expected a whole number from 1 to 65536, got 'two'."
    ):
        method_from_json({**good, "model": {**good["model"], "heads": "two"}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"treshold": 0.3}, "there is no `treshold`. Did you mean `threshold`?"),
        ({"schedule": {"iteration": 3}}, "17 problems:\n- `schedule`: there is no `iteration`."),
        ({"schedule": None}, "`schedule`: expected a Schedule or a mapping of its parts, got None"),
        ({"model": None}, "`model`: expected a ModelOptions or a mapping of its parts, got None"),
    ],
    ids=str,
)
def test_malformed_json(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=f"^Method `oocdm`: {re.escape(message)}"):
        method_from_json({**Oocdm().to_json(), **change})


@pytest.mark.parametrize("missing", ["model", "schedule", "num_graphs"])
def test_incomplete_json(missing: str) -> None:
    settings = {k: v for k, v in Oocdm().to_json().items() if k != missing}
    with fails(f"Method `oocdm`: `{missing}` is missing."):
        method_from_json(settings)


@pytest.mark.parametrize("option", ["preset_name", "is_paper", "start"])
def test_what_is_not_an_option(option: str) -> None:
    with pytest.raises(ModelError, match=f"^Method `oocdm`: there is no `{option}`"):
        make_method("oocdm", **{option: "paper"})


# ---------------------------------------------------------------- packages that do not fit


def added(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    point = EntryPoint(name, value, registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point])


def begins(message: str) -> Any:
    return pytest.raises(ModelError, match=f"^{re.escape(message)}")


def test_a_package_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    added(monkeypatch, "lost", "no_such_module:Lost")
    assert method_names()[-1] == "lost"
    with begins("Method `lost` of an installed package cannot be loaded: ModuleNotFoundError"):
        make_method("lost")
    assert make_method("oocdm").name == "oocdm"  # others are not harmed


def test_a_package_that_adds_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    added(monkeypatch, "other", "pathlib:Path")
    with begins("Method `other` of an installed package: expected a subclass of AbstractMethod"):
        make_method("other")


def test_names_that_differ_or_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    added(monkeypatch, "perceptron", "oocdm.methods.mlp:Mlp")
    with begins("Method `perceptron` of an installed package: expected its entry point to have"):
        make_method("perceptron")
    added(monkeypatch, "nameless", "oocdm.methods.method:AbstractMethod")
    with begins("Method `nameless` of an installed package: expected its entry point to have"):
        make_method("nameless")
    added(monkeypatch, "mlp", "oocdm.methods.mlp:Mlp")
    assert method_names() == list(METHODS)
    with begins("Method `mlp`: an installed package adds one of that name, but the library has"):
        make_method("mlp")


def installed(folder: Path, package: str, method: str) -> None:
    """A package with nothing but the name of a method."""
    info = folder / f"{package}-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{method} = pathlib:Path\n")


def test_packages_that_add_the_same_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for package in ("first", "second"):
        installed(tmp_path, package, "corr")
    monkeypatch.syspath_prepend(tmp_path)
    assert method_names() == [*METHODS, "corr"]
    with pytest.raises(ModelError) as error:
        make_method("corr")
    said = str(error.value)
    assert sorted(re.findall("package `(.*?)`", said)) == ["first", "second"]
    assert said.startswith("Method `corr`: expected one package that adds it, got package `")
    assert said.endswith("`. Uninstall one, or give its method another name.")
    assert make_method("oocdm").name == "oocdm"


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("name", "option", "value", "expected"),
    [
        ("grader", "alpha", 2.0, "a number above 0 and below 1"),
        ("grader", "max_samples", 3, "a whole number of at least 20"),
        ("grader", "workers", 0, "a whole number from 1 to 1024"),
        ("cdl", "encoding", -3, "a whole number from 1 to 65536"),
        ("cdl", "max_scored", 0, "a whole number of at least 1"),
        ("cdl", "encoding", "wide", "a whole number from 1 to 65536 or None"),
        ("cdl", "threshold", True, "a number or None"),
        ("cdl-a", "keys", 31, "an even number, since two heads share it"),
        ("cdl-a", "encoding", 25, "an even number, since two heads share it"),
        ("mlp", "width", 0, "a whole number from 1 to 65536"),
        ("mlp", "width", 2.5, "a whole number from 1 to 65536 or None"),
        ("ticsa", "sparsity", -1.0, "a number of at least 0"),
        ("oocdm", "num_graphs", 0, "a whole number from 1 to 65536"),
        ("oocdm", "max_scored", 0, "a whole number of at least 1"),
        ("oocdm", "contested_weight", 0, "a number above 0"),
        ("oocdm", "hide_variables", 1, "a number of at least 0 and below 1"),
        ("gnn", "widths", 3, "a GnnWidths or a mapping of its parts"),
    ],
)
def test_options_out_of_range(name: str, option: str, value: Any, expected: str) -> None:
    message = f"Method `{name}`: `{option}`: expected {expected}, got {value!r}."
    with pytest.raises(ModelError, match=re.escape(message)):
        make_method(name, **{option: value})


@pytest.mark.parametrize("name", ["oocdm", "cdl", "cdl-a"])
def test_a_threshold_that_is_no_number_is_refused_before_training(name: str) -> None:
    message = f"Method `{name}`: `threshold`: expected a finite number, got nan."
    with fails(message):
        make_method(name, threshold=float("nan"))


def test_whole_numbers_are_numbers() -> None:
    method = make_method("ticsa", sparsity=2, width=np.int64(8))
    assert json.loads(json.dumps(method.to_json()))["width"] == 8


def test_a_mapping_changes_the_schedule_of_the_preset() -> None:
    own = make_method("cdl", "paper").schedule
    changed = make_method("cdl", "paper", schedule={"iterations": 3}).schedule
    assert changed == replace(own, iterations=3)
    with pytest.raises(ModelError, match=r"there is no `iteration`\. Did you mean `iterations`\?"):
        make_method("cdl", schedule={"iteration": 3})


def test_a_mapping_changes_parts_of_any_option() -> None:
    assert make_method("gnn", widths={"node": np.int64(16)}) == Gnn(widths=GnnWidths(node=16))
    method = make_method("cdl", "paper", head={"sigma_floor": 1})
    assert method == Cdl.preset(
        "paper", head=HeadOptions(predict_change=False, clamp_means=False, sigma_floor=1)
    )
    own = Oocdm.preset("paper")
    wide = make_method("oocdm", "paper", model={"decoder_dim": 64, "aggregators": ["sum"]})
    assert wide == replace(own, model=replace(own.model, decoder_dim=64, aggregators=("sum",)))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "gnn",
            {"widths": {"nodes": 16}},
            "Method `gnn`: `widths`: there is no `nodes`. Did you mean `node`? Known: node, ",
        ),
        (
            "gnn",
            {"widths": {"node": 0}},
            "Method `gnn`: `widths.node`: expected a whole number from 1 to 65536, got 0.",
        ),
        (
            "gnn",
            {"widths": {"node": "wide"}},
            "Method `gnn`: `widths.node`: expected a whole number from 1 to 65536, got 'wide'.",
        ),
        (
            "cdl",
            {"head": {"predict_change": 1}},
            "Method `cdl`: `head.predict_change`: expected true or false, got 1.",
        ),
        ("oofull", {"model": {1: 2}}, "Method `oofull`: `model`: there is no `1`. Known: "),
        (
            "oofull",
            {"model": {"heads": 0}},
            "Method `oofull`: `model.heads`: expected a whole number from 1 to 65536, got 0.",
        ),
        (
            "oocdm",
            {"model": {"sigma_floor": -1}},
            "Method `oocdm`: `model.sigma_floor`: expected a number above 0, got -1.",
        ),
        (
            "oofull",
            {"model": {"local_dim": 31}},
            "Method `oofull`: `model`: local_dim must be a multiple of heads, got 31 and 2.",
        ),
    ],
)
def test_wrong_parts_of_options(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=f"^{re.escape(message)}"):
        make_method(name, **options)
