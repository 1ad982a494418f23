"""Pictures one after the other, with words below them, as an animated GIF."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from oocdm.errors import OocdmError
from oocdm.files import write_atomically

STRIP, MARGIN, TEXT_SIZE = 40, 16, 18
INK, CHALK = (62, 58, 66), (240, 238, 232)  # on light and on dark ground
LAST_SECONDS = 2.0


def check_animation_path(path: Path) -> None:
    """Raise an `OocdmError` unless an animation can be written there.

    >>> check_animation_path(Path("episode.mp4"))
    Traceback (most recent call last):
    ...
    oocdm.errors.OocdmError: `episode.mp4`: expected a file name that ends in .gif.
    """
    if path.suffix.lower() != ".gif":
        raise OocdmError(f"`{path}`: expected a file name that ends in .gif.")
    if path.is_dir():
        raise OocdmError(f"`{path}`: expected the name of a file, got that of a folder.")
    if not path.parent.is_dir():
        raise OocdmError(
            f"`{path}`: expected a folder that exists, got `{path.parent}`. Create it first."
        )


def with_caption(picture: np.ndarray, left: str, right: str) -> np.ndarray:
    """A picture (height, width, 3) with a strip of words below it, in the colour of its corner.

    >>> with_caption(np.zeros((100, 200, 3), np.uint8), "step 3", "reward so far 1.25").shape
    (140, 200, 3)
    """
    height, width, _ = picture.shape
    paper = tuple(picture[0, 0].tolist())
    image = Image.new("RGB", (width, height + STRIP), paper)
    image.paste(Image.fromarray(picture))
    ink = INK if np.mean(paper) > 127 else CHALK
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(TEXT_SIZE)
    middle = height + (STRIP - MARGIN / 2) / 2
    draw.text((MARGIN, middle), left, ink, font, anchor="lm")
    draw.text((width - MARGIN, middle), right, ink, font, anchor="rm")
    return np.asarray(image)


def save_animation(path: Path, frames: Iterable[np.ndarray], frames_a_second: float = 8) -> None:
    """Write pictures of one size as a GIF that repeats, whole or not at all.

    >>> import tempfile
    >>> frames = [np.full((20, 30, 3), shade, np.uint8) for shade in (0, 99, 200)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_animation(Path(folder) / "shades.gif", frames)
    ...     with Image.open(Path(folder) / "shades.gif") as animation:
    ...         animation.n_frames
    3
    """
    # With colours of its own each picture looks as it was drawn.
    first, *others = (Image.fromarray(frame).quantize() for frame in frames)
    durations = [1000 / frames_a_second] * len(others) + [1000 * LAST_SECONDS]
    buffer = io.BytesIO()
    first.save(
        buffer, "GIF", save_all=True, append_images=others, duration=durations, loop=0, disposal=1
    )
    write_atomically(path, buffer.getvalue())
