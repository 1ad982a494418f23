"""Causal graphs over a schema: class-level (OOCG) and grounded to single variables.

All possible class-level edges of a schema stand in one fixed order (`ClassEdges`), so a
graph is a row of booleans, a batch of graphs is a matrix, and "all but one edge" is a
matrix of ones less its diagonal.
"""

from oocdm.graph.class_graph import AbstractEdgeSpace, ClassEdges, ClassGraph, Graph
from oocdm.graph.comparison import GraphComparison, compare_masks
from oocdm.graph.edge_evidence import EdgeEvidence
from oocdm.graph.edges import Edge, VariableEdge
from oocdm.graph.evidence import DECISIONS, Evidence, decision_words
from oocdm.graph.graph import AbstractGraph
from oocdm.graph.priors import PriorKnowledge, Priors
from oocdm.graph.reading import graph_from_json, graph_from_rows
from oocdm.graph.structure import Layout, Neighbours, Structure
from oocdm.graph.variable import Variable
from oocdm.graph.variable_edges import VariableEdges
from oocdm.graph.variable_graph import VariableGraph

__all__ = [
    "DECISIONS",
    "AbstractEdgeSpace",
    "AbstractGraph",
    "ClassEdges",
    "ClassGraph",
    "Edge",
    "EdgeEvidence",
    "Evidence",
    "Graph",
    "GraphComparison",
    "Layout",
    "Neighbours",
    "PriorKnowledge",
    "Priors",
    "Structure",
    "Variable",
    "VariableEdge",
    "VariableEdges",
    "VariableGraph",
    "compare_masks",
    "decision_words",
    "graph_from_json",
    "graph_from_rows",
]
