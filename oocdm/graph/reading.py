"""Reading a graph of either kind, from JSON or printed rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from oocdm.errors import GraphError, short
from oocdm.graph.class_graph import ClassGraph, Graph
from oocdm.graph.variable import variable_names
from oocdm.graph.variable_graph import VariableGraph
from oocdm.schema import Schema

_OF_VARIABLE = re.compile(r"\s*\w+\[\d+\]\.")  # a row such as `Ball[0].x <- Ball[1].x`


def graph_from_json(schema: Schema, data: Mapping[str, Any]) -> Graph:
    """Read back what `to_json` of either kind of graph wrote."""
    if not isinstance(data, Mapping):
        raise GraphError(
            f'Graph: expected a JSON object with a list under the key "edges", got {short(data)}.'
        )
    return (VariableGraph if "inputs" in data else ClassGraph).from_json(schema, data)


def graph_from_rows(schema: Schema, rows: Sequence[str], counts: Mapping[str, int]) -> Graph:
    """Read rows as a graph prints them; `counts` are the objects that variables may be of.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> graph_from_rows(Schema(Ball), ["Ball.x <- self.x"], {"Ball": 2})
    ClassGraph(1 of 2 edges)
    >>> graph_from_rows(Schema(Ball), ["Ball[0].x <- Ball[1].x"], {"Ball": 2})
    VariableGraph(1 of 4 edges)
    """
    if rows and _OF_VARIABLE.match(rows[0]):
        return VariableGraph.parse(*variable_names(schema, counts), rows)
    return ClassGraph.parse(schema, rows)
