"""What the methods of classes share: the network's options."""

from __future__ import annotations

import json
import re

import pytest

from oocdm.envs.block import SCHEMA
from oocdm.errors import ModelError
from oocdm.methods import Oocdm, Oofull
from oocdm.methods.class_method import PAPER_SCHEDULE, AbstractClassMethod
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.scales import Scales

KINDS: list[type[AbstractClassMethod]] = [Oocdm, Oofull]


@pytest.mark.parametrize("kind", KINDS)
def test_a_preset_chooses_network_and_schedule(kind: type[AbstractClassMethod]) -> None:
    paper = kind.preset("paper")
    assert paper.model == ModelOptions.preset("paper") and paper.schedule == PAPER_SCHEDULE
    assert kind.preset("default") == kind()
    small = ModelOptions(decoder_dim=8)
    assert kind.preset("paper", model=small).model == small
    message = "Unknown preset `papr`. Did you mean `paper`? Known: default, paper."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        kind.preset("papr")


@pytest.mark.parametrize("kind", KINDS)
def test_options_reach_the_network(kind: type[AbstractClassMethod]) -> None:
    options = ModelOptions(decoder_dim=8, heads=1)
    model = kind(model=options).build(SCHEMA, Scales.unit(SCHEMA))
    assert model.options == options and model.counts is None
    assert not kind.needs_fixed_objects


@pytest.mark.parametrize("kind", KINDS)
def test_json_gives_tuples_back(kind: type[AbstractClassMethod]) -> None:
    method = kind(model=ModelOptions(aggregators=("attention", "sum")))
    options = json.loads(json.dumps(method.to_json()))
    assert options.pop("name") == kind.name
    assert kind.from_json(options) == method
