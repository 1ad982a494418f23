"""The predictors of one class: which parts they have, and where their features stand."""

from __future__ import annotations

import pytest
import torch

from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.predictor import paths_of
from tests.models.oocdm.worlds import model_of

BOTH = ("attention", "sum")


@pytest.mark.parametrize(
    ("options", "parts", "paths"),
    [
        (ModelOptions(), ["local", "messages", "extremes"], ("network", "messages", "extremes")),
        (ModelOptions.preset("paper"), ["local", "attention"], ()),
        (ModelOptions(linear_path=False, enrich=False), ["local", "messages"], ("messages",)),
        (
            ModelOptions(aggregators=BOTH),
            ["local", "attention", "messages", "extremes"],
            ("network", "messages", "extremes"),
        ),
    ],
    ids=["default", "paper", "plain", "both"],
)
def test_options_choose_parts_and_paths(
    options: ModelOptions, parts: list[str], paths: tuple[str, ...]
) -> None:
    model = model_of(options)
    predictor = model.predictors["Ant"]
    assert list(predictor.parts) == parts
    assert paths_of(options) == model.layout.paths == paths
    assert (predictor.linear_map is None) == (not options.linear_path)


def test_features_stand_one_after_the_other() -> None:
    predictor = model_of(ModelOptions(aggregators=BOTH)).predictors["Ant"]
    end = 0
    for part, start in predictor.features():
        assert start == end
        end += part.width
    assert end == predictor.network.weight1.shape[1] == predictor.linear_map.weight.shape[2]


def test_the_first_layer_begins_network_and_linear_map() -> None:
    model = model_of()
    predictor = model.predictors["Ant"]
    masks = Masks(model.layout, model.structures(model.layout.structure(True)))
    layer = predictor.first_layer(masks)
    outputs = model.heads["Ant"].num_outputs
    assert layer.widths == [32, outputs]
    first = torch.randn(3, 10, 32 + outputs, dtype=torch.float64)
    out, linear = predictor.finish(first.clone(), layer.widths, masks, (5, 2))
    assert linear is not None
    assert torch.equal(linear[4, 1, 2], first[2, 9, 32:])
    torch.testing.assert_close(
        out, predictor.network.finish(first[..., :32].clone(), masks, "Ant", (5, 2))
    )
    plain = model_of(ModelOptions(linear_path=False, structure_aware=False))
    masks = Masks(plain.layout, plain.structures(plain.layout.structure(True)))
    layer = plain.predictors["Ant"].first_layer(masks)
    assert layer.widths == [32]
    assert plain.predictors["Ant"].finish(first[..., :32], [32], masks, (5, 2))[1] is None
