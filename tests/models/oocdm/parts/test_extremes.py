"""The largest and smallest values among the other objects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

import oocdm
from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.parts.extremes import Extremes, largest_and_smallest
from oocdm.models.oocdm.view import View
from oocdm.models.scales import Scales
from oocdm.schema import Categorical, ObjectClass, Schema
from tests.models.oocdm.worlds import SCHEMA, ants, model_of, view_of
from tests.models.strategies import Case, alike, cases, random_transitions


def part_of(model: OocdmModel, c: str) -> Extremes:
    part = model.predictors[c].parts["extremes"]
    assert isinstance(part, Extremes)
    return part


def seen_alone(part: Extremes, k: str, f: str, view: View) -> Tensor:
    """The columns of one field as single targets make them."""
    return part._of_view(k, f, view, part.scale[:, part.at(k, f)])


def extremes_of(c: str, before: Snapshot | None = None) -> dict[tuple[str, str, int, str], list]:
    """Extremes of one class in the first world, by name."""
    model = model_of()
    rows = model.inputs(before or ants()).extra["extremes", c][0]
    names: list[tuple[str, str, int, str]] = []
    for i, column in enumerate(part_of(model, c).columns):
        # Of a field come all components of the largest, of the smallest, and so less one's own.
        k, f = column.source_class, column.source_field
        size = SCHEMA.field(k, f).size
        place = i - part_of(model, c).at(k, f).start
        end = "max" if place // size % 2 == 0 else "min"
        names.append((k, f, place % size, end + ("-own" if column.is_difference else "")))
    assert len(set(names)) == rows.shape[1]
    return {name: rows[:, i].tolist() for i, name in enumerate(names)}


def test_extremes_are_over_other_known_objects() -> None:
    found = extremes_of("Ant")
    assert found["Hill", "x", 0, "max"] == [5, 5, 5]
    assert found["Hill", "x", 0, "min-own"] == [3, 0, 0]
    # The second ant's x is unknown, the third is no ant.
    assert found["Ant", "x", 0, "max"] == [0, 2, 2]
    assert found["Ant", "cell", 0, "max"] == [0, 0, 0]
    assert found["Ant", "cell", 1, "max"] == [2, 2, 2]
    assert found["Ant", "cell", 1, "max-own"] == [0, 0, 0]
    assert found["Ant", "awake", 0, "min"] == [-1, 1, -1]
    # Categories have no order, and cells of another size no difference.
    assert not any(field == "colour" for _, field, _, _ in found)
    assert ("Hill", "cell", 0, "max-own") not in found


def test_extremes_of_one_object_over_its_own_class_are_zero() -> None:
    found = extremes_of("Hill")
    assert found["Hill", "x", 0, "max"] == [0]
    assert found["Hill", "x", 0, "max-own"] == [0]
    assert found["Ant", "x", 0, "max-own"] == [-3]


def test_extremes_over_absent_objects_are_zero() -> None:
    before = ants()
    nobody = replace(before, present={**before.present, "Ant": torch.zeros(1, 3, dtype=torch.bool)})
    found = extremes_of("Hill", nobody)
    assert all(row == [0] for (k, _, _, _), row in found.items() if k == "Ant")


def test_plain_inputs_have_no_extremes() -> None:
    model = model_of(ModelOptions(enrich=False, pairs=False))
    assert not model.inputs(ants()).extra
    assert "extremes" not in model.predictors["Ant"].parts


def test_extremes_are_measured_over_present_objects() -> None:
    model, data = (
        model_of(),
        random_transitions(SCHEMA, {"Ant": 3, "Hill": 2}, 20, np.random.default_rng(0)),
    )
    raw = model.inputs(data.before).extra["extremes", "Ant"][data.before.present["Ant"]]
    model.measure(data)
    mean, sd = part_of(model, "Ant").scale
    torch.testing.assert_close(mean, raw.mean(0).float().double())
    expected = raw.std(0).float().double()
    torch.testing.assert_close(sd, torch.where(expected > 0, expected, 1.0))
    found = model.inputs(data.before).extra["extremes", "Ant"]
    is_there = raw != 0  # what is not known stays 0
    rows = found[data.before.present["Ant"]]
    torch.testing.assert_close(rows[is_there], ((raw - mean) / sd)[is_there])


def test_units_are_not_measured_where_options_say_so() -> None:
    model = model_of(ModelOptions(normalise=False))
    model.measure(random_transitions(SCHEMA, {"Ant": 3, "Hill": 2}, 20, np.random.default_rng(0)))
    assert part_of(model, "Ant").scale.unique().tolist() == [0, 1]


def test_a_world_without_numbers_can_be_measured() -> None:
    schema = Schema(type("Coin", (ObjectClass,), {"face": Categorical(2)}))
    data = random_transitions(schema, {"Coin": 2}, 5, np.random.default_rng(0))
    model = OocdmModel(schema, ModelOptions(), Scales.measure(data))
    model.measure(data)
    assert part_of(model, "Coin").scale.shape == (2, 0)
    assert model.inputs(data.before).extra["extremes", "Coin"].shape == (5, 2, 0)


def test_units_are_saved_with_the_weights() -> None:
    model, fresh = model_of(), model_of()
    model.measure(random_transitions(SCHEMA, {"Ant": 3, "Hill": 2}, 20, np.random.default_rng(0)))
    assert not torch.equal(part_of(model, "Ant").scale, part_of(fresh, "Ant").scale)
    fresh.load_state_dict(model.state_dict())
    ours, theirs = (m.inputs(ants()).extra["extremes", "Ant"] for m in (model, fresh))
    assert torch.equal(ours, theirs)


@settings(max_examples=40)
@given(cases(alike()))
@torch.no_grad()
def test_single_targets_see_what_all_see(case: Case) -> None:
    """Bit for bit, whether or not objects are missing."""
    model, before = case.model(), case.known
    view, extra = view_of(model, before), model.inputs(before).extra
    for c in model.predictors:
        if "extremes" in model.predictors[c].parts:
            part = part_of(model, c)
            for k, f in part.fields:
                found, here = seen_alone(part, k, f, view), before.present[c]
                expected = extra["extremes", c][..., part.at(k, f)]
                assert torch.equal(found[here], expected[here])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extremes_of_full_worlds_are_those_of_all_worlds(dtype: torch.dtype) -> None:
    data = oocdm.collect(oocdm.make("mouse", num_food=3, num_monsters=1), steps=40, seed=0)
    transitions: Transitions = data.transitions()
    model = OocdmModel(data.schema, ModelOptions(), Scales.measure(transitions))
    model.measure(transitions)
    model.to(dtype)
    view = view_of(model, transitions.before)
    extra = model.inputs(transitions.before).extra
    for c in model.predictors:
        part = part_of(model, c)
        found = torch.cat([seen_alone(part, k, f, view) for k, f in part.fields], -1)
        assert found.dtype == dtype
        assert torch.equal(found, extra["extremes", c])


def test_a_column_needs_its_edges() -> None:
    """The global one from its source, and for a difference also the local one."""
    model = model_of()
    part, layout = part_of(model, "Ant"), model.layout

    def allowed(*names: str) -> set[tuple[str, str, bool]]:
        masks = Masks(layout, model.structures(layout.parse(list(names))))
        flags = part.allowed(masks)[0, 0]
        assert not part.allowed(masks)[0, 1:].any()
        columns = [column for column, flag in zip(part.columns, flags, strict=True) if flag]
        return {(x.source_class, x.source_field, x.is_difference) for x in columns}

    assert allowed("Ant.x <- self.x") == set()
    assert allowed("Ant.x <- Hill[*].x") == {("Hill", "x", False)}
    both = allowed("Ant.x <- Hill[*].x", "Ant.x <- self.x")
    assert both == {("Hill", "x", False), ("Hill", "x", True)}
    assert allowed("Ant.x <- Ant[*].cell", "Ant.x <- self.x") == {("Ant", "cell", False)}


@pytest.mark.parametrize("of_others", [False, True])
def test_ends_are_found_by_going_through_all(of_others: bool) -> None:
    torch.manual_seed(0)
    for objects in range(5):
        numbers = torch.randint(0, 3, (20, objects, 2)).double()
        numbers[torch.rand(numbers.shape) < 0.4] = torch.nan
        high, low = largest_and_smallest(numbers, of_others)
        for b, i, d in np.ndindex(20, objects if of_others else 1, 2):
            seen = [
                x
                for j, x in enumerate(numbers[b, :, d].tolist())
                if x == x and not (of_others and i == j)
            ]
            expected = [max(seen), min(seen)] if seen else [np.nan, np.nan]
            np.testing.assert_equal([high[b, i, d].item(), low[b, i, d].item()], expected)
        full = numbers.nan_to_num(nan=1.0)
        for ours, theirs in zip(
            largest_and_smallest(full, of_others),
            largest_and_smallest(full, of_others, all_known=True),
            strict=True,
        ):
            np.testing.assert_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("size", [2.0**-27, 1.0, 2.0**27])
def test_what_never_varied_is_in_units_of_its_field(size: float) -> None:
    """Both balls are equally heavy in training: their difference is 0 in any unit."""

    class Ball(ObjectClass):
        mass = oocdm.Real()

    schema, masses = Schema(Ball), size * torch.tensor([[1.0], [2.0], [6.0]]).expand(3, 2)
    state = Snapshot.of(schema, {"Ball": {"mass": masses}})
    data = Transitions(state, state)
    model = OocdmModel(schema, ModelOptions(), Scales.measure(data))
    model.measure(data)
    other = Snapshot.of(schema, {"Ball": {"mass": size * torch.tensor([[1.0, 4.0]])}})
    differences = model.inputs(other).extra["extremes", "Ball"][0, 0, 2:]
    torch.testing.assert_close(
        differences, torch.full((2,), 3 / np.std([1, 2, 6, 1, 2, 6], ddof=1))
    )
