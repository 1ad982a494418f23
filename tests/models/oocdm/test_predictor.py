"""The predictors of one class: which parts they have, and where their features stand."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.predictor import paths_of
from tests.models.oocdm.worlds import SCHEMA, model_of

BOTH = ("attention", "sum")


@pytest.mark.parametrize(
    ("options", "parts", "paths"),
    [
        (
            ModelOptions(),
            ["local", "messages", "extremes", "pairs"],
            ("network", "products", "messages", "extremes", "pairs"),
        ),
        (
            ModelOptions(pairs=False, product_rank=0),
            ["local", "messages", "extremes"],
            ("network", "messages", "extremes"),
        ),
        (ModelOptions.preset("paper"), ["local", "attention"], ()),
        (
            ModelOptions(linear_path=False, enrich=False, pairs=False),
            ["local", "messages"],
            ("messages",),
        ),
        (
            ModelOptions(aggregators=BOTH),
            ["local", "attention", "messages", "extremes", "pairs"],
            ("network", "products", "messages", "extremes", "pairs"),
        ),
    ],
    ids=["default", "no pairs or products", "paper", "plain", "both"],
)
def test_options_choose_parts_and_paths(
    options: ModelOptions, parts: list[str], paths: tuple[str, ...]
) -> None:
    model = model_of(options)
    predictor = model.predictors["Ant"]
    assert list(predictor.parts) == parts
    assert paths_of(options) == model.layout.paths == paths
    assert (predictor.linear_map is None) == (not options.linear_path)
    assert (predictor.products is None) == ("products" not in paths)


def test_features_stand_one_after_the_other() -> None:
    predictor = model_of(ModelOptions(aggregators=BOTH)).predictors["Ant"]
    end = 0
    for part, start in predictor.features():
        assert start == end
        end += part.width
    assert end == predictor.network.weight1.shape[1] == predictor.linear_map.weight.shape[2]


def test_the_first_layer_begins_network_and_linear_map() -> None:
    model = model_of(ModelOptions(product_rank=3))
    predictor = model.predictors["Ant"]
    masks = Masks(model.layout, model.structures(model.layout.structure(True)))
    layer = predictor.first_layer(masks)
    outputs = model.heads["Ant"].num_linear_outputs
    assert layer.widths == {"network": 32, "linear map": outputs, "products": 6}
    first = torch.randn(3, 10, 38 + outputs, dtype=torch.float64)
    out, beside = predictor.finish(first.clone(), layer, masks, (5, 2))
    assert beside is not None
    factors = first[2, 9, 32 + outputs :]
    multiplied = (factors[:3] * factors[3:]) @ predictor.products.second[2]
    torch.testing.assert_close(beside[4, 1, 2], first[2, 9, 32 : 32 + outputs] + multiplied)
    torch.testing.assert_close(
        out, predictor.network.finish(first[..., :32].clone(), masks, "Ant", (5, 2))
    )
    plain = model_of(ModelOptions(linear_path=False, structure_aware=False))
    masks = Masks(plain.layout, plain.structures(plain.layout.structure(True)))
    layer = plain.predictors["Ant"].first_layer(masks)
    assert layer.widths == {"network": 32}
    assert plain.predictors["Ant"].finish(first[..., :32], layer, masks, (5, 2))[1] is None


def test_late_parts_leave_the_first_weights_of_others_as_they_are() -> None:
    """Else whether a model may have pairs would change what is learned without them."""

    def weights(**options: Any) -> dict[str, torch.Tensor]:
        torch.manual_seed(0)
        return dict(OocdmModel(SCHEMA, ModelOptions(**options)).named_parameters())

    plain, rich = weights(pairs=False, product_rank=0), weights(pairs=True, product_rank=4)
    assert set(plain) < set(rich)
    for name, weight in plain.items():
        if name.endswith("network.weight1"):
            assert torch.equal(rich[name][:, : weight.shape[1]], weight)
            assert rich[name][:, weight.shape[1] :].any()
        elif weight.any():
            assert torch.equal(rich[name], weight), name
        else:  # weights of elements, of which there are more
            assert not rich[name].any(), name
