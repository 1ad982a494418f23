"""Networks that read everything: they neither use nor find a graph."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from oocdm.errors import GraphError, ModelError
from oocdm.graph import Layout, Priors, Structure
from oocdm.methods.variable_method import AbstractVariableMethod
from oocdm.models.variable_model import AbstractVariableModel, Encoded, Masks


class AbstractDenseModel(AbstractVariableModel):
    """A network whose outputs all depend on all inputs."""

    def predict(self, encoded: Encoded, masks: Masks) -> Tensor:
        if not bool((masks > 0).all()):
            raise ModelError(
                "This network reads all variables: expected the full graph, got one with edges "
                "missing."
            )
        return self.predict_all(encoded)

    @abstractmethod
    def predict_all(self, encoded: Encoded) -> Tensor:
        """Decoder outputs: (output, batch, number)."""


@dataclass(frozen=True)
class AbstractDenseMethod(AbstractVariableMethod):
    """A method without a graph."""

    def start(
        self, layout: Layout, known: np.ndarray | None, testable: np.ndarray
    ) -> tuple[Structure, Structure]:
        if known is not None and not known.all():
            raise GraphError(
                f"Method `{self.name}` reads all variables and cannot keep to a graph. "
                "Leave the graph out, or choose a method that uses one."
            )
        return layout.structure(True), layout.structure(False, False)

    def check_priors(self, priors: Priors) -> None:
        super().check_priors(priors)
        if priors.forbidden.any():
            raise GraphError(
                f"Method `{self.name}` reads all variables, but the priors forbid some edges. "
                "Leave them out, or choose a method that keeps to a graph."
            )
