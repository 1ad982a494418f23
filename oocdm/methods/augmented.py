"""What OOCDM+ and OOFULL+ share: objects of a class that differ, told apart by their places."""

from __future__ import annotations

from dataclasses import replace

from oocdm.errors import ModelError
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.products import NAME as PRODUCTS

IDENTITY_DIM = 64  # as the paper has it: 32 for each way through the objects
# Objects differ above all in how strongly something acts on them: who one is, times a value. So
# products are there from the first step on, where others learn them late.
EARLY = (PRODUCTS,)


def augmented(preset: str = "default") -> ModelOptions:
    """The network of a preset, with encodings of who each object is.

    >>> augmented().identity_dim
    64
    """
    return replace(ModelOptions.preset(preset), identity_dim=IDENTITY_DIM)


def check_augmented(name: str, model: ModelOptions) -> None:
    """Raise a `ModelError` unless a network tells objects apart; `name` is its method's.

    >>> check_augmented("oocdm+", augmented())
    """
    if not model.identity_dim:
        raise ModelError(
            f"Method `{name}`: `model.identity_dim`: expected at least 2, got 0: objects would be "
            f"taken for alike. For that take `{name.removesuffix('+')}`."
        )
