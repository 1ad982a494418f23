"""Methods by name: those of the library, and those that installed packages add.

A package adds a method by an entry point in the group `oocdm.methods`, whose name is the method's.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from oocdm.errors import ModelError
from oocdm.methods.cdl import Cdl
from oocdm.methods.cdl_a import CdlA
from oocdm.methods.gnn import Gnn
from oocdm.methods.grader import Grader
from oocdm.methods.method import AbstractMethod
from oocdm.methods.mlp import Mlp
from oocdm.methods.oocdm import Oocdm
from oocdm.methods.oocdm_plus import OocdmPlus
from oocdm.methods.oofull import Oofull
from oocdm.methods.oofull_plus import OofullPlus
from oocdm.methods.ticsa import Ticsa
from oocdm.reading import known_name, read, read_parts

GROUP = "oocdm.methods"
METHODS: dict[str, type[AbstractMethod]] = {
    method.name: method
    for method in (Oocdm, Oofull, OocdmPlus, OofullPlus, Cdl, CdlA, Grader, Ticsa, Gnn, Mlp)
}


def method_names() -> list[str]:
    """The names of all methods, those of other packages last.

    >>> method_names()[:4]
    ['oocdm', 'oofull', 'oocdm+', 'oofull+']
    """
    return [*METHODS, *(name for name in _added() if name not in METHODS)]


def method_class(name: str) -> type[AbstractMethod]:
    """A method by its name.

    >>> method_class("gnn").__name__
    'Gnn'
    """
    known_name(name, method_names(), "method", ModelError)
    added = _added().get(name, [])
    if not added:
        return METHODS[name]
    origin = " and ".join(_package(each) for each in added)
    if name in METHODS:
        raise ModelError(
            f"Method `{name}`: {origin} adds one of that name, but the library has it already. "
            "Give it another name there."
        )
    if len(added) > 1:
        raise ModelError(
            f"Method `{name}`: expected one package that adds it, got {origin}. Uninstall one, or "
            "give its method another name."
        )
    try:
        found = added[0].load()
    except Exception as error:
        raise ModelError(f"Method `{name}` of {origin} cannot be loaded: {error!r}.") from error
    if not (isinstance(found, type) and issubclass(found, AbstractMethod)):
        raise ModelError(
            f"Method `{name}` of {origin}: expected a subclass of AbstractMethod, got {found!r}."
        )
    own = getattr(found, "name", None)
    if own != name:
        raise ModelError(
            f"Method `{name}` of {origin}: expected its entry point to have the method's own "
            f"name, got `{name}` for `{own}`."
        )
    return found


def make_method(name: str, preset: str = "default", **options: Any) -> AbstractMethod:
    """A method by its name, with a preset and options of its own.

    An option with parts, such as `schedule`, may be a mapping: it changes parts of the preset's.

    >>> make_method("oocdm", threshold=0.3).name
    'oocdm'
    >>> make_method("cdl", schedule={"iterations": 3}).schedule.batch_size
    256
    """
    return configured(name, preset, options)


def configured(name: str, preset: str, options: Mapping[str, Any]) -> AbstractMethod:
    """As `make_method`, with the options in a mapping: their names may be any.

    >>> configured("oocdm", "default", {"name": "cdl"})
    Traceback (most recent call last):
    ...
    oocdm.errors.ModelError: Method `oocdm`: there is no `name`. Did you mean ...
    """
    chosen = method_class(name)
    changes = read_parts(chosen.preset(preset), options, f"Method `{name}`", ModelError)
    return chosen.preset(preset, **changes)


def method_from_json(
    data: dict[str, Any], own: type[AbstractMethod] | None = None
) -> AbstractMethod:
    """Read back what `AbstractMethod.to_json` wrote; `own` is a class that no package adds.

    >>> method = make_method("oofull", "paper")
    >>> method_from_json(method.to_json()) == method
    True
    """
    options: dict[str, Any] = read(dict[str, Any], data, "Method", ModelError)
    name = str(options.pop("name", ""))
    chosen = method_class(name) if own is None else own
    try:
        return chosen.from_json(options)
    except (KeyError, TypeError) as error:
        raise ModelError(
            f"Method `{name}`: settings that this version cannot read ({error})."
        ) from None


def _added() -> dict[str, list[EntryPoint]]:
    """What other packages add: more than one if they have the same name for it."""
    added: dict[str, list[EntryPoint]] = {}
    for each in entry_points(group=GROUP):
        added.setdefault(each.name, []).append(each)
    return added


def _package(point: EntryPoint) -> str:
    return f"package `{point.dist.name}`" if point.dist else "an installed package"
