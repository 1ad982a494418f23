"""What every world model can do: units that live once, structures, copies and defaults."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.errors import ModelError
from oocdm.graph import ClassGraph, Neighbours
from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.prediction import Predictions
from oocdm.models.scales import Scales
from oocdm.models.world_model import AbstractPredictor, GraphPredictor
from oocdm.schema import Integer, ObjectClass, Real, Schema
from tests.models.strategies import Case, assert_near, cases, parameters_of, random_transitions


class Ball(ObjectClass):
    x = Real()
    cell = Integer(0, 3, shape=(2,))


class Wall(ObjectClass):
    x = Real(static=True)


SCHEMA = Schema(Ball, Wall)
FULL = ClassGraph.full(SCHEMA)
COUNTS = {"Ball": 3, "Wall": 2}


def some_data(spread: float, seed: int) -> Transitions:
    """Real numbers that lie around 100 with a spread."""
    data = random_transitions(SCHEMA, COUNTS, 30, np.random.default_rng(seed))

    def move(snapshot: Snapshot) -> Snapshot:
        return snapshot.map(lambda t: 100 + spread * t if t.is_floating_point() else t)

    return Transitions(move(data.before), move(data.after))


def measured(data: Transitions, seed: int = 0) -> OocdmModel:
    torch.manual_seed(seed)
    model = OocdmModel(SCHEMA, ModelOptions(), Scales.measure(data))
    model.measure(data)
    return model


def everything(model: OocdmModel, before: Snapshot) -> list[torch.Tensor]:
    """All inputs, and predictions by all evaluators."""
    inputs, full = model.inputs(before), model.structure(FULL)
    around = Neighbours(full, {"Ball": np.arange(3)})
    with torch.no_grad():
        predictions = [
            *model(inputs, model.structures(full)),
            model.predict_literally(inputs, model.structures(full)),
            model.compile_neighbours(around)(inputs),
            model.compile_for(full)(before),
        ]
    found = [*inputs.features.values(), *inputs.values.values(), *inputs.extra.values()]
    return found + [t for p in predictions for _, _, tensors in parameters_of(p) for t in tensors]


def are_same(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


# ---------------------------------------------------------------- units


def test_loaded_weights_bring_the_only_scales() -> None:
    """Inputs, extremes and predictions follow; nothing remembers the scales from before."""
    ours, theirs = some_data(1.0, 0), some_data(50.0, 1)
    before = theirs.before
    wide, model = measured(theirs, seed=1), measured(ours)
    fresh = OocdmModel(SCHEMA, ModelOptions())
    assert not are_same(everything(model, before), everything(wide, before))
    for each in (model, fresh):
        each.inputs(before)  # what it may have kept of its first scales
        each.load_state_dict(wide.state_dict())
        assert are_same(everything(each, before), everything(wide, before))
        for c, f in (("Ball", "x"), ("Ball", "cell"), ("Wall", "x")):
            scale, expected = each.scale(c, f), Scales.measure(theirs).fields[c, f]
            assert torch.equal(scale.value_sd, expected.value_sd)
            assert torch.equal(each.featuriser.scales[c].of(f).value_mean, expected.value_mean)


def test_there_is_one_tensor_of_each_scale() -> None:
    model = measured(some_data(1.0, 0))
    for each in (model, model.copy(), model.literal(), model.copy().double()):
        for c in SCHEMA.classes:
            assert each.featuriser.scales[c] is each.heads[c].scales
        for c in each.predictors:
            for part, _ in each.predictors[c].features():
                assert part.place.featuriser is each.featuriser
    names = [name for name in model.state_dict() if name.endswith("value_sd")]
    assert names == [f"heads.of_{c}.scales.value_sd" for c in SCHEMA.classes]


def test_a_change_of_the_scales_changes_all_that_reads_them() -> None:
    data = some_data(1.0, 0)
    model = measured(data)
    twin, before = model.copy(), everything(model, data.before)
    twin.heads["Ball"].scales.value_sd.mul_(2)
    inputs, changed = model.inputs(data.before), twin.inputs(data.before)
    halved, whole = (each.features["Ball"][:, :, 0, 0] for each in (changed, inputs))
    torch.testing.assert_close(2 * halved, whole)
    assert not are_same(everything(twin, data.before), before)
    assert are_same(everything(model, data.before), before)


def test_copies_and_other_precisions_keep_the_scales() -> None:
    data = some_data(50.0, 0)
    model = measured(data)
    assert are_same(everything(model.copy(), data.before), everything(model, data.before))
    double = model.copy().double()
    assert double.dtype == torch.float64
    assert all(t.dtype == torch.float64 for t in double.inputs(data.before).features.values())
    for x, y in zip(everything(double, data.before), everything(model, data.before), strict=True):
        torch.testing.assert_close(x, y.double(), rtol=1e-3, atol=1e-3)
    # Precise ones also in the last digits: what was rounded are only the scales.
    double.load_state_dict(measured(some_data(1.0, 1)).state_dict())
    single = measured(some_data(1.0, 1))
    for c in SCHEMA.classes:
        for name, scale in single.heads[c].scales.named_buffers():
            assert torch.equal(double.heads[c].scales.get_buffer(name), scale.double())


def test_a_model_knows_whether_it_has_scales() -> None:
    assert measured(some_data(1.0, 0)).knows_scales
    assert not OocdmModel(SCHEMA, ModelOptions()).knows_scales
    paper = ModelOptions.preset("paper")
    assert not OocdmModel(SCHEMA, paper, Scales.measure(some_data(1.0, 0))).knows_scales


def test_the_resolution_is_a_share_of_the_change_or_of_the_value() -> None:
    model = measured(some_data(1.0, 0))
    scales = model.heads["Ball"].scales
    scales.change_sd[0] = 0.0
    blur = model.resolution(0.1)
    torch.testing.assert_close(blur["Ball"][0, :1], 0.1 * model.scale("Ball", "x").value_sd)
    torch.testing.assert_close(blur["Ball"][1], 0.1 * model.scale("Ball", "cell").change_sd)
    assert blur["Wall"].shape[0] == 0


# ---------------------------------------------------------------- structures


def test_structures_have_the_paths_that_the_model_has_chosen() -> None:
    model = OocdmModel(SCHEMA, ModelOptions()).double()
    model.paths[1] = 0.0
    structure = model.structure(FULL)
    assert structure.graph == FULL and structure.paths.tolist() == [True, False, *[True] * 8]
    free = structure.with_paths(True)
    rows = model.structures(FULL, free)
    assert rows.dtype == torch.float64
    assert torch.equal(rows, model.rows(np.stack([structure.flags, free.flags])))
    assert torch.equal(rows, model.rows(rows.bool()))


def test_a_structure_of_another_layout_is_not_misread() -> None:
    """Two paths each, but others: the same flags mean something else."""
    model = OocdmModel(SCHEMA, ModelOptions(linear_path=False))
    other = OocdmModel(SCHEMA, ModelOptions(enrich=False)).layout.structure(True)
    message = (
        r"^Structure: expected one of this model's .*, got one of another, .*`model\.layout`\.$"
    )
    for use in (
        model.structures,
        model.compile_for,
        lambda structure: model.compile_neighbours(Neighbours(structure, {})),
    ):
        with pytest.raises(ModelError, match=message):
            use(other)


def test_masks_may_be_on_another_device() -> None:
    model = OocdmModel(SCHEMA, ModelOptions())
    rows = torch.ones(2, len(model.layout), device="meta")
    part = model.predictors["Ball"].parts["extremes"]
    assert part.allowed(Masks(model.layout, rows)).device.type == "meta"


def test_a_batch_that_cannot_be_shared_is_an_error() -> None:
    model = OocdmModel(SCHEMA, ModelOptions())
    inputs = model.inputs(some_data(1.0, 0).before)
    start = "The batch is divided evenly among the structures: expected a batch size that is a "
    with pytest.raises(ModelError, match=rf"^{start}multiple of 7, got 30\.$"):
        model(inputs, model.structures(*[FULL] * 7))
    with pytest.raises(ModelError, match=rf"^{start}multiple of 0, got 30\.$"):
        model(inputs, model.structures(FULL)[:0])


@settings(max_examples=20)
@given(cases(batch_size=2))
def test_the_general_way_to_compile_is_the_models_call(case: Case) -> None:
    """What a model has that does not bring its own."""
    model = case.model()
    structure = case.structure(model)
    general = GraphPredictor(model, structure)
    with torch.no_grad():
        (expected,) = model(model.inputs(case.before), model.structures(structure))
    assert_near(general(case.before), expected)
    assert not any(t.requires_grad for _, _, p in parameters_of(general(case.before)) for t in p)


def test_a_predictor_gives_each_target_from_all_unless_it_knows_better() -> None:
    class Same(AbstractPredictor):
        def __call__(self, before: Snapshot) -> Predictions:
            return Predictions(before.schema, {})

    before = some_data(1.0, 0).before
    assert isinstance(Same().each(before), Predictions)
