"""Variables as a person names them: the object by its place, or as it was logged."""

from __future__ import annotations

import re

from oocdm.data.dataset import Dataset
from oocdm.errors import DataError, suggest
from oocdm.graph import Variable

_FORM = re.compile(r"(?P<class>[^\s\[\].,]+)\[(?P<object>[^\[\]]+)\]\.(?P<field>[^\s\[\].,]+)")


def read_variable(where: str, name: str, data: Dataset, episode: int) -> Variable:
    """Read `Light[0].phase`, or `Light[L0].phase` of the object that an episode logged as L0.

    A number is always a place.

    >>> import pandas as pd
    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Light(ObjectClass):
    ...     x = Real()
    >>> keys = {"episode": 0, "step": [0, 0, 1, 1], "object": ["L0", "L1"] * 2}
    >>> log = pd.DataFrame({**keys, "x": 1.0})
    >>> data = Dataset.from_frames({"Light": log}, Schema(Light))
    >>> str(read_variable("do", "Light[L1].x", data, episode=0))
    'Light[1].x'
    """
    found = _FORM.fullmatch(name) if isinstance(name, str) else None
    if found is None or re.fullmatch("[0-9]+", found["object"]):
        return Variable.parse(str(name))
    c, logged = found["class"], found["object"]
    data.schema.fields(c)  # an unknown class is the first thing to say
    names = _names(data, c, episode)
    if logged not in names:
        raise DataError(
            f"{where} `{name}`: episode {episode} has no object that was logged as `{logged}`. "
            f"{suggest(logged, filter(None, names))} Or give its place, as in `{c}[0]`; "
            f"data.object_ids[{c!r}] says who stands where."
        )
    return Variable(c, names.index(logged), found["field"])


def place_hint(data: Dataset, variable: Variable, episode: int) -> str:
    """The end of a message about an object that is not there, if a name was meant as a place."""
    names = _names(data, variable.class_name, episode)
    if str(variable.object) not in names or names.index(str(variable.object)) == variable.object:
        return ""
    place = f"{variable.class_name}[{names.index(str(variable.object))}]"
    return f" Objects are numbered by place: what was logged as {variable.object} is {place}."


def _names(data: Dataset, class_name: str, episode: int) -> list[str]:
    """How the objects of an episode were logged, one a place; "" where there never is any."""
    objects = data.objects_in(episode, class_name)
    names = [""] * (max(objects.values(), default=-1) + 1)
    for name, place in objects.items():
        names[place] = str(name)
    return names
