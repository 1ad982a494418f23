"""Methods by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from oocdm.errors import ModelError, suggest
from oocdm.methods.cdl import Cdl
from oocdm.methods.cdl_a import CdlA
from oocdm.methods.gnn import Gnn
from oocdm.methods.grader import Grader
from oocdm.methods.method import AbstractMethod
from oocdm.methods.mlp import Mlp
from oocdm.methods.oocdm import Oocdm
from oocdm.methods.oofull import Oofull
from oocdm.methods.ticsa import Ticsa

METHODS: dict[str, type[AbstractMethod]] = {
    method.name: method for method in (Oocdm, Oofull, Cdl, CdlA, Grader, Ticsa, Gnn, Mlp)
}


def make_method(name: str, preset: str = "default", **options: Any) -> AbstractMethod:
    """A method by its name, with a preset and options of its own.

    >>> make_method("oocdm", threshold=0.3).name
    'oocdm'
    """
    if name not in METHODS:
        raise ModelError(f"Unknown method `{name}`. {suggest(name, METHODS)}")
    known = [f.name for f in fields(METHODS[name]) if f.name != "preset_name"]
    for option in options:
        if option not in known:
            raise ModelError(f"Method `{name}` has no option `{option}`. {suggest(option, known)}")
    return METHODS[name].preset(preset, **options)


def method_from_json(data: dict[str, Any]) -> AbstractMethod:
    """Read back what `AbstractMethod.to_json` wrote.

    >>> method = make_method("oofull", "paper")
    >>> method_from_json(method.to_json()) == method
    True
    """
    options = dict(data)
    name = str(options.pop("name", ""))
    if name not in METHODS:
        raise ModelError(f"Unknown method `{name}`. {suggest(name, METHODS)}")
    try:
        return METHODS[name].from_json(options)
    except (KeyError, TypeError) as error:
        raise ModelError(
            f"Method `{name}`: settings that this version cannot read ({error})."
        ) from None
