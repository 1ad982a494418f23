"""Causal graphs over a schema: class-level (OOCG) and grounded to single variables.

All possible class-level edges of a schema stand in one fixed order (`EdgeIndex`), so a
graph is a row of booleans, a batch of graphs is a matrix, and "all but one edge" is a
matrix of ones less its diagonal.
"""

from oocdm.graph.class_graph import ClassGraph
from oocdm.graph.edge_spaces import (
    AbstractEdgeSpace,
    ClassEdges,
    Graph,
    VariableEdges,
    graph_from_json,
    graph_from_rows,
)
from oocdm.graph.edges import Edge, EdgeIndex
from oocdm.graph.evidence import DECISIONS, Evidence
from oocdm.graph.priors import PriorKnowledge, Priors
from oocdm.graph.structure import Layout, Neighbours, Structure
from oocdm.graph.variable_graph import GraphComparison, Variable, VariableGraph

__all__ = [
    "DECISIONS",
    "AbstractEdgeSpace",
    "ClassEdges",
    "ClassGraph",
    "Edge",
    "EdgeIndex",
    "Evidence",
    "Graph",
    "GraphComparison",
    "Layout",
    "Neighbours",
    "PriorKnowledge",
    "Priors",
    "Structure",
    "Variable",
    "VariableEdges",
    "VariableGraph",
    "graph_from_json",
    "graph_from_rows",
]
