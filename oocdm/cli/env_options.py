"""The options of environments, as verbs take them."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

import oocdm
from oocdm.errors import OocdmError, PlanError

if TYPE_CHECKING:
    from oocdm.envs import WorldGym

_option = functools.partial(typer.Option, rich_help_panel="Environment")
Count = Annotated[str | None, _option(metavar="N or LOW-HIGH")]


@dataclass(frozen=True)
class EnvOptions:
    """What differs from an environment's defaults; not every environment has every option.

    >>> EnvOptions(ood=True, num_food="3-6").given()
    {'ood': True, 'num_food': (3, 6)}
    """

    variant: Annotated[str | None, _option(help="Numbers: paper or released.")] = None
    ood: Annotated[bool, _option("--ood", help="Start out of distribution.")] = False
    noise: Annotated[float | None, _option(help="Sd of observation noise (Block).")] = None
    world_seed: Annotated[int | None, _option(help="Which world (generated).")] = None
    family: Annotated[
        str | None, _option(help="What happens in it, such as forces (generated).")
    ] = None
    num_blocks: Annotated[str | None, _option(metavar="N", help="Or: random.")] = None
    num_food: Count = None
    num_monsters: Count = None
    num_traps: Count = None
    tasks: Annotated[
        str | None, _option(help="The paper's numbers of objects: seen or unseen (Mouse).")
    ] = None

    def given(self) -> dict[str, Any]:
        """The options that were given, as `oocdm.make` takes them."""
        options = dataclasses.asdict(self) | {"ood": self.ood or None}
        return {
            name: _count(name, value) if name.startswith("num_") else value
            for name, value in options.items()
            if value is not None
        }

    def make(self, env: str) -> WorldGym:
        """The environment of a name with these options."""
        return oocdm.make(env, **self.given())


def check_has_reward(env: str, advice: str) -> None:
    """Raise a `PlanError` if an environment has nothing to plan for.

    >>> check_has_reward("mouse", "")
    """
    rewarding = [info.name for info in oocdm.list_envs() if info.has_reward]
    if env not in rewarding:
        raise PlanError(
            f"Environment `{env}` has no reward, so there is nothing to plan for. Choose one that "
            f"has: {', '.join(rewarding)}. {advice}"
        )


def _count(option: str, text: str) -> int | tuple[int, int] | None:
    """A number of objects: `4`, a range `3-6`, or `random`."""
    low, dash, high = text.partition("-")
    try:
        if text == "random":
            return None
        return (int(low), int(high)) if dash else int(text)
    except ValueError:
        raise OocdmError(
            f"Option --{option.replace('_', '-')}: expected a number such as 4, or a range such "
            f"as 3-6, got {text!r}."
        ) from None
