"""The options of planners, as `oocdm plan` takes them."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

import oocdm
from oocdm.errors import PlanError, suggest

if TYPE_CHECKING:
    from oocdm.planning import Planner

_option = functools.partial(typer.Option, rich_help_panel="Planner")
PLANNERS: dict[str, type[Planner]] = {"cem": oocdm.CEM, "icem": oocdm.ICEM, "mppi": oocdm.MPPI}


@dataclass(frozen=True)
class PlannerOptions:
    """Which planner, and how much it tries.

    >>> PlannerOptions(planner="icem", horizon=10).make().horizon
    10
    """

    planner: Annotated[str, _option(help="cem, icem or mppi.")] = "cem"
    horizon: Annotated[int, _option(min=1, help="Steps that it looks ahead.")] = 20
    samples: Annotated[int, _option(min=1, help="Sequences of actions an iteration.")] = 500
    iterations: Annotated[int, _option(min=1, help="How often it samples.")] = 5
    futures: Annotated[int, _option(min=1, help="Tries of a sequence, whose mean counts.")] = 1
    elites: Annotated[
        int | None,
        _option(min=1, help="The best of them, from which it learns: 100 (cem) or 50 (icem)."),
    ] = None
    discount: Annotated[
        float, _option(min=0, max=1, help="What a reward is worth if it comes a step later.")
    ] = 0.95
    caution: Annotated[
        float, _option(min=0, help="Reward that a step loses where the model does not know.")
    ] = 0.0
    paper: Annotated[
        bool,
        _option("--paper", help="The paper's Algorithm 3: past ends, and each plan from scratch."),
    ] = False

    @property
    def warm_start(self) -> bool:
        """Whether a plan starts from the one before."""
        return not self.paper

    def to_json(self) -> dict[str, Any]:
        """How it plans, as the answer of `--json` tells."""
        return {
            "planner": {"name": self.planner, **asdict(self.make())},
            "warm_start": self.warm_start,
            "caution": self.caution,
        }

    def make(self) -> Planner:
        """The planner; raises a `PlanError` if the options do not go together."""
        if self.planner not in PLANNERS:
            raise PlanError(f"Unknown planner `{self.planner}`. {suggest(self.planner, PLANNERS)}")
        if self.paper and self.planner != "cem":
            raise PlanError(
                f"Option --paper: expected the planner cem, which is the paper's, got "
                f"{self.planner}. Leave out one of the two."
            )
        if self.paper and self.futures > 1:
            raise PlanError(
                f"Option --futures: expected 1 with --paper, whose planner has one, got "
                f"{self.futures}. Leave out one of the two."
            )
        if self.elites is not None and self.planner == "mppi":
            raise PlanError(
                "Option --elites: expected none, since mppi learns from all sequences, got "
                f"{self.elites}. Leave it out, or choose cem or icem."
            )
        chosen: dict[str, Any] = {} if self.elites is None else {"elites": self.elites}
        return PLANNERS[self.planner](
            horizon=self.horizon,
            samples=self.samples,
            iterations=self.iterations,
            futures=self.futures,
            discount=self.discount,
            stop_at_termination=not self.paper,
            **chosen,
        )
