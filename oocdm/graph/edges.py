"""One edge of a graph: between fields of classes, or between single variables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from oocdm.errors import GraphError, short
from oocdm.graph.variable import Variable
from oocdm.reading import read
from oocdm.schema import Schema


@dataclass(frozen=True)
class Edge:
    """One class-level causality: local (within an object) or global (from other objects).

    >>> str(Edge("Block", "s1", "Block", "s2", is_local=True))
    'Block.s2 <- self.s1'
    >>> str(Edge("Block", "s1", "Total", "s1", is_local=False))
    'Total.s1 <- Block[*].s1'
    """

    source_class: str
    source_field: str
    target_class: str
    target_field: str
    is_local: bool

    @property
    def cause(self) -> str:
        """The field that it starts from, of oneself or others: `Block.s1`."""
        return f"{self.source_class}.{self.source_field}"

    @property
    def source(self) -> str:
        """The source as it is printed: `self.s1` or `Block[*].s1`."""
        owner = "self" if self.is_local else f"{self.source_class}[*]"
        return f"{owner}.{self.source_field}"

    @property
    def target(self) -> str:
        """The target as it is printed: `Block.s2`."""
        return f"{self.target_class}.{self.target_field}"

    def __str__(self) -> str:
        return f"{self.target} <- {self.source}"

    def check(self, schema: Schema) -> None:
        """Raise a `SchemaError` or `GraphError` unless graphs of a schema may have it."""
        read(bool, self.is_local, "Edge: `is_local`", GraphError)
        schema.field(self.source_class, self.source_field)
        target = schema.field(self.target_class, self.target_field)
        if not target.is_target:
            raise GraphError(
                f"Edge `{self}`: `{self.target}` is a field with the role {target.role}; "
                "only state fields have causes."
            )
        if self.is_local and self.source_class != self.target_class:
            raise GraphError(f"Edge `{self}`: a local edge starts in the target's own class.")

    @staticmethod
    def between(source: Variable, target: Variable) -> Edge:
        """The class edge that stands for an edge between two variables."""
        is_local = source[:2] == target[:2]
        (k, _, u), (c, _, v) = source, target
        return Edge(k, u, c, v, is_local)

    @staticmethod
    def parse_row(row: str) -> list[Edge]:
        """Read a row such as `Total.s1 <- self.s1, Block[*].s1`.

        >>> [edge.is_local for edge in Edge.parse_row("Total.s1 <- self.s1, Block[*].s1")]
        [True, False]
        """
        target, sources = split_row(row, "Total.s1 <- self.s1, Block[*].s1")
        target_class, dot, target_field = target.partition(".")
        if not dot:
            raise wrong_row(row, "Total.s1 <- self.s1, Block[*].s1")
        edges = []
        for source in sources:
            owner, dot, field = source.partition(".")
            is_local = owner == "self"
            if not dot or not (is_local or owner.endswith("[*]")):
                raise GraphError(
                    f"Graph row {row!r}: expected `self.field` or `Class[*].field`, got `{source}`."
                )
            source_class = target_class if is_local else owner.removesuffix("[*]")
            edges.append(Edge(source_class, field, target_class, target_field, is_local))
        return edges


@dataclass(frozen=True)
class VariableEdge:
    """One causality between single variables, which are given by their names.

    >>> edge = VariableEdge("Ball[0].x", "Ball[1].x")
    >>> str(edge), edge.is_local
    ('Ball[1].x <- Ball[0].x', False)
    """

    source: str
    target: str

    @property
    def cause(self) -> str:
        """The variable that it starts from."""
        return self.source

    @cached_property
    def is_local(self) -> bool:
        """Whether it stays within one object."""
        return self.source.rpartition(".")[0] == self.target.rpartition(".")[0]

    def __str__(self) -> str:
        return f"{self.target} <- {self.source}"

    @staticmethod
    def parse_row(row: str) -> list[VariableEdge]:
        """Read a row such as `Ball[1].x <- Ball[0].x, Ball[1].x`.

        >>> VariableEdge.parse_row("Ball[1].x <- Ball[0].x")
        [VariableEdge(source='Ball[0].x', target='Ball[1].x')]
        """
        target, sources = split_row(row, "Ball[1].x <- Ball[0].x, Ball[1].x")
        return [VariableEdge(source, target) for source in sources]


def split_row(row: str, form: str) -> tuple[str, list[str]]:
    """The target and the sources of a printed row; `form` is one for the error to show."""
    target, arrow, sources = row.partition("<-") if isinstance(row, str) else ("", "", "")
    if not arrow:
        raise wrong_row(row, form)
    names = [source.strip() for source in sources.split(",")]
    return target.strip(), [name for name in names if name not in ("", "(nothing)")]


def wrong_row(row: str, form: str) -> GraphError:
    """The error of a row that is no row."""
    return GraphError(f"Graph row {short(row)}: expected the form `{form}`.")
