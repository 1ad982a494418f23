"""Numbers that networks read, computed by hand."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
import torch

from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.models.features import Featuriser, Inputs, are_equal, comparable
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.scales import ClassScales, Scale, Scales
from oocdm.schema import Boolean, Categorical, Integer, ObjectClass, Real, Schema


class Ant(ObjectClass):
    x = Real()
    cell = Integer(0, 2, shape=(2,))
    awake = Boolean()
    colour = Categorical(["red", "blue"], static=True)
    push = Real(action=True)


class Hill(ObjectClass):
    x = Real()
    cell = Integer(0, 2)


SCHEMA = Schema(Ant, Hill)


def world() -> Snapshot:
    """Three ants and one hill; the third ant is padding, the second's x is unknown."""
    present = {"Ant": torch.tensor([[True, True, False]]), "Hill": torch.tensor([[True]])}
    snapshot = Snapshot.of(
        SCHEMA,
        {
            "Ant": {
                "x": torch.tensor([[2.0, 0.0, 0.0]]),
                "cell": torch.tensor([[[0, 2], [0, 2], [0, 0]]]),
                "awake": torch.tensor([[1, 0, 0]]),
                "colour": torch.tensor([[0, 1, 0]]),
                "push": torch.tensor([[0.5, -1.0, 0.0]]),
            },
            "Hill": {"x": torch.tensor([[5.0]]), "cell": torch.tensor([[1]])},
        },
        present,
    )
    known = {**snapshot.observed["Ant"], "x": torch.tensor([[True, False, False]])}
    return replace(snapshot, observed={**snapshot.observed, "Ant": known})


def featuriser_of(
    schema: Schema = SCHEMA,
    enrich: bool = True,
    scales: Scales | None = None,
    flag_unknown: bool = False,
) -> Featuriser:
    used = scales or Scales.unit(schema)
    of_classes = {c: ClassScales(schema, c, used).double() for c in schema.classes}
    return Featuriser(schema, of_classes, enrich, flag_unknown)


def inputs(enrich: bool, before: Snapshot | None = None, scales: Scales | None = None) -> Inputs:
    return featuriser_of(SCHEMA, enrich, scales).inputs(before or world(), torch.float64)


def test_plain_features_are_numbers_and_codes_of_categories() -> None:
    features = inputs(enrich=False).features["Ant"][0, 0]
    assert features.tolist() == [[2, 0], [0, 2], [1, 0], [1, 0], [0.5, 0]]


def test_enriched_features_also_code_whole_numbers() -> None:
    first, second, padding = inputs(enrich=True).features["Ant"][0]
    assert first[1].tolist() == [0, 2, *(1, 0, 0), *(0, 0, 1)]
    assert first[2].tolist() == [1, 0, 1, 0, 0, 0, 0, 0]
    assert second[2].tolist() == [-1, 1, 0, 0, 0, 0, 0, 0]
    assert not second[0].any()
    assert not padding.any()


def test_features_are_in_units_of_the_spread() -> None:
    scales = Scales.unit(SCHEMA)
    one = torch.ones(1)
    fields = {**scales.fields, ("Ant", "x"): Scale(one, 4 * one, one, one)}
    features = inputs(enrich=False, scales=Scales(fields)).features["Ant"]
    assert features[0, :, 0, 0].tolist() == [0.25, 0, 0]


def test_values_are_the_raw_state() -> None:
    made = inputs(enrich=True)
    assert made.values["Ant"][0, 0].tolist() == [[2, 0], [0, 2], [1, 0]]
    assert made.known["Ant"][0].tolist() == [[True] * 3, [False, True, True], [False] * 3]


@pytest.mark.parametrize("enrich", [False, True])
def test_unknown_values_may_be_flagged(enrich: bool) -> None:
    """By one more number in the end; padding is not unknown."""
    plain = inputs(enrich)
    flagging = featuriser_of(SCHEMA, enrich, flag_unknown=True)
    flagged = flagging.inputs(world(), torch.float64)
    for i, f in enumerate(SCHEMA.fields("Ant")):
        width = flagging.field_width("Ant", f) - 1
        features = flagged.features["Ant"][0, :, i]
        assert torch.equal(features[:, :width], plain.features["Ant"][0, :, i, :width])
        assert features[:, width].tolist() == [0, 1 if f == "x" else 0, 0]
        assert not features[:, width + 1 :].any()


def test_targets_are_known_where_an_object_stays_and_is_observed() -> None:
    before = world()
    present = {"Ant": torch.tensor([[True, False, True]]), "Hill": torch.tensor([[True]])}
    after = Snapshot.of(SCHEMA, before.values, present)
    unseen = {**after.observed["Hill"], "x": torch.tensor([[False]])}
    after = replace(after, observed={**after.observed, "Hill": unseen})
    featuriser = featuriser_of()
    targets = featuriser.targets(Transitions(before, after), torch.float32)
    assert targets.known["Ant"][0].tolist() == [[True] * 3, [False] * 3, [False] * 3]
    assert targets.known["Hill"].tolist() == [[[False, True]]]
    assert targets.values["Ant"].shape == (1, 3, 3, 2)
    assert targets.values["Hill"].dtype == torch.float32


def test_map_reaches_every_tensor() -> None:
    before = world().map(lambda t: t.repeat(3, *[1] * (t.ndim - 1)))
    model = OocdmModel(SCHEMA, ModelOptions()).double()
    picked = model.inputs(before).map(lambda t: t[:2])
    assert picked.extra
    assert picked.batch_size == 2
    groups = [getattr(picked, field.name) for field in fields(picked)]
    assert {len(t) for group in groups for t in group.values()} == {2}


@pytest.mark.parametrize("enrich", [False, True])
def test_a_class_without_targets_has_inputs_only(enrich: bool) -> None:
    schema = Schema(Ant, type("Sun", (ObjectClass,), {"heat": Real(static=True)}))
    values = {"Ant": dict(world().values["Ant"]), "Sun": {"heat": torch.ones(1, 2)}}
    before = Snapshot.of(schema, values)
    featuriser = featuriser_of(schema, enrich)
    made = featuriser.inputs(before, torch.float64)
    assert made.features["Sun"].shape == (1, 2, 1, 1)
    assert made.values["Sun"].shape == (1, 2, 0, 1)
    assert featuriser.targets(Transitions(before, before), torch.float64).known["Sun"].shape[2] == 0


def test_repeated_inputs_come_one_batch_after_the_other() -> None:
    two = inputs(enrich=True, before=world().map(lambda t: t.repeat(2, *[1] * (t.ndim - 1))))
    two.values["Hill"][1] = 7.0
    again = two.repeat(2)
    assert again.batch_size == 4
    assert torch.equal(again.values["Hill"], torch.cat([two.values["Hill"]] * 2))
    targets = featuriser_of().targets(Transitions(world(), world()), torch.float64)
    repeated = targets.repeat({"Ant": 3})
    assert list(repeated.values) == list(repeated.known) == ["Ant"]
    assert len(repeated.values["Ant"]) == len(repeated.known["Ant"]) == 3


def test_others_are_present_and_not_oneself() -> None:
    made = inputs(enrich=True)
    assert made.others("Ant", "Ant")[0].tolist() == [
        [False, True, False],
        [True, False, False],
        [True, True, False],
    ]
    assert made.others("Hill", "Ant").tolist() == [[[True]]]


def test_fields_compare_by_name_kind_and_shape() -> None:
    assert comparable(SCHEMA, "Ant", "Ant") == ["x", "cell", "awake", "colour", "push"]
    assert comparable(SCHEMA, "Hill", "Ant") == comparable(SCHEMA, "Ant", "Hill") == ["x"]


def test_values_are_equal_in_all_components() -> None:
    cells = torch.tensor([[[0, 2], [0, 1]]])
    assert are_equal(cells, cells)[0].tolist() == [[True, False], [False, True]]
