"""What a user knows of the graph beforehand: required, forbidden and believed edges.

A row says it of one or many edges, in the notation of printed graphs with patterns:
`Ball.* <- self.x, !Rock[*].*, ?0.2 Ball[*].v`. Plain sources are required, those with `!` are
forbidden, those with `?0.2` believed with that probability; names may have shell-style wildcards.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from oocdm.errors import GraphError, short, suggest
from oocdm.graph.class_graph import AbstractEdgeSpace, ClassEdges
from oocdm.graph.edges import Edge
from oocdm.reading import checked, read_yaml
from oocdm.schema import GivenSchema, Schema

LONGEST_SOURCE = 500  # characters
LARGEST_FILE = 4 * 2**20  # bytes: what YAML of the largest size may take

_KINDS = ("required", "forbidden", "soft")
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
# Sign with perhaps a number, then `self` or `Class[*]`, then the field.
_SOURCE = re.compile(rf"(!|\?\s*({_NUMBER})\s)?\s*(self|[^!?].*\[\*\])\.(.+)")


class Priors:
    """Prior knowledge about class-level edges, as rows and as arrays in the order of ClassEdges.

    `required` and `forbidden` are booleans; `probability` is NaN where nothing soft was said. No
    row overrides another: an edge of which two rows say different things is an error. The rows
    of a printed graph require its edges; `(nothing)` says nothing.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     v = Real()
    >>> schema = Schema(Ball)
    >>> priors = Priors.parse(schema, ["Ball.x <- self.*, ?0.2 Ball[*].v", "Ball.v <- !*[*].*"])
    >>> names = np.array(ClassEdges.of(schema).names)
    >>> names[priors.required].tolist(), names[priors.probability == 0.2].tolist()
    (['Ball.x <- self.x', 'Ball.x <- self.v'], ['Ball.x <- Ball[*].v'])
    >>> names[priors.forbidden].tolist()
    ['Ball.v <- Ball[*].x', 'Ball.v <- Ball[*].v']
    """

    @checked(GraphError)
    def __init__(self, schema: GivenSchema, rows: Iterable[str] = ()) -> None:
        self.schema = schema
        self.rows = tuple(rows)
        said_by: dict[Edge, _Rule] = {}
        for row in self.rows:
            try:
                for rule, edge in ((r, e) for r in _rules(row) for e in r.edges(schema)):
                    first = said_by.setdefault(edge, rule)
                    if first.probability != rule.probability:
                        raise GraphError(
                            f"`{rule.text}` ({rule.kind}) contradicts `{first.text}` "
                            f"({first.kind}) about the edge `{edge}`. Change one of them."
                        )
            except GraphError as error:
                raise GraphError(f"Prior row {short(row)}: {error}") from None
        edges = ClassEdges.of(schema).edges
        value = np.array([said_by[e].probability if e in said_by else np.nan for e in edges])
        self.required, self.forbidden = value == 1, value == 0
        self.probability = np.where((value > 0) & (value < 1), value, np.nan)

    @staticmethod
    def none(schema: Schema) -> Priors:
        """Nothing is known beforehand."""
        return Priors(schema)

    @staticmethod
    @checked(GraphError)
    def parse(schema: GivenSchema, rows: str | Iterable[str]) -> Priors:
        """Read rows such as `Monster.* <- !Food[*].*`."""
        return Priors(schema, [rows] if isinstance(rows, str) else rows)

    @staticmethod
    @checked(GraphError)
    def read(schema: GivenSchema, path: str | os.PathLike[str]) -> Priors:
        """Read a YAML file: a list of rows, or lists of them under required, forbidden, soft.

        Under these keys rows have no sign; soft ones are {row: probability}, or have their `?0.9`.
        """
        try:
            return Priors.from_json(schema, read_yaml(_text(Path(path))))
        except GraphError as error:
            raise GraphError(f"`{path}`: {error}") from None
        except (OSError, ValueError, yaml.YAMLError) as error:
            problem = " ".join(str(error).split())
            hint = " Put rows that start with `*` in quotes." if "alias" in problem else ""
            raise GraphError(f"`{path}`: cannot be read as YAML: {problem}{hint}") from None

    @staticmethod
    @checked(GraphError)
    def of(schema: GivenSchema, value: PriorKnowledge) -> Priors:
        """Priors in any form: None, rows, the path of a YAML file, what it holds, or Priors."""
        if isinstance(value, str) and "<-" in value:
            return Priors.parse(schema, [value])
        if isinstance(value, str | os.PathLike):
            return Priors.read(schema, value)
        if not isinstance(value, Priors):
            return Priors.from_json(schema, value)
        if difference := schema.difference(value.schema):
            raise GraphError(f"Priors of another schema: {difference}.")
        return value

    @checked(GraphError)
    def with_rows(self, rows: Iterable[str]) -> Priors:
        """These priors and more."""
        return Priors(self.schema, [*self.rows, *rows])

    def to_json(self) -> list[str]:
        """The rows, which `from_json` reads back."""
        return list(self.rows)

    @staticmethod
    @checked(GraphError)
    def from_json(schema: GivenSchema, data: Any) -> Priors:
        """Read back what `to_json` wrote, or anything else that a YAML file may hold."""
        table = data if isinstance(data, Mapping) else {"": data}
        rows = [(key, row) for key in table for row in _signed(key, table[key])]
        priors = Priors.parse(schema, [row for _, row in rows])
        for key, rule in ((key, rule) for key, row in rows for rule in _rules(row)):
            if key and rule.kind != key:
                raise GraphError(f"Priors: `{rule.text}` is {rule.kind}, but is under `{key}`.")
        return priors

    @property
    def is_soft(self) -> bool:
        """Whether edges are believed with some probability, neither required nor forbidden."""
        return not np.isnan(self.probability).all()

    def over(self, edges: AbstractEdgeSpace) -> Priors:
        """The same knowledge about the edges of a space, such as those between variables."""
        spread = copy.copy(self)
        spread.required = edges.spread(self.required)
        spread.forbidden = edges.spread(self.forbidden)
        spread.probability = edges.spread(self.probability)
        return spread

    def apply(self, start: np.ndarray) -> np.ndarray:
        """A mask of edges, with the required ones and without the forbidden ones."""
        return (start | self.required) & ~self.forbidden

    def weights(self, tested: np.ndarray) -> np.ndarray:
        """Each edge's odds, on average 1 over `tested`: for a weighted Benjamini-Hochberg.

        An edge of which nothing soft was said has even odds, so without soft rows all are 1.
        """
        odds = np.nan_to_num(self.probability / (1 - self.probability), nan=1.0)
        return odds / odds[tested].mean() if np.any(tested) else odds


@dataclass(frozen=True)
class _Rule:
    """One target and one source, each a pattern of a class and one of a field."""

    text: str
    target: tuple[str, str]
    source: tuple[str, str]  # (self, field) for local edges, (Class[*], field) for global ones
    probability: float

    @property
    def kind(self) -> str:
        return {1.0: "required", 0.0: "forbidden"}.get(self.probability, "soft")

    def edges(self, schema: Schema) -> list[Edge]:
        """All edges that the patterns match, at least one."""
        found = _fields(schema, _match(schema.classes, self.target[0], "class"), self.target[1])
        targets = [(c, v) for c, v in found if schema.field(c, v).is_target]
        if not targets:
            (c, v), role = found[0], schema.field(*found[0]).role
            raise GraphError(f"`{c}.{v}` has the role {role}; only state fields have causes.")
        owner, name = self.source
        is_local = owner == "self"
        owners = list(dict(targets)) if is_local else _match(schema.classes, owner[:-3], "class")
        sources = _fields(schema, owners, name)
        pairs = [(s, t) for s in sources for t in targets if s[0] == t[0] or not is_local]
        return [Edge(*source, *target, is_local) for source, target in pairs]


def _match(names: Iterable[str], pattern: str, what: str) -> list[str]:
    found = [name for name in names if fnmatchcase(name, pattern)]
    if not found:
        raise GraphError(f"no {what} matches `{pattern}`. {suggest(pattern, names)}")
    return found


def _fields(schema: Schema, classes: list[str], pattern: str) -> list[tuple[str, str]]:
    known = dict.fromkeys(f for c in classes for f in schema.fields(c))
    names = _match(known, pattern, f"field of {' or '.join(classes)}")
    return [(c, f) for c in classes for f in schema.fields(c) if f in names]


def _rules(row: Any) -> Iterator[_Rule]:
    target, arrow, sources = row.partition("<-") if isinstance(row, str) else ("", "", "")
    target_class, dot, target_field = target.strip().partition(".")
    if not arrow or not dot:
        raise GraphError("expected the form `Ball.x <- self.x, !Rock[*].*, ?0.2 Ball[*].v`.")
    for source in (s.strip() for s in sources.split(",")):
        if source == "(nothing)":  # of a printed graph
            continue
        # How long matching takes grows with the square of the length.
        if len(source) > LONGEST_SOURCE:
            raise GraphError(
                f"expected a source of at most {LONGEST_SOURCE} characters, got {short(source)}."
            )
        if not (match := _SOURCE.fullmatch(source)):
            raise GraphError(f"expected `self.x`, `!Ball[*].*` or `?0.2 self.v`, got `{source}`.")
        sign, number, owner, name = match.groups()
        probability = float(number or not sign)  # plain: 1, with `!`: 0
        if number and not 0 < probability < 1:
            raise GraphError(
                f"expected a probability between 0 and 1, got {number}. Write 0 as `!` (forbidden) "
                "and 1 as a plain source (required)."
            )
        text = f"{target.strip()} <- {source}"
        yield _Rule(text, (target_class, target_field), (owner, name), probability)


def _text(path: Path) -> str:
    """What a file holds; nothing but a file is opened, and no more is read than may be in it."""
    if not path.exists():
        raise FileNotFoundError("there is no such file.")
    if not path.is_file():
        raise IsADirectoryError("expected a file, got a folder, a device or a pipe.")
    with path.open("rb") as file:
        return file.read(LARGEST_FILE).decode()


def _signed(key: Any, data: Any) -> Iterator[Any]:
    """The rows under one key of a mapping, with the sign that it stands for."""
    if key not in ("", *_KINDS):
        raise GraphError(f"Priors: unknown key `{key}`. {suggest(str(key), _KINDS)}")
    items = [] if data is None else [data] if isinstance(data, Mapping) else data
    if not isinstance(items, list | tuple):
        raise GraphError(f"Priors: expected a list of rows, got {short(data)}.")
    for item in items:
        for row, number in item.items() if isinstance(item, Mapping) else [(item, None)]:
            sign = f"?{number} " if number is not None else "!" if key == "forbidden" else ""
            target, arrow, sources = str(row).partition("<-")
            signed = ", ".join(sign + source.strip() for source in sources.split(","))
            yield f"{target}{arrow} {signed}" if sign and arrow else row


# Priors in any form that a user may have them.
PriorKnowledge = Priors | str | os.PathLike[str] | Iterable[str] | Mapping[str, Any] | None
