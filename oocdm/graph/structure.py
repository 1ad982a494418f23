"""Structures: the elements that predictors may use, edges and paths, in one fixed order."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from oocdm.errors import GraphError
from oocdm.graph.class_graph import AbstractEdgeSpace, Graph
from oocdm.reading import read


@dataclass(frozen=True)
class Layout:
    """All elements that a structure may have: every possible edge, then every path of every target.

    An edge lets a target read a field. A path is a way in which its predictor works: each of
    `paths` stands once for every target.

    >>> from oocdm.graph import ClassEdges
    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> Layout(ClassEdges(Schema(Ball)), ("network",)).names
    ('Ball.x <- self.x', 'Ball.x <- Ball[*].x', 'Ball.x by network')
    """

    edges: AbstractEdgeSpace
    paths: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Layout({len(self)} elements, {self.num_edges} of them edges)"

    def __len__(self) -> int:
        return self.num_edges + len(self.edges.targets) * len(self.paths)

    @cached_property
    def num_edges(self) -> int:
        """How many of the elements are edges; they come first."""
        return len(self.edges)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every element as it is printed."""
        ways = (f"{target} by {path}" for target in self.edges.targets for path in self.paths)
        return (*self.edges.names, *ways)

    @cached_property
    def is_edge(self) -> np.ndarray:
        """Which elements are edges."""
        return np.arange(len(self)) < self.num_edges

    @cached_property
    def by_target(self) -> tuple[np.ndarray, ...]:
        """For each target the places of its elements: the edges into it, then its paths."""
        num = len(self.paths)
        return tuple(
            np.concatenate([self.edges.into(target), self.num_edges + num * i + np.arange(num)])
            for i, target in enumerate(self.edges.targets)
        )

    def of_class(self, c: str) -> np.ndarray:
        """The places of the elements of a class's targets: (target, element).

        Of class edges own fields come first, then fields of others class by class, then paths.
        """
        chosen = [
            columns
            for target, columns in zip(self.edges.targets, self.by_target, strict=True)
            if re.split(r"[.\[]", target)[0] == c
        ]
        return np.stack(chosen) if chosen else np.zeros((0, len(self.by_target[0])), dtype=int)

    def structure(self, edges: np.ndarray | bool, paths: np.ndarray | bool = True) -> Structure:
        """The structure with these edges and these paths; by default with all paths."""
        num_paths = len(self) - self.num_edges
        both = (("edge", edges, self.num_edges), ("path", paths, num_paths))
        return Structure(self, np.concatenate([_flags(*each) for each in both]))

    def ways(self, names: Collection[str]) -> Structure:
        """No edge, and of every target the paths with these names.

        >>> from oocdm.graph import ClassEdges
        >>> from oocdm.schema import ObjectClass, Real, Schema
        >>> class Ball(ObjectClass):
        ...     x = Real()
        >>> Layout(ClassEdges(Schema(Ball)), ("network", "pairs")).ways(["pairs"]).names
        ['Ball.x by pairs']
        """
        paths = np.array([path in names for path in self.paths], dtype=bool)
        return self.structure(False, np.tile(paths, len(self.edges.targets)))

    def of_graph(self, graph: Graph) -> Structure:
        """The structure with the edges of a graph and all paths."""
        return self.structure(self.edges.mask(graph))

    def parse(self, names: list[str]) -> Structure:
        """Read back `Structure.names`."""
        unknown = sorted(set(names) - set(self.names))
        if unknown:
            raise GraphError(f"Structure: expected elements of its layout, got `{unknown[0]}`.")
        return Structure(self, np.isin(self.names, names))


def _flags(what: str, given: np.ndarray | bool, num: int) -> np.ndarray:
    """One boolean for each edge or path; anything else would silently mean all of them."""
    if isinstance(given, bool | np.bool_):
        return np.full(num, given)
    if isinstance(given, np.ndarray) and given.dtype == bool and given.shape == (num,):
        return given
    got = f"{given.dtype} of shape {given.shape}" if isinstance(given, np.ndarray) else repr(given)
    raise GraphError(
        f"Structure: expected True, False or one boolean for each {what} of {num}, got {got}. Of a "
        "graph: layout.edges.mask(graph)."
    )


@dataclass(frozen=True, eq=False)
class Structure:
    """A set of elements: what a predictor may use, or equally what is free, open or in question.

    >>> from oocdm.graph import ClassEdges
    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> layout = Layout(ClassEdges(Schema(Ball)), ("network",))
    >>> structure = layout.structure(edges=np.array([True, False]))
    >>> structure
    Structure(1 of 2 edges, 1 of 1 paths)
    >>> (structure | layout.structure(True)).graph
    ClassGraph(2 of 2 edges)
    """

    layout: Layout
    flags: np.ndarray  # one boolean for each element of the layout

    def __post_init__(self) -> None:
        read(Annotated[Layout, "A model has one."], self.layout, "Structure: `layout`", GraphError)
        flags = np.array(self.flags)
        if flags.dtype != bool or flags.shape != (len(self.layout),):
            raise GraphError(
                f"Structure: expected one boolean for each of its {len(self.layout)} elements, got "
                f"{flags.dtype} of shape {flags.shape}."
            )
        flags.setflags(write=False)
        object.__setattr__(self, "flags", flags)

    @property
    def edges(self) -> np.ndarray:
        """Which edges are in it, one boolean for each possible one."""
        return self.flags[: self.layout.num_edges]

    @property
    def paths(self) -> np.ndarray:
        """Which paths are in it, one boolean for each target and path."""
        return self.flags[self.layout.num_edges :]

    @property
    def graph(self) -> Graph:
        """The graph of its edges."""
        return self.layout.edges.graph(self.edges)

    @property
    def names(self) -> list[str]:
        """The elements that are in it, as they are printed; `Layout.parse` reads them back."""
        return [name for name, is_in in zip(self.layout.names, self.flags, strict=True) if is_in]

    def with_edges(self, edges: np.ndarray | bool) -> Structure:
        """These edges and its own paths."""
        return self.layout.structure(edges, self.paths)

    def with_paths(self, paths: np.ndarray | bool) -> Structure:
        """Its own edges and these paths."""
        return self.layout.structure(self.edges, paths)

    def any(self) -> bool:
        """Whether there is any element in it."""
        return bool(self.flags.any())

    def __or__(self, other: Structure) -> Structure:
        return self._combine(other, np.logical_or)

    def __and__(self, other: Structure) -> Structure:
        return self._combine(other, np.logical_and)

    def __xor__(self, other: Structure) -> Structure:
        return self._combine(other, np.logical_xor)

    def __sub__(self, other: Structure) -> Structure:
        return self._combine(other, np.greater)

    def where(self, chosen: Structure, other: Structure) -> Structure:
        """Its own elements where they are chosen, those of another structure elsewhere."""
        return (self & chosen) | (other - chosen)

    def _combine(self, other: Structure, how: Callable[..., np.ndarray]) -> Structure:
        if self.layout != other.layout:
            raise GraphError("Structure: expected one of the same layout, got another's.")
        return Structure(self.layout, how(self.flags, other.flags))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Structure)
            and self.layout == other.layout
            and bool(np.array_equal(self.flags, other.flags))
        )

    def __hash__(self) -> int:
        return hash((self.layout, self.flags.tobytes()))

    def __repr__(self) -> str:
        counts = [
            f"{int(flags.sum())} of {len(flags)} {what}"
            for flags, what in ((self.edges, "edges"), (self.paths, "paths"))
            if len(flags)
        ]
        return f"Structure({', '.join(counts)})"


@dataclass(frozen=True)
class Neighbours:
    """A structure, and those in which one element of every target of a class is turned.

    `elements[class]` are the numbers of the turned elements, as `Layout.of_class` orders them: a
    neighbour for each.

    >>> from oocdm.graph import ClassEdges
    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> structure = Layout(ClassEdges(Schema(Ball))).structure(edges=np.array([True, False]))
    >>> Neighbours(structure, {"Ball": np.array([0, 1])}).of("Ball").tolist()
    [[True, False], [False, False], [True, True]]
    """

    structure: Structure
    elements: Mapping[str, np.ndarray]

    def of(self, c: str) -> np.ndarray:
        """The structure, then the neighbours of a class: (1 + neighbour, element)."""
        columns = self.structure.layout.of_class(c)
        rows = np.repeat(self.structure.flags[None], 1 + len(self.elements[c]), axis=0)
        for row, element in zip(rows[1:], self.elements[c], strict=True):
            row[columns[:, element]] ^= True
        return rows
