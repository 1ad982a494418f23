"""Key-value attention as a part."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.parts.attention import Attention
from oocdm.models.oocdm.parts.part import Seen
from tests.models.oocdm.worlds import SCHEMA, ants, model_of
from tests.models.strategies import SMALL, Case, assert_near, cases

attentive = st.builds(
    lambda **o: ModelOptions(**SMALL, **o),
    aggregators=st.sampled_from([("attention",), ("attention", "sum")]),
    heads=st.sampled_from([1, 2, 4]),
    skip_unrelated=st.booleans(),
    enrich=st.booleans(),
)


@settings(max_examples=60)
@given(cases(attentive), st.sampled_from([1, 2, 6]))
@torch.no_grad()
def test_any_heads_attend_as_the_literal_ones(case: Case, num: int) -> None:
    fast, literal = case.model(), case.model(literal=True)
    inputs, structures = fast.inputs(case.before), case.structures(fast, num)
    assert_near(*fast(inputs, structures), *literal(inputs, structures))


@pytest.mark.parametrize("skip_unrelated", [False, True])
@torch.no_grad()
def test_objects_of_which_nothing_is_read_count_or_do_not(skip_unrelated: bool) -> None:
    """With the paper's network they look alike, yet each is looked at."""
    model = model_of(replace(ModelOptions.preset("paper"), skip_unrelated=skip_unrelated))
    part = model.predictors["Hill"].parts["attention"]
    assert isinstance(part, Attention)
    edges = ["Hill.x <- self.x", "Hill.x <- Hill[*].x"]  # there is no other hill
    masks = Masks(model.layout, model.structures(model.layout.parse(edges)))
    gather = part.compose(masks)
    assert gather is not None
    found = gather(model.see(model.inputs(ants())))
    if skip_unrelated:
        assert found is not None and not found.any()
    else:
        code = part.bias["Ant"] @ part.value_weight + part.value_bias.unsqueeze(1)
        expected = torch.stack([code[i, i] for i in range(2)])
        assert found is not None
        torch.testing.assert_close(found[0, 0], expected)


@torch.no_grad()
def test_where_nothing_is_read_there_is_nothing() -> None:
    model = model_of(ModelOptions(aggregators=("attention",)))
    part = model.predictors["Ant"].parts["attention"]
    assert isinstance(part, Attention)
    gather = part.compose(Masks(model.layout, model.structures(model.layout.structure(False))))
    assert gather is not None and gather(model.see(model.inputs(ants()))) is None
    full = part.compose(Masks(model.layout, model.structures(model.layout.structure(True))))
    empty = model.inputs(ants().map(lambda t: t[:, :0]))
    codes = {k: torch.zeros(1, 0, model.encoders[k].width) for k in SCHEMA.classes}
    nobody = Seen(empty, codes, {})
    assert full is not None and full(nobody) is None


def test_its_own_weights_are_no_others() -> None:
    """It reads the object's own encoding without having its weights twice."""
    part = model_of(ModelOptions(aggregators=("attention",))).predictors["Ant"].parts["attention"]
    assert sorted({name.split(".")[0] for name, _ in part.named_parameters()}) == sorted(
        [
            "weight",
            "bias",
            *(f"{n}_{w}" for n in ("query", "key", "value") for w in ("weight", "bias")),
        ]
    )
