"""A world with a class of nothing but actions: knobs that somebody turns, and lamps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from oocdm import ClassGraph
from oocdm.schema import Categorical, ObjectClass, Real, Schema
from tests.inference.ragged import ragged, random_model


class Knob(ObjectClass):
    turn = Categorical(3, action=True)


class Lamp(ObjectClass):
    x = Real()


SCHEMA = Schema(Knob, Lamp)
DATA = ragged(SCHEMA, is_whole=True, slots={"Knob": 2, "Lamp": 3})
RESULT: Any = SimpleNamespace(model=random_model(DATA), graph=ClassGraph.full(SCHEMA))
