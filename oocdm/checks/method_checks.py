"""What is expected of what a method says, each thing checked by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from oocdm.graph import Layout, Structure
from oocdm.methods import METHODS, AbstractMethod, Term, method_from_json


def name_problems(method: AbstractMethod) -> Iterator[str]:
    """Whether runs of the method can be told from those of others."""
    kind, name = type(method), getattr(method, "name", None)
    where = f"{kind.__name__}.name"
    if not isinstance(name, str) or not name:
        yield (
            f"{where}: expected a text that runs are known by, got {name!r}. Write "
            'name: ClassVar[str] = "...".'
        )
    elif METHODS.get(name, kind) is not kind:
        yield (
            f"{where}: expected a name of its own, got `{name}`, that of "
            f"{METHODS[name].__name__}, as which its runs would be read. Give it another."
        )


def dataclass_problems(method: AbstractMethod) -> Iterator[str]:
    """Whether the fields of its own class are options."""
    kind = type(method)
    if "__dataclass_fields__" not in vars(kind):
        yield (
            f"{kind.__name__}: expected a frozen dataclass, got a class that is none itself. "
            "Write @dataclass(frozen=True) above it."
        )


def json_problems(method: AbstractMethod) -> Iterator[str]:
    """Whether a run can keep the method and give it back."""
    name = type(method).__name__
    try:
        text = json.dumps(method.to_json(), allow_nan=False)
    except Exception as error:
        yield (
            f"{name}.to_json: expected options that JSON can hold, got {type(error).__name__}: "
            f"{sentence(error)} Write them as numbers, texts, lists and mappings."
        )
        return
    where = f"{name}.from_json: expected the method back that `to_json` wrote, got"
    try:
        back = method_from_json(json.loads(text), type(method))
    except Exception as error:
        said = f"{type(error).__name__}: {sentence(error)}"
        yield f"{where} {said} Make dataclasses and tuples again."
        return
    if back != method:
        yield f"{where} {back!r}. Make dataclasses and tuples again."


def start_problems(given: Any, layout: Layout) -> Iterator[str]:
    """Whether learning starts from a structure, and from flags of what is free."""
    is_pair = isinstance(given, tuple) and len(given) == 2
    if not is_pair or not all(isinstance(each, Structure) for each in given):
        yield (
            f"expected two Structures, what is in and what is free, got {_described(given)}. "
            "Return layout.structure(...), layout.structure(...)."
        )
    elif any(each.layout != layout for each in given):
        yield (
            "expected Structures of the layout that it was given, got those of another. Return "
            "layout.structure(...), layout.structure(...)."
        )


def known_problems(start: Structure, free: Structure, known: np.ndarray) -> Iterator[str]:
    """Whether a known graph is taken as it is."""
    for i in np.flatnonzero(start.edges != known)[:1]:
        what = "which it does not have" if start.edges[i] else "missing"
        yield (
            "expected the edges of a known graph and no others, got "
            f"`{start.layout.names[i]}`, {what}. Return layout.structure(known) where `known` is "
            "given."
        )
    for i in np.flatnonzero(free.edges)[:1]:
        yield (
            "expected no edge of a known graph to be free, got "
            f"`{start.layout.names[i]}`. Return layout.structure(False, False) as what is free."
        )


def term_problems(terms: Any, estimate: Structure, free: Structure) -> Iterator[str]:
    """Whether an objective scores structures, and leaves what is not free as it is."""
    layout = estimate.layout
    if not isinstance(terms, list) or not terms or not all(isinstance(t, Term) for t in terms):
        yield f"expected a list of Terms, got {_described(terms)}. Return [Term(...)]."
        return
    for term in terms:
        rows = term.structures
        flags = np.asarray(rows.detach().cpu() if isinstance(rows, torch.Tensor) else rows)
        if flags.ndim != 2 or flags.shape[1] != len(layout) or not len(flags):
            yield (
                f"expected structures as rows of {len(layout)} flags, the length of the layout, "
                f"got shape {flags.shape}. Take estimate.flags[None]."
            )
            return
        for i in np.flatnonzero((flags != estimate.flags).any(0) & ~free.flags)[:1]:
            yield (
                f"expected what is not free as the estimate has it, got `{layout.names[i]}` the "
                "other way round. Take np.where(now.free.flags, ..., now.estimate.flags)."
            )
            return


def penalty_problems(penalty: Any) -> Iterator[str]:
    """Whether a penalty is a number that can be added to a loss."""
    if penalty is None:
        return
    if not isinstance(penalty, torch.Tensor) or penalty.dim() != 0:
        yield (
            f"expected a tensor without axes or None, got {_described(penalty)}. Sum it up: "
            "penalty.sum()."
        )
    elif not bool(penalty.isfinite()):
        yield f"expected a finite number, got {float(penalty)}. Bound what is divided by."


def sentence(error: Exception) -> str:
    """What an error says, with a full stop.

    >>> sentence(ZeroDivisionError("division by zero"))
    'division by zero.'
    """
    said = str(error).rstrip()
    return said if said.endswith((".", "!", "?")) else f"{said}."


def _described(given: Any) -> str:
    """A short word for something that was expected to be something else."""
    if isinstance(given, torch.Tensor):
        return f"a tensor of shape {tuple(given.shape)}"
    if isinstance(given, (list, tuple)):
        kinds = ", ".join(sorted({type(each).__name__ for each in given})) or "nothing"
        return f"a {type(given).__name__} of {len(given)}: {kinds}"
    return type(given).__name__
