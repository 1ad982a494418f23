"""The object's own fields."""

from __future__ import annotations

import torch

from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.parts.part import Seen
from tests.models.oocdm.worlds import SCHEMA, ants, model_of


@torch.no_grad()
def test_the_first_layer_reads_only_the_fields_that_are_parents() -> None:
    model = model_of(ModelOptions(linear_path=False, structure_aware=False))
    predictor, layout = model.predictors["Ant"], model.layout
    part = predictor.parts["local"]
    structure = layout.parse(["Ant.x <- self.push", "Ant.cell <- self.x", "Ant.cell <- self.awake"])
    masks = Masks(layout, model.structures(structure))
    layer = predictor.first_layer(masks).of_features(0, part.width)
    weight, bias = part.weigh(layer, masks)
    assert bias is not None
    seen = model.see(model.inputs(ants()))
    found = (part.rows(seen)[0] @ weight[0]).unflatten(1, (3, -1)) + bias[:, 0]
    codes = seen.encoded["Ant"][0].unflatten(1, (5, -1))
    for i, parents in enumerate((["push"], ["x", "awake"], [])):
        mask = torch.tensor([[float(f in parents)] for f in SCHEMA.fields("Ant")]).double()
        own = (codes * mask).flatten(1) @ part.weight[:, i] + part.bias[i]
        expected = own @ predictor.network.weight1[i, : part.width] + predictor.network.bias1[i]
        torch.testing.assert_close(found[:, i], expected)


def test_it_is_no_path_and_in_every_network() -> None:
    for options in (ModelOptions(), ModelOptions.preset("paper")):
        model = model_of(options)
        assert next(iter(model.predictors["Ant"].parts)) == "local"
        assert "local" not in model.layout.paths


def test_it_reads_the_encodings_of_its_own_class() -> None:
    model = model_of()
    encoded = {"Ant": torch.ones(1, 3, 2), "Hill": torch.zeros(1, 1, 2)}
    seen = Seen(model.inputs(ants()), encoded, {})
    assert model.predictors["Hill"].parts["local"].rows(seen) is seen.encoded["Hill"]
