"""What all verbs share: words for people, one JSON object for machines, errors, options."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from typing import Annotated, Any, ParamSpec

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from oocdm.errors import OocdmError

P = ParamSpec("P")

BAD_INPUT = 2  # exit codes
INTERRUPTED = 130

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Seed = Annotated[int, typer.Option(min=0, help="Makes the result repeatable.")]
# These networks are small: a second thread gains a fifth on an idle machine, and on a busy one the
# two wait for each other at every step and lose tenfold.
Threads = Annotated[int, typer.Option(min=1, help="Processor threads.")]


class Output:
    """Standard output of one verb: text for a person, or one JSON object, never both.

    >>> out = Output(as_json=True)
    >>> out.say("Done.")
    >>> out.finish({"loss": float("nan"), "edges": 14})
    {"loss": null, "edges": 14}
    """

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._console = Console(markup=False, highlight=False, emoji=False)

    def say(self, content: RenderableType = "") -> None:
        """Print for a person."""
        if not self._as_json:
            # Lines of text break where the terminal breaks them, so that they can be searched.
            self._console.print(content, soft_wrap=isinstance(content, str | Text))

    def finish(self, answer: dict[str, Any]) -> None:
        """Print for a machine."""
        if self._as_json:
            typer.echo(json.dumps(_finite(answer), allow_nan=False))


def _finite(value: Any) -> Any:
    """The same with null for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def verb(run: Callable[P, None]) -> Callable[P, None]:
    """A verb that answers mistakes (exit code 2) and Ctrl-C with a message, not a traceback."""

    @functools.wraps(run)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            run(*args, **kwargs)
        except BrokenPipeError:
            raise
        except (OocdmError, OSError) as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            typer.echo("Interrupted.", err=True)
            raise typer.Exit(INTERRUPTED) from None

    return guarded


def use_threads(count: int) -> None:
    """Let torch use so many processor threads."""
    import torch

    torch.set_num_threads(count)
