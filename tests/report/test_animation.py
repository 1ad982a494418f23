"""Animations hold every picture, and are written whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from oocdm.errors import OocdmError
from oocdm.report.animation import check_animation_path, save_animation, with_caption

COLOURS = ((255, 0, 0), (0, 255, 0), (0, 0, 255))


def pictures() -> Iterator[np.ndarray]:
    for colour in COLOURS:
        yield np.full((20, 30, 3), colour, np.uint8)


def test_every_picture_is_a_frame_in_its_colours(tmp_path: Path) -> None:
    save_animation(tmp_path / "a.gif", pictures(), frames_a_second=10)
    with Image.open(tmp_path / "a.gif") as found:
        assert (found.n_frames, found.size, found.info["loop"]) == (3, (30, 20), 0)
        durations = []
        for i, colour in enumerate(COLOURS):
            found.seek(i)
            assert (np.asarray(found.convert("RGB")) == colour).all()
            durations.append(found.info["duration"])
    assert durations == [100, 100, 2000]  # the end can be read


def test_a_mistake_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[np.ndarray]:
        yield from pictures()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_animation(tmp_path / "a.gif", broken())
    assert list(tmp_path.iterdir()) == []


def test_caption_stands_below_the_picture_in_its_colour() -> None:
    picture = np.full((100, 300, 3), (247, 243, 234), np.uint8)
    picture[40:60, 40:60] = 0
    found = with_caption(picture, "step 3", "reward so far 1.25")
    assert (found[:100] == picture).all()
    strip = found[100:]
    assert (strip[0, 0] == picture[0, 0]).all()
    is_ink = (strip != picture[0, 0]).any(-1)
    assert is_ink[:, :100].any() and is_ink[:, 200:].any()
    assert not is_ink[:, :10].any() and not is_ink[:, -10:].any()
    assert (found != with_caption(picture, "step 4", "reward so far 1.25")).any()


def test_where_it_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "folder.gif").mkdir()
    check_animation_path(tmp_path / "a.GIF")
    for path, message in (
        (tmp_path / "a.png", "expected a file name that ends in .gif."),
        (tmp_path / "folder.gif", "expected the name of a file, got that of a folder."),
        (
            tmp_path / "none" / "a.gif",
            f"expected a folder that exists, got `{tmp_path / 'none'}`. Create it first.",
        ),
    ):
        with pytest.raises(OocdmError, match=f"^{re.escape(f'`{path}`: {message}')}$"):
            check_animation_path(path)


def test_captions_can_be_read_on_dark_ground() -> None:
    for shade, is_lighter in ((40, True), (220, False)):
        strip = with_caption(np.full((100, 300, 3), shade, np.uint8), "step 3", "")[100:]
        ink = strip[(strip != shade).any(-1)]
        assert (float(ink.mean()) > shade) is is_lighter
        assert abs(float(ink.max() if is_lighter else ink.min()) - shade) > 100
