"""Named tensors with metadata as the content of one file, of the format safetensors."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from oocdm.errors import OocdmError
from oocdm.files.reading import parse_json

Tensors = dict[str, Tensor]


def to_bytes(tensors: Tensors, metadata: dict[str, str]) -> bytes:
    """Tensors and metadata as the content of a file.

    >>> content = to_bytes({"a": torch.zeros(2)}, {"step": "3"})
    >>> from_bytes(content, Path("a.safetensors"), OocdmError)
    ({'a': tensor([0., 0.])}, {'step': '3'})
    """
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    return save(plain, metadata)


def from_bytes(
    content: bytes, path: Path, error: type[OocdmError]
) -> tuple[Tensors, dict[str, str]]:
    """The tensors and the metadata of a file's content."""
    try:
        tensors = load(content)
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as reason:
        raise damaged(path, str(reason), error) from None
    size = int.from_bytes(content[:8], "little")
    return tensors, parse_json(content[8 : 8 + size], path, error).get("__metadata__") or {}


def damaged(path: Path, reason: str, error: type[OocdmError]) -> OocdmError:
    """What to raise for tensors that are not as they were written."""
    return error(
        f"{path}: not readable as weights ({reason}). The file is damaged or cut off; take an "
        "earlier copy or train again."
    )


def checksum_of(tensors: Tensors, metadata: dict[str, str]) -> str:
    """A number that other tensors or metadata do not have.

    >>> one, other = (checksum_of({"a": torch.full((2,), x)}, {}) for x in (0.0, -0.0))
    >>> len(one), one == other
    (64, False)
    """
    kinds = [[name, str(t.dtype), list(t.shape)] for name, t in sorted(tensors.items())]
    found = hashlib.sha256(json.dumps([metadata, kinds], sort_keys=True).encode())
    for _, tensor in sorted(tensors.items()):
        plain = tensor.detach().cpu().contiguous()
        found.update(plain.reshape(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()
