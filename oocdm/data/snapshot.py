"""One batch of objects at one moment, and one batch of transitions between two moments.

Axes of all values that users see: (batch, object, *the shape of the field itself).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from reprlib import repr as shortened
from typing import Any

import numpy as np
import torch
from torch import Tensor

from oocdm.data.values import is_allowed, not_allowed, say_objects
from oocdm.errors import DataError, OocdmError
from oocdm.reading import checked
from oocdm.schema import Field, FieldKey, GivenSchema, Schema

PerField = Mapping[str, Mapping[str, Tensor]]


@dataclass(frozen=True, repr=False)
class Snapshot:
    """The objects of a batch of worlds at one moment, padded to equal numbers a class.

    `values[class][field]` is (batch, object, *shape), `present[class]` (batch, object) says
    which rows are objects and which are padding, `observed[class][field]` (batch, object)
    which values are known. Padding and unknown values hold 0.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> world = Snapshot.of(Schema(Ball), {"Ball": {"x": torch.zeros(7, 3)}})
    >>> world
    Snapshot(batch of 7; Ball: 3 objects)
    >>> world["Ball.x"].shape  # or world["Ball", "x"]
    torch.Size([7, 3])
    """

    schema: Schema
    values: PerField
    present: Mapping[str, Tensor]
    observed: PerField

    @staticmethod
    @checked(DataError)
    def of(
        schema: GivenSchema,
        values: Mapping[str, Mapping[str, Any]],
        present: Mapping[str, Any] | None = None,
    ) -> Snapshot:
        """A snapshot from its values, which are all known.

        All objects of classes of which `present` says nothing are there. It must tell how many
        objects there are of a class that has no values, since all its fields are actions. Arrays
        and lists become tensors of their own, in the dtypes of their fields. Rows that are no
        objects become 0, whatever they hold.

        >>> from oocdm.schema import Integer, ObjectClass
        >>> class Ball(ObjectClass):
        ...     hue = Integer(0, 9)
        >>> Snapshot.of(Schema(Ball), {"Ball": {"hue": [[1, 2, 3]]}})["Ball.hue"]
        tensor([[1, 2, 3]])
        """
        masks = {} if present is None else present
        for name in (*values, *masks):
            schema.fields(name)  # which says so if there is no such class
        given = {
            c: {
                f: _to_tensor(f"values[{c!r}][{f!r}]", v, schema.field(c, f).dtype)
                for f, v in values.get(c, {}).items()
            }
            for c in schema.classes
        }
        chosen: dict[str, Tensor] = {}
        observed: dict[str, dict[str, Tensor]] = {}
        for name, fields in given.items():
            if name in masks:
                chosen[name] = _to_tensor(f"present[{name!r}]", masks[name], np.bool_).bool()
            elif fields:
                first = next(iter(fields.values()))
                chosen[name] = torch.ones(first.shape[:2], dtype=torch.bool, device=first.device)
            else:
                raise DataError(
                    f"Snapshot.of: class `{name}`: expected values, or `present` to tell how many "
                    f"objects there are, got neither. Give present={{{name!r}: ...}}, booleans of "
                    "shape (batch, object)."
                )
            observed[name] = dict.fromkeys(fields, chosen[name])
        made = Snapshot(schema, given, chosen, observed)
        made._check_made()
        return made._without_padding()

    def _without_padding(self) -> Snapshot:
        """The snapshot with 0 in rows that are no objects, all other values being allowed."""
        values: dict[str, dict[str, Tensor]] = {}
        for c, fields in self.values.items():
            present, values[c] = self.present[c], {}
            is_full = bool(present.all())
            for f, value in fields.items():
                field = self.schema.field(c, f)
                if not is_full:
                    absent = ~present.view(*present.shape, *[1] * len(field.shape))
                    value = value.masked_fill(absent, 0)
                _check_values(f"Snapshot.of: `{c}.{f}`", field, value, present)
                values[c][f] = value
        return Snapshot(self.schema, values, self.present, self.observed)

    def _check_made(self) -> None:
        """Raise a `DataError` if what was given to `of` has not the shapes it must have."""
        first, batch = next((c, mask.shape[:1]) for c, mask in self.present.items())
        for c, mask in self.present.items():
            fields = self.schema.fields(c)
            for f, value in self.values[c].items():
                own = fields[f].shape
                if value.ndim != 2 + len(own) or value.shape[2:] != own:
                    raise DataError(
                        f"Snapshot.of: values[{c!r}][{f!r}]: expected shape "
                        f"({', '.join(['batch', 'object', *map(str, own)])}), got "
                        f"{tuple(value.shape)}. A single world is a batch of 1, as x[None]."
                    )
            if mask.ndim != 2 or mask.shape[:1] != batch:
                raise DataError(
                    f"Snapshot.of: class `{c}`: expected shape (batch, object), with the same "
                    f"batch in every class, got {tuple(mask.shape)}, and in `{first}` "
                    f"{tuple(self.present[first].shape)}."
                )
            for f, value in self.values[c].items():
                if value.shape[:2] != mask.shape:
                    raise DataError(
                        f"Snapshot.of: values[{c!r}][{f!r}]: expected shape "
                        f"{(*mask.shape, *fields[f].shape)}, got {tuple(value.shape)}. `present`, "
                        f"or else the first field of `{c}`, tells how many objects there are."
                    )

    def __getitem__(self, key: FieldKey) -> Tensor:
        class_name, field_name = self.schema.split(key)
        if field_name not in self.values[class_name]:
            raise DataError(
                f"Field `{class_name}.{field_name}` is not in this snapshot: "
                "the state after a step has no actions yet."
            )
        return self.values[class_name][field_name]

    def __repr__(self) -> str:
        masks = {c: present.cpu().numpy() for c, present in self.present.items()}
        counts = ", ".join(f"{c}: {say_objects(mask.sum(1))}" for c, mask in masks.items())
        return f"Snapshot(batch of {self.batch_size}; {counts})"

    @property
    def batch_size(self) -> int:
        """Number of worlds."""
        return next(iter(self.present.values())).shape[0]

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return next(iter(self.present.values())).device

    @property
    def counts(self) -> dict[str, int]:
        """Number of object rows of each class, padding included."""
        return {name: present.shape[1] for name, present in self.present.items()}

    def absent(self, class_name: str) -> Tensor | None:
        """Which rows of a class are no objects, (batch, object); None if all are.

        >>> from oocdm.schema import ObjectClass, Real
        >>> class Ball(ObjectClass):
        ...     x = Real()
        >>> here = {"Ball": torch.tensor([[True, False]])}
        >>> Snapshot.of(Schema(Ball), {"Ball": {"x": torch.ones(1, 2)}}, here).absent("Ball")
        tensor([[False,  True]])
        """
        present = self.present[class_name]
        return None if bool(present.all()) else ~present

    @property
    def is_all_known(self) -> bool:
        """Whether every value of every object is known."""
        return all(
            known is self.present[c] or bool((known | ~self.present[c]).all())
            for c, fields in self.observed.items()
            for known in fields.values()
        )

    def check(
        self,
        where: str,
        schema: Schema,
        whose: str,
        error: type[OocdmError],
        with_actions: bool = False,
    ) -> None:
        """Raise `error` unless this has a schema, and all its fields in their shapes.

        `whose` schema it is, say "model", is part of the message. Actions may be missing unless
        they are asked for.
        """
        difference = None if self.schema is schema else schema.difference(self.schema)
        if difference is not None:
            raise error(
                f"{where}: expected a state of the {whose}'s schema, got another one: {difference} "
                f"({whose} against state). Give a state of the {whose}'s world."
            )
        batch = next((mask.shape[:1] for mask in self.present.values()), None)
        for c in schema.classes:
            present = self.present.get(c)
            if present is None or present.ndim != 2 or present.shape[:1] != batch:
                got = "none" if present is None else f"shape {tuple(present.shape)}"
                raise error(
                    f"{where}: present[{c!r}]: expected booleans of shape (batch, object), with "
                    f"the same batch in every class, got {got}. Make states with Snapshot.of."
                )
            for f, field in schema.fields(c).items():
                if with_actions or not field.action:
                    wrong = self._wrong_shape(c, f, (*present.shape, *field.shape))
                    maker = "with_actions" if field.action else "Snapshot.of"
                    if wrong is not None:
                        raise error(f"{where}: {wrong} Make it with {maker}.")

    def _wrong_shape(self, c: str, f: str, shape: tuple[int, ...]) -> str | None:
        """In words, what is wrong with the tensors of a field; None if nothing is."""
        for what, tensors, expected in (
            ("values", self.values, shape),
            ("observed", self.observed, shape[:2]),
        ):
            tensor = tensors.get(c, {}).get(f)
            if tensor is None or tuple(tensor.shape) != expected:
                got = "none" if tensor is None else f"shape {tuple(tensor.shape)}"
                return (
                    f"{what}[{c!r}][{f!r}]: expected shape {expected} (batch, object, ...), got "
                    f"{got}."
                )
        return None

    def joined(self, values: PerField) -> Snapshot:
        """The snapshot with further values of the objects that are present, 0 for others.

        Nothing is checked, which inner loops would pay for.

        >>> from oocdm.schema import ObjectClass, Real
        >>> class Ball(ObjectClass):
        ...     x = Real()
        ...     push = Real(action=True)
        >>> world = Snapshot.of(Schema(Ball), {"Ball": {"x": torch.zeros(1, 2)}})
        >>> world.joined({"Ball": {"push": torch.ones(1, 2)}})["Ball.push"]
        tensor([[1., 1.]])
        """
        all_values = {c: {**x, **values.get(c, {})} for c, x in self.values.items()}
        observed = {
            c: {**x, **dict.fromkeys(values.get(c, {}), self.present[c])}
            for c, x in self.observed.items()
        }
        return Snapshot(self.schema, all_values, self.present, observed)

    def map(self, change: Callable[[Tensor], Tensor]) -> Snapshot:
        """The snapshot with every tensor replaced by `change` of it."""
        return Snapshot(
            self.schema,
            {c: {f: change(v) for f, v in fields.items()} for c, fields in self.values.items()},
            {c: change(v) for c, v in self.present.items()},
            {c: {f: change(v) for f, v in fields.items()} for c, fields in self.observed.items()},
        )

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Snapshot:
        """Move to a device; real numbers also to a dtype."""

        def move(tensor: Tensor) -> Tensor:
            is_real = tensor.is_floating_point()
            return tensor.to(device=device, dtype=dtype if is_real else None)

        return self.map(move)

    def hide(self, hidden: PerField) -> Snapshot:
        """The snapshot with some variables unobserved, as if nobody had logged them.

        `hidden[class][field]` is (batch or 1, object); classes and fields may be left out.

        >>> from oocdm.schema import ObjectClass, Real
        >>> class Ball(ObjectClass):
        ...     x = Real()
        >>> world = Snapshot.of(Schema(Ball), {"Ball": {"x": torch.ones(1, 3)}})
        >>> world.hide({"Ball": {"x": torch.tensor([[False, True, False]])}})["Ball.x"]
        tensor([[1., 0., 1.]])
        """
        values = {c: dict(fields) for c, fields in self.values.items()}
        observed = {c: dict(fields) for c, fields in self.observed.items()}
        for c, fields in hidden.items():
            for f, mask in fields.items():
                value = self[c, f]
                if mask.shape not in {(rows, value.shape[1]) for rows in (1, len(value))}:
                    raise DataError(
                        f"hide `{c}.{f}`: expected a mask of shape ({len(value)} or 1, "
                        f"{value.shape[1]}), got {tuple(mask.shape)}."
                    )
                values[c][f] = value.masked_fill(
                    mask.reshape(*mask.shape, *[1] * (value.ndim - 2)), 0
                )
                observed[c][f] = observed[c][f] & ~mask
        return Snapshot(self.schema, values, self.present, observed)


def _check_values(where: str, field: Field, value: Tensor, present: Tensor) -> None:
    """Raise a `DataError` if objects have values that are no numbers, or no choices of the field.

    Real numbers beyond their bounds may pass: simulators of one's own come there by rounding.
    """
    is_real = field.is_real
    # Nearly always all is well, which costs little to see.
    if value.numel() == 0 or (is_real and math.isfinite(float(value.sum()))):
        return
    if not is_real and not field.out_of_domain(np.array(value.aminmax())).any():
        return
    objects = value.detach()[present].cpu().numpy()
    wrong = ~(np.isfinite(objects) if is_real else is_allowed(field, objects))
    if wrong.any():
        raise DataError(not_allowed(where, field, objects[wrong][0].item()))


def _to_tensor(where: str, value: Any, dtype: type[np.generic]) -> Tensor:
    """Numbers as a tensor of the kind of that dtype; a tensor of that kind as it is."""
    is_real = dtype is np.float32
    if isinstance(value, Tensor):
        if value.is_floating_point() if is_real else value.dtype == torch.int64:
            return value
        if is_real or not value.is_floating_point():
            return value.to(torch.float32 if is_real else torch.int64)
    array = value.detach().cpu().numpy() if isinstance(value, Tensor) else _to_array(value)
    kinds = {np.float32: "numbers", np.int64: "whole numbers", np.bool_: "booleans"}
    if array.dtype.kind not in "biuf" or not (is_real or (array == np.floor(array)).all()):
        raise DataError(
            f"Snapshot.of: {where}: expected {kinds[dtype]} in rows of equal lengths, got "
            f"{shortened(value)}. Give a tensor, an array or lists, (batch, object, ...)."
        )
    device = value.device if isinstance(value, Tensor) else None
    return torch.tensor(array.astype(dtype), device=device)


def _to_array(value: Any) -> np.ndarray:
    try:
        return np.asarray(value)
    except (TypeError, ValueError):  # such as rows that are not equally long
        return np.zeros(0, dtype=object)


@dataclass(frozen=True)
class Transitions:
    """A batch of transitions: the objects before a step (with actions) and after it.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> world = Snapshot.of(Schema(Ball), {"Ball": {"x": torch.zeros(7, 3)}})
    >>> Transitions(world, world).batch_size
    7
    """

    before: Snapshot
    after: Snapshot

    @property
    def schema(self) -> Schema:
        """The schema of both snapshots."""
        return self.before.schema

    @property
    def batch_size(self) -> int:
        """Number of transitions."""
        return self.before.batch_size

    def counted(self, class_name: str) -> Tensor:
        """Objects that likelihoods count: those present before and after, (batch, object)."""
        return self.before.present[class_name] & self.after.present[class_name]

    def known(self, class_name: str, field_name: str) -> Tensor:
        """Counted objects whose value of a field after the step is known, (batch, object)."""
        return self.counted(class_name) & self.after.observed[class_name][field_name]

    def select(self, rows: Tensor | slice) -> Transitions:
        """The transitions of some rows."""
        return Transitions(self.before.map(lambda t: t[rows]), self.after.map(lambda t: t[rows]))

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Transitions:
        """Move to a device; real numbers also to a dtype."""
        return Transitions(self.before.to(device, dtype), self.after.to(device, dtype))
