"""What all verbs share: words for people, one JSON object for machines, errors, options."""

from __future__ import annotations

import errno
import functools
import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from oocdm.errors import OocdmError
from oocdm.interruption import INTERRUPTED, raising
from oocdm.reading.ranges import LARGEST

P = ParamSpec("P")

BAD_INPUT = 2  # exit code
MOST_THREADS = 1024  # far more than processors: torch dies at some thousands without a word

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Seed = Annotated[int, typer.Option(min=0, max=LARGEST, help="Makes the result repeatable.")]
# These networks are small: a second thread gains a fifth on an idle machine, and on a busy one the
# two wait for each other at every step and lose tenfold.
Threads = Annotated[int, typer.Option(min=1, max=MOST_THREADS, help="Processor threads.")]


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
            with raising():
                _check_texts(kwargs)
                run(*args, **kwargs)
        except BrokenPipeError:
            raise
        except OocdmError as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(BAD_INPUT) from None
        except OSError as error:
            typer.echo(f"Error: {_in_words(error)}", err=True)
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            typer.echo("Interrupted.", err=True)
            raise typer.Exit(INTERRUPTED) from None

    return guarded


def _check_texts(options: Mapping[str, Any]) -> None:
    """Raise an `OocdmError` if an option or a path has bytes that are no text."""
    for name, value in options.items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str | Path):
                try:
                    str(text).encode()
                except UnicodeEncodeError:
                    raise OocdmError(
                        f"`{name}`: expected text in UTF-8, got {os.fsencode(text)!r}. Rename the "
                        "file or folder, or one that it is in."
                    ) from None


_REASONS = {
    errno.EACCES: "it may not be read or written. Change its permissions, or choose another place.",
    errno.EPERM: "it may not be read or written. Change its permissions, or choose another place.",
    errno.EROFS: "it is on a disk that may only be read. Choose another place.",
    errno.EISDIR: "expected a file, got a folder.",
    errno.ENOTDIR: "expected a folder, got a file, here or on the way to it.",
    errno.ENOENT: "there is no such file or folder.",
    errno.EEXIST: "it is there already. Choose another place.",
    errno.ENAMETOOLONG: "the name is too long. Choose a shorter one.",
    errno.ENOSPC: "the disk is full. Make room, then try again: `oocdm resume` goes on with a run.",
    errno.EDQUOT: "no more may be written. Make room; `oocdm resume` goes on with a run.",
}


def _in_words(error: OSError) -> str:
    """What the system says, with the path that it says it of.

    >>> _in_words(IsADirectoryError(errno.EISDIR, "Is a directory", "data"))
    '`data`: expected a file, got a folder.'
    """
    reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
    paths = [os.fsdecode(name) for name in (error.filename, error.filename2) if name is not None]
    return f"{' and '.join(f'`{path}`' for path in paths)}: {reason}" if paths else reason


def use_threads(count: int) -> None:
    """Let torch use so many processor threads."""
    import torch

    torch.set_num_threads(count)
