"""Discovery as the paper's Algorithm 1 is written, for comparison."""

from __future__ import annotations

import numpy as np
import torch

from oocdm.discovery import Gains, Tally
from oocdm.graph import ClassEdges
from oocdm.models.network import AbstractClassModel
from oocdm.models.prepared import Prepared
from oocdm.models.reference import ReferenceModel

CHUNK = 512  # transitions that the reference scores at once


@torch.no_grad()
def literal_gains(
    model: ReferenceModel,
    data: Prepared,
    structure: np.ndarray,
    tested: np.ndarray,
    resolution: dict[str, torch.Tensor] | None = None,
) -> Gains:
    """As Algorithm 1 is written: one target's predictor with and without each edge."""
    index = ClassEdges.of(model.schema)
    group = data.cluster.cpu().numpy()
    mean, error = np.zeros(len(structure)), np.zeros(len(structure))
    groups = np.zeros(len(structure), dtype=int)
    for c in model.schema.classes:
        for i, v in enumerate(model.schema.targets(c)):
            columns = index.into(f"{c}.{v}")
            columns = columns[tested[columns]]
            tally = Tally(columns[None], structure)
            for start in range(0, len(data), CHUNK):
                chunk = data.rows(slice(start, start + CHUNK))
                scores = [
                    _target_score(model, chunk, row, c, v, i, resolution)
                    for row in _neighbours(model, structure, columns)
                ]
                known = chunk.targets.known[c][..., i : i + 1].sum(1)
                here = group[start : start + len(chunk)]
                tally.add(np.arange(len(columns)), torch.cat(scores), known, here)
            tally.write(tested, mean, error, groups)
    return Gains(mean, error, groups)


def _neighbours(
    model: AbstractClassModel, structure: np.ndarray, columns: np.ndarray
) -> list[torch.Tensor]:
    """The structure, then with each of these columns turned: (1, column) each."""
    rows = [structure.copy() for _ in range(1 + len(columns))]
    for row, column in zip(rows[1:], columns, strict=True):
        row[column] ^= True
    return [torch.as_tensor(row[None], dtype=model.dtype) for row in rows]


def _target_score(
    model: ReferenceModel,
    chunk: Prepared,
    structure: torch.Tensor,
    c: str,
    v: str,
    i: int,
    resolution: dict[str, torch.Tensor] | None,
) -> torch.Tensor:
    """Log-likelihood of one target, summed over its objects: (batch, 1)."""
    predictions = model.decode_target(chunk.inputs, structure, c, v)
    return predictions.log_prob(chunk.targets, resolution)[c][..., i : i + 1].sum(1)
