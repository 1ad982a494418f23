"""AsymBlock: as Block, but with a Total for each block, which follows the blocks up to it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from oocdm.envs.block import TRUE_GRAPH, AbstractBlocks, without_absent
from oocdm.graph import Variable, VariableGraph


class AsymBlockWorld(AbstractBlocks):
    """Blocks with linear dynamics, and as many Totals, of which each follows some of the blocks.

    Blocks, noise, start, policy and options are those of `BlockWorld`; every Total has a clock of
    its own. Total c halves the way to the largest of the blocks 0 to c, so that Totals are not
    interchangeable, nor are blocks. `true_graph` is what is true of classes, the same as Block's;
    `true_variable_graph` tells which blocks each Total reads.

    >>> world = AsymBlockWorld(num_blocks=3)
    >>> world.true_variable_graph.parents("Total[1].s2")
    ['Block[0].s2', 'Block[1].s2', 'Total[1].s2']
    """

    @cached_property
    def true_variable_graph(self) -> VariableGraph:
        """Block's graph without the edges from a block to the Totals that stand before it."""
        graph = TRUE_GRAPH.ground(self.max_objects)
        source_class, source = _places(graph.inputs)
        target_class, target = _places(graph.outputs)
        is_between = np.outer(source_class == "Block", target_class == "Total")
        return graph.with_mask(graph.mask & ~(is_between & (source[:, None] > target)).ravel())

    def _totals(self, blocks: np.ndarray) -> np.ndarray:
        return blocks

    def _followed(self, values: np.ndarray, present: np.ndarray) -> np.ndarray:
        largest: np.ndarray = np.maximum.accumulate(without_absent(values, present), axis=1)
        return largest


def _places(names: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
    """Class and number of the object of each variable."""
    variables = [Variable.parse(name) for name in names]
    return np.array([v.class_name for v in variables]), np.array([v.object for v in variables])
