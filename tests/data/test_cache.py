from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

import oocdm
from oocdm.data.cache import cached_dataset

SETTINGS = {"steps": 40, "seed": 3}


class Maker:
    """Makes a dataset and counts how often."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> oocdm.Dataset:
        self.count += 1
        return oocdm.collect(oocdm.make("block", num_blocks=1), steps=40, seed=3)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OOCDM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_it_is_made_once_and_then_read(cache: Path) -> None:
    make = Maker()
    first, again = (cached_dataset("block", SETTINGS, make) for _ in range(2))
    assert make.count == 1
    assert (first.values["Block"]["s1"] == again.values["Block"]["s1"]).all()
    cached_dataset("block", {**SETTINGS, "seed": 4}, make)
    assert make.count == 2
    settings = [json.loads(path.read_text()) for path in (cache / "block").glob("*.json")]
    assert sorted(each["seed"] for each in settings) == [3, 4]


def test_what_is_damaged_is_made_again(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    make = Maker()
    cached_dataset("block", SETTINGS, make)
    (damaged,) = (cache / "block").glob("*/Block.parquet")
    damaged.write_bytes(damaged.read_bytes()[:100])
    assert len(cached_dataset("block", SETTINGS, make)) == 40
    assert make.count == 2
    assert "It is made again." in caplog.text and "Block.parquet" in caplog.text
    caplog.clear()
    assert len(cached_dataset("block", SETTINGS, make)) == 40
    assert make.count == 2 and not caplog.records


def test_what_cannot_be_kept_is_not_lost(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache.write_text("a file where the folder should be")
    assert len(cached_dataset("block", SETTINGS, Maker())) == 40
    assert "Cache: the dataset is not kept." in caplog.text


def test_nothing_is_left_of_a_making_that_was_interrupted(cache: Path) -> None:
    def stop() -> oocdm.Dataset:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached_dataset("block", SETTINGS, stop)
    assert not cache.exists()


def test_it_says_where_it_stands(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "oocdm")
    for _ in range(2):
        cached_dataset("block", SETTINGS, Maker())
    assert [r.getMessage().split(str(cache))[0] for r in caplog.records] == [
        "Cache: written to ",
        "Cache: read from ",
    ]
