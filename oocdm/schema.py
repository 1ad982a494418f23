"""Which classes of objects exist and which fields they have.

A schema is frozen, validated when it is made, and knows nothing of tensors.
"""

from __future__ import annotations

import json
import keyword
import math
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from dataclasses import field as option
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np

from oocdm.errors import SchemaError, short, suggest
from oocdm.reading import Count, check_fields, known_name, read

# An integer field with at most this many values is treated as a choice among them
# (categorical likelihood, one-hot input) unless the user says otherwise.
MAX_CATEGORICAL_VALUES = 64

# Squares of real numbers must fit into single precision. Whole numbers must be exact in double.
LARGEST_REAL, LARGEST_INTEGER = 1e18, 2**53

Numbers = TypeVar("Numbers")  # a NumPy array or a torch tensor, of which nothing is imported here
FieldKey = str | tuple[str, str]  # "Block.s1" or ("Block", "s1")


@dataclass(frozen=True, kw_only=True)
class Field:
    """What all field types share: its role (state, action or static) and its likelihood.

    Use the field types `Real`, `Integer`, `Categorical` and `Boolean`.

    >>> Real(action=True).role
    'action'
    >>> field = Integer(3, 5)
    >>> field.is_coded, field.num_codes, field.to_codes(np.array([3, 5]))
    (True, 3, array([0, 2]))
    """

    kind: ClassVar[str]
    likelihoods: ClassVar[tuple[str, ...]]
    dtype: ClassVar[type[np.generic]] = np.int64
    largest: ClassVar[float] = LARGEST_INTEGER  # size that a value may have

    action: bool = False
    static: bool = False
    # How a model predicts it; data of it are the same whatever this says.
    likelihood: str = option(default="", compare=False)

    def __post_init__(self) -> None:
        check_fields(self, error=SchemaError)
        if self.action and self.static:
            raise SchemaError("A field is either action=True or static=True, not both.")
        if not self.likelihood:
            object.__setattr__(self, "likelihood", self._default_likelihood())
        if self.likelihood not in self.likelihoods:
            raise SchemaError(
                f"{type(self).__name__}: unknown likelihood {self.likelihood!r}. "
                f"Expected one of: {', '.join(self.likelihoods)}."
            )

    def _default_likelihood(self) -> str:
        return self.likelihoods[0]

    @property
    def is_choice(self) -> bool:
        """Whether it is predicted as a choice among its values; else as numbers."""
        return self.likelihood == "categorical"

    @property
    def may_be_mixture(self) -> bool:
        """Whether its predictions may have a narrow and a wide part."""
        return self.likelihood in ("auto", "mixture")

    def allows(self, likelihood: str) -> bool:
        """Whether such a field may have this likelihood."""
        return likelihood in self.likelihoods

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one object's value: () for a scalar."""
        return ()

    @property
    def low(self) -> float | None:
        """The lowest value allowed, None if open."""
        return None

    @property
    def high(self) -> float | None:
        """The highest value allowed, None if open."""
        return None

    @property
    def role(self) -> str:
        """Either "state", "action" or "static"."""
        return "action" if self.action else "static" if self.static else "state"

    @property
    def is_target(self) -> bool:
        """Whether the field has a predictor: state fields do, actions and static ones do not."""
        return self.role == "state"

    @property
    def size(self) -> int:
        """How many numbers one object's value has."""
        return math.prod(self.shape)

    @property
    def is_real(self) -> bool:
        """Whether values are real numbers; all others are whole."""
        return self.dtype is np.float32

    @property
    def is_numeric(self) -> bool:
        """Whether values can be ordered and subtracted."""
        return True

    @property
    def is_coded(self) -> bool:
        """Whether values are whole numbers from a list, a short one if they have an order."""
        return 0 < self.num_codes <= MAX_CATEGORICAL_VALUES or not self.is_numeric

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the values, if they have any."""
        return ()

    @property
    def num_codes(self) -> int:
        """How many different values one number of the field can take; 0 if nothing limits them."""
        if self.is_real or self.low is None or self.high is None:
            return 0
        return int(self.high) - int(self.low) + 1

    def to_codes(self, values: Numbers) -> Numbers:
        """Whole numbers as codes from 0 to `num_codes` - 1, in an array or a tensor.

        What the field does not allow gets the nearest code: unknown values and rows that are no
        objects hold 0, which need not be one of its values.
        """
        numbers: Any = values  # arrays and tensors share these operations, but no type
        first = self._first_value()
        codes: Numbers = (numbers - first if first else numbers).clip(0, self.num_codes - 1)
        return codes

    def from_codes(self, codes: Numbers) -> Numbers:
        """The values that codes stand for.

        >>> Integer(3, 5).from_codes(np.array([0, 2]))
        array([3, 5])
        """
        numbers: Any = codes
        values: Numbers = numbers + self._first_value()
        return values

    def _first_value(self) -> int:
        """The value whose code is 0."""
        if not self.num_codes:
            raise SchemaError(
                f"Codes: expected a field with a list of values, got {self!r}. Only Categorical, "
                "Boolean, and Integer with both low and high have codes."
            )
        return int(self.low or 0)

    def out_of_domain(self, values: np.ndarray) -> np.ndarray:
        """A mask of the entries that this field does not allow."""
        bad = np.zeros(values.shape, dtype=bool)
        if self.low is not None:
            bad |= values < self.low
        if self.high is not None:
            bad |= values > self.high
        return bad

    def clip(self, values: np.ndarray) -> np.ndarray:
        """The entries, those beyond the lowest or highest value allowed brought there."""
        if self.low is not None:
            values = np.maximum(values, self.low)
        return values if self.high is None else np.minimum(values, self.high)

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready description that `field_from_json` reads back."""
        return {"kind": self.kind, **asdict(self)}


def _check_numeric(field: Real | Integer) -> None:
    if isinstance(field.shape, int) and not isinstance(field.shape, bool):
        object.__setattr__(field, "shape", (field.shape,))
    check_fields(field, error=SchemaError)
    if len(field.shape) > 1:
        raise SchemaError(
            f"Field shape: expected () or one positive length such as (3,), got {field.shape!r}."
        )
    for bound in (field.low, field.high):
        if bound is not None and abs(bound) > field.largest:
            raise SchemaError(
                f"Field bounds: expected numbers from {-field.largest} to {field.largest}, or "
                f"None for an open end, got {bound!r}. Choose another unit if values are as large."
            )
    if field.low is not None and field.high is not None and field.low >= field.high:
        raise SchemaError(
            f"Field bounds: expected low < high, got low={field.low!r}, high={field.high!r}."
        )


@dataclass(frozen=True)
class Real(Field):
    """A real number, or a vector of them, optionally bounded; of 1e18 in size at most.

    It is predicted as a normal, or as a mixture of a narrow and a wide normal, which takes rare
    jumps for what they are. With `likelihood="auto"` held-out data choose between them.

    >>> Real(low=0.0, shape=(3,)).size
    3
    """

    kind: ClassVar[str] = "real"
    likelihoods: ClassVar[tuple[str, ...]] = ("auto", "normal", "mixture")
    dtype: ClassVar[type[np.generic]] = np.float32
    largest: ClassVar[float] = LARGEST_REAL

    low: int | float | None = None  # whole numbers stay as they are written
    high: int | float | None = None
    shape: tuple[Count, ...] = ()

    def __post_init__(self) -> None:
        _check_numeric(self)
        super().__post_init__()


@dataclass(frozen=True)
class Integer(Field):
    """A whole number, or a vector of them, optionally bounded; from -2**53 to 2**53.

    With few possible values it is predicted as a choice among them; otherwise as a real number
    would be, and samples are rounded. The likelihood may be said.

    >>> Integer(0, 7, shape=(2,)).num_codes
    8
    """

    kind: ClassVar[str] = "integer"
    likelihoods: ClassVar[tuple[str, ...]] = ("auto", "normal", "mixture", "categorical")

    low: int | None = None
    high: int | None = None
    shape: tuple[Count, ...] = ()

    def __post_init__(self) -> None:
        _check_numeric(self)
        if self.likelihood == "categorical" and not self.num_codes:
            raise SchemaError('Integer: likelihood="categorical" needs both low and high.')
        super().__post_init__()

    def _default_likelihood(self) -> str:
        return "categorical" if self.is_coded else "auto"

    def allows(self, likelihood: str) -> bool:
        return super().allows(likelihood) and (likelihood != "categorical" or self.num_codes > 0)


@dataclass(frozen=True)
class Categorical(Field):
    """One of several unordered values, given by their number or their names.

    >>> Categorical(["north", "south"]).num_codes
    2
    """

    kind: ClassVar[str] = "categorical"
    likelihoods: ClassVar[tuple[str, ...]] = ("categorical",)

    values: int | tuple[str, ...] = 2

    def __post_init__(self) -> None:
        check_fields(self, error=SchemaError)
        if self.num_codes < 2:
            raise SchemaError(f"Categorical: expected at least 2 values, got {self.num_codes}.")
        if len(set(self.names)) < len(self.names):
            raise SchemaError(f"Categorical: value names must differ, got {list(self.names)}.")
        super().__post_init__()

    @property
    def is_numeric(self) -> bool:
        return False

    @property
    def names(self) -> tuple[str, ...]:
        return self.values if isinstance(self.values, tuple) else ()

    @property
    def num_codes(self) -> int:
        return self.values if isinstance(self.values, int) else len(self.values)

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return self.num_codes - 1


@dataclass(frozen=True)
class Boolean(Field):
    """True or false; with `likelihood="normal"` predicted as a normal on {-1, +1}.

    >>> Boolean().num_codes
    2
    """

    kind: ClassVar[str] = "boolean"
    likelihoods: ClassVar[tuple[str, ...]] = ("categorical", "normal")

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return 1


# How fields may be predicted.
LIKELIHOODS = ("auto", "normal", "mixture", "categorical")

_KINDS: dict[str, type[Field]] = {c.kind: c for c in (Real, Integer, Categorical, Boolean)}


def field_from_json(data: Mapping[str, Any]) -> Field:
    """Read back what `Field.to_json` wrote.

    >>> field_from_json(Integer(0, 3).to_json()) == Integer(0, 3)
    True
    """
    options = dict(data)
    kind = known_name(options.pop("kind", ""), _KINDS, "field kind", SchemaError)
    found: Field = read(_KINDS[kind], options, f"Field of kind `{kind}`", SchemaError)
    return found


class ObjectClass:
    """A class of objects: subclass it and assign field types.

    >>> class Block(ObjectClass):
    ...     s1 = Real()
    ...     a = Real(action=True)
    >>> list(Block.fields)
    ['s1', 'a']
    """

    fields: ClassVar[Mapping[str, Field]] = MappingProxyType({})

    def __init_subclass__(cls) -> None:
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}
        for name in own:
            if hasattr(ObjectClass, name):  # a field called `targets` must not hide the method
                delattr(cls, name)
        cls.fields = MappingProxyType({**cls.fields, **own})

    @classmethod
    def targets(cls) -> tuple[str, ...]:
        """Names of the fields that are predicted: the state fields."""
        return tuple(name for name, field in cls.fields.items() if field.is_target)


_TABLES = ("steps", "episodes")  # of a dataset, beside those of its classes
_RESERVED = ("episode", "step", "object", "self")


class Schema:
    """The classes of a world, in a fixed order.

    >>> class Block(ObjectClass):
    ...     s1 = Real()
    >>> schema = Schema(Block)
    >>> schema.field("Block", "s1").kind
    'real'
    >>> schema.split("Block.s1")
    ('Block', 's1')
    """

    def __init__(self, *classes: type[ObjectClass]) -> None:
        if not classes:
            raise SchemaError("Schema: expected at least one class, got none.")
        for cls in classes:
            _check_class(cls)
        names = [c.__name__ for c in classes]
        if len(set(names)) < len(names):
            raise SchemaError(f"Schema: class names must differ, got {names}.")
        _check_file_names(names)
        self.classes: Mapping[str, type[ObjectClass]] = MappingProxyType(
            dict(zip(names, classes, strict=True))
        )
        if not any(cls.targets() for cls in classes):
            raise SchemaError("Schema: no class has a state field, so there is nothing to predict.")
        # What makes schemas equal. They are compared and looked up often, and never change.
        self._key = tuple((name, tuple(cls.fields.items())) for name, cls in self.classes.items())
        self._hash = hash(self._key)
        self._predicted: frozenset[tuple[str, str]] | None = None  # of all state fields

    def fields(self, class_name: str) -> Mapping[str, Field]:
        """The fields of a class; an unknown class is a `SchemaError` with a suggestion."""
        return self.classes[known_name(class_name, self.classes, "class", SchemaError)].fields

    def field(self, class_name: str, field_name: str) -> Field:
        """One field; an unknown one is a `SchemaError` with a suggestion."""
        fields = self.fields(class_name)
        if not isinstance(field_name, str) or field_name not in fields:
            raise SchemaError(
                f"Unknown field `{class_name}.{short(field_name, quote=False)}`. "
                f"{suggest(field_name, fields)}"
            )
        return fields[field_name]

    def split(self, name: FieldKey) -> tuple[str, str]:
        """Class and field of a name such as "Block.s1", checked; a pair of them stays one."""
        match name.split(".") if isinstance(name, str) else name:
            case [str() as class_name, str() as field_name]:
                self.field(class_name, field_name)
                return class_name, field_name
        known = [f"{c}.{f}" for c in self.classes for f in self.fields(c)]
        raise SchemaError(
            f"Field name: expected `Class.field`, such as `{known[0]}`, got {short(name)}. "
            f"{suggest(name, known)}"
        )

    def targets(self, class_name: str) -> tuple[str, ...]:
        """The predicted fields of a class."""
        self.fields(class_name)
        found, chosen = self.classes[class_name].targets(), self._predicted
        return found if chosen is None else tuple(f for f in found if (class_name, f) in chosen)

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready description that `Schema.from_json` reads back."""
        return {
            "classes": {
                name: {f: field.to_json() for f, field in cls.fields.items()}
                for name, cls in self.classes.items()
            }
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Schema:
        """Read back what `to_json` wrote."""
        classes = data.get("classes") if isinstance(data, Mapping) else None
        if not isinstance(classes, Mapping):
            raise SchemaError('Schema: expected a JSON object with the key "classes".')
        if unknown := [key for key in data if key != "classes"]:
            raise SchemaError(f"Schema: expected the key `classes` alone, got `{unknown[0]}` too.")
        return Schema(*(_class_from_json(name, fields) for name, fields in classes.items()))

    def difference(self, other: Schema) -> str | None:
        """In words, the first thing in which another schema differs; None if they are equal."""
        if self == other:
            return None
        if list(self.classes) != list(other.classes):
            return f"classes {list(self.classes)} against {list(other.classes)}"
        for name in self.classes:
            ours, theirs = self.fields(name), other.fields(name)
            if list(ours) != list(theirs):
                return f"fields of {name}: {list(ours)} against {list(theirs)}"
            for field_name, field in ours.items():
                if field != theirs[field_name]:
                    a, b = _describe(field), _describe(theirs[field_name])
                    return f"field {name}.{field_name}: {a} against {b}"
        return None

    @property
    def likelihoods(self) -> tuple[str, ...]:
        """The likelihoods of all fields in order, in which equal schemas may differ."""
        fields = (field for cls in self.classes.values() for field in cls.fields.values())
        return tuple(field.likelihood for field in fields)

    def with_likelihood(self, likelihood: str) -> Schema:
        """The same, every field predicted in this way that may be: an equal schema.

        >>> class Lamp(ObjectClass):
        ...     on, colour = Boolean(), Categorical(3)
        >>> schema = Schema(Lamp).with_likelihood("normal")
        >>> [field.likelihood for field in schema.fields("Lamp").values()]
        ['normal', 'categorical']
        """
        known_name(likelihood, LIKELIHOODS, "likelihood", SchemaError)
        return Schema(
            *(
                type(
                    name,
                    (ObjectClass,),
                    {
                        f: replace(field, likelihood=likelihood)
                        if field.allows(likelihood)
                        else field
                        for f, field in cls.fields.items()
                    },
                )
                for name, cls in self.classes.items()
            )
        )

    def only(self, targets: Iterable[FieldKey]) -> Schema:
        """The same, of which a model predicts some state fields alone: an equal schema.

        >>> class Ball(ObjectClass):
        ...     x, v = Real(), Real()
        >>> schema = Schema(Ball)
        >>> schema.only(["Ball.v"]).targets("Ball"), schema.only(["Ball.v"]) == schema
        (('v',), True)
        """
        found = Schema(*self.classes.values())
        found._predicted = frozenset(self.split(name) for name in targets)
        return found

    @property
    def all_targets(self) -> tuple[tuple[str, str], ...]:
        """All that is predicted, class by class."""
        return tuple((c, v) for c in self.classes for v in self.targets(c))

    def __deepcopy__(self, memo: object) -> Schema:
        return self  # nothing in it ever changes

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.to_json(), self._predicted)  # classes may have no address

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return self is other or (self._hash == other._hash and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        rows = []
        for name, cls in self.classes.items():
            fields = ", ".join(
                f + ("" if field.is_target else f" [{field.role}]")
                for f, field in cls.fields.items()
            )
            rows.append(f"{name}({fields})")
        return f"Schema({', '.join(rows)})"


def _describe(field: Field) -> str:
    """What makes a field differ from others."""
    return json.dumps({k: v for k, v in field.to_json().items() if k != "likelihood"})


def _class_from_json(name: str, fields: Any) -> type[ObjectClass]:
    if not isinstance(fields, Mapping) or not all(isinstance(d, Mapping) for d in fields.values()):
        raise SchemaError(f"Class `{name}`: expected a JSON object a field, got {short(fields)}.")
    _check_name(name, name)
    return type(name, (ObjectClass,), {f: field_from_json(d) for f, d in fields.items()})


def _check_file_names(names: list[str]) -> None:
    """Refuse classes whose tables could not lie in one folder, with those of every dataset."""
    taken = {name: f"the table `{name}` of every dataset" for name in _TABLES}
    for name in names:
        # As file systems tell names apart that do not look at case, or at how letters are composed.
        file = unicodedata.normalize("NFKC", name).casefold()
        if file in taken:
            raise SchemaError(
                f"Class `{name}`: its table would have the same file as {taken[file]}. Choose "
                "another name."
            )
        taken[file] = f"that of the class `{name}`"


def _check_name(name: str, class_name: str) -> None:
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise SchemaError(
            f"Class `{short(class_name, quote=False)}`: `{short(name, quote=False)}` is not a "
            "usable name."
        )


def _check_class(cls: type[ObjectClass]) -> None:
    if not (isinstance(cls, type) and issubclass(cls, ObjectClass)):
        raise SchemaError(f"Schema: expected subclasses of oocdm.ObjectClass, got {cls!r}.")
    if not cls.fields:
        raise SchemaError(f"Class `{cls.__name__}` has no fields. Assign field types in its body.")
    for name in (cls.__name__, *cls.fields):
        _check_name(name, cls.__name__)
        if name in _RESERVED:
            raise SchemaError(
                f"Class `{cls.__name__}`: the name `{name}` is reserved for data columns."
            )


# A schema as functions are given it.
GivenSchema = Annotated[Schema, "Make one: oocdm.Schema(MyClass, ...)."]


def _unpickled(data: Mapping[str, Any], predicted: frozenset[tuple[str, str]] | None) -> Schema:
    schema = Schema.from_json(data)
    return schema if predicted is None else schema.only(predicted)
