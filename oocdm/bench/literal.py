"""Discovery as the paper's Algorithm 1 is written, for comparison."""

from __future__ import annotations

import numpy as np
import torch

from oocdm.discovery import Gains, Tally
from oocdm.graph import Structure
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.prepared import Prepared

CHUNK = 512  # transitions that the reference scores at once


@torch.no_grad()
def literal_gains(
    model: OocdmModel,
    data: Prepared,
    structure: Structure,
    tested: Structure,
    resolution: dict[str, torch.Tensor] | None = None,
) -> Gains:
    """As Algorithm 1 is written: one target's predictor with and without each edge."""
    group, gains = data.cluster.cpu().numpy(), Gains.none(len(structure.flags))
    for c in model.schema.classes:
        for i, v in enumerate(model.schema.targets(c)):
            columns = model.edges.into(f"{c}.{v}")
            columns = columns[tested.flags[columns]]
            tally = Tally(columns[None], structure.flags)
            for start in range(0, len(data), CHUNK):
                chunk = data.rows(slice(start, start + CHUNK))
                scores = []
                for row in _neighbours(structure, columns):
                    found = model.predict_literally(chunk.inputs, model.structures(row), (c, v))
                    score = found.log_prob(chunk.targets, resolution)[c]
                    scores.append(score[..., i : i + 1].sum(1))
                known = chunk.targets.known[c][..., i : i + 1].sum(1)
                here = group[start : start + len(chunk)]
                tally.add(np.arange(len(columns)), torch.cat(scores), known, here)
            tally.write(tested.flags, gains)
    return gains


def _neighbours(structure: Structure, columns: np.ndarray) -> list[Structure]:
    """The structure, then with each of these elements turned."""
    places = np.arange(len(structure.flags))
    turned = [Structure(structure.layout, structure.flags ^ (places == at)) for at in columns]
    return [structure, *turned]
