"""What OOCDM+ and OOFULL+ share: objects of a class that differ, told apart by their places."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

from oocdm.errors import ModelError
from oocdm.methods.class_method import AbstractClassMethod
from oocdm.models.oocdm.options import ModelOptions

IDENTITY_DIM = 64  # as the paper has it: 32 for each way through the objects


def augmented(preset: str = "default") -> ModelOptions:
    """The network of a preset, with encodings of who each object is.

    >>> augmented().identity_dim
    64
    """
    return replace(ModelOptions.preset(preset), identity_dim=IDENTITY_DIM)


@dataclass(frozen=True)
class AbstractAugmentedMethod(AbstractClassMethod):
    """A method for worlds whose objects of one class are not interchangeable."""

    model: ModelOptions = field(default_factory=augmented)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.model.identity_dim:
            raise ModelError(
                f"Method `{self.name}`: `model.identity_dim`: expected at least 2, got 0: objects "
                f"would be taken for alike. For that take `{self.name.removesuffix('+')}`."
            )

    @classmethod
    def preset(cls, name: str, **options: Any) -> Self:
        return super().preset(name, **{"model": augmented(name), **options})
