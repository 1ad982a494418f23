"""Files that nobody vouches for."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from oocdm.errors import DataError, ModelError
from oocdm.files import limits
from oocdm.files.reading import parse_json, read_bytes, read_json


def test_regular_files_only(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.json")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "null.json").symlink_to("/dev/null")
    for name, got in (
        ("fifo", r"fifo\.json`: expected a regular file, got a FIFO\."),
        ("folder", r"folder\.json` cannot be read: Is a directory\. Give the name of a file\."),
        (
            "null",
            r"null\.json` cannot be read: It is a link\. Inside a folder links are not followed",
        ),
        ("none", r"none\.json` cannot be read: No such file or directory\."),
    ):
        with pytest.raises(DataError, match=got):
            read_json(tmp_path / f"{name}.json", DataError)


def test_a_link_that_a_user_names_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert read_bytes(tmp_path / "b", "bytes of JSON", DataError, is_named=True) == b"1"
    (tmp_path / "c").symlink_to("/dev/zero")
    with pytest.raises(DataError, match=r"c`: expected a regular file, got a device\."):
        read_bytes(tmp_path / "c", "bytes of JSON", DataError, is_named=True)


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: Any) -> int:  # which the superuser never meets
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", forbid)
    with pytest.raises(ModelError, match=r"a\.json` cannot be read: Permission denied\. Change"):
        read_json(tmp_path / "a.json", ModelError)


def test_large_files_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(limits.LIMITS, "bytes of JSON", 10)
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(10**12)  # which takes no place on the disk
    with pytest.raises(DataError, match="at most 10 bytes of JSON, got 1,000,000,000,000"):
        read_json(tmp_path / "a.json", DataError)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[" * 100_000, "expected at most 50 levels of JSON, got 100,000"),
        (b'{"a":' * 60 + b"1" + b"}" * 60, "expected at most 50 levels of JSON, got 60"),
        (b"[" + b"1" * 401 + b"]", "expected at most 100 characters of a number, got 401"),
        (b"[1e" + b"1" * 401 + b"]", "expected at most 100 characters of a number, got 403"),
        (
            b"[1",
            r"^a\.json: not readable as JSON \(Expecting .* Is the file damaged, or cut off\?$",
        ),
        (b"\xff", r"not readable as JSON \('utf-8' codec"),
        (b'{"a": 1, "a": 2}', "the key `a` is there twice"),
        (b"", "not readable as JSON"),
    ],
)
def test_json_that_cannot_be_read(content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse_json(content, Path("a.json"), DataError)


def test_texts_may_hold_anything() -> None:
    content = b'["' + b"[{" * 1000 + rb"\"\\" + b"7" * 1000 + b'"]'
    assert parse_json(content, Path("a.json"), DataError) == ["[{" * 1000 + '"\\' + "7" * 1000]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{" + b"".join(b'"%d":0,' % i for i in range(200_000)) + b'"0":0}', "`0` is there twice"),
        (b'["' + rb"\"" * 400_000, "Unterminated string"),
        (b"[" + rb"\"" * 400_000 + b"\\", "Expecting value"),
        (('"\u2200' + "[" * 60_000).encode("utf-16-le"), "levels of JSON"),
        (("[" + "1" * 500 + "]").encode("utf-16"), "not readable as JSON"),
    ],
    ids=["keys", "no end", "no beginning", "depth", "digits"],
)
def test_what_would_take_long_or_hide_is_told_at_once(content: bytes, message: str) -> None:
    started = time.perf_counter()
    with pytest.raises(DataError, match=message):
        parse_json(content, Path("a.json"), DataError)
    assert time.perf_counter() - started < 10


def test_a_mark_of_the_encoding_is_no_mistake() -> None:
    assert parse_json("\ufeff[1]".encode(), Path("a.json"), DataError) == [1]


def test_much_that_means_nothing_is_refused_at_once() -> None:
    """In time that does not grow faster than the file: seconds of a processor, not minutes."""
    began = time.process_time()
    content = b"[" + b"[]," * 10**7 + b"[]]"
    with pytest.raises(DataError) as error:
        parse_json(content, Path("much.json"), DataError)
    assert str(error.value) == (
        "`much.json`: expected at most 10,000,000 values of JSON, got 20,000,002. If that is "
        "right, and you trust the file, raise all limits: set the environment variable "
        "OOCDM_LIMITS=3."
    )
    with pytest.raises(DataError, match="levels of JSON"):
        parse_json(b"[" * 9_000_000, Path("deep.json"), DataError)
    assert time.process_time() - began < 2


def test_brackets_in_texts_do_not_count() -> None:
    deep = b'["' + b"[" * 100 + b'", ' + b"[" * 49 + b"]" * 49 + b"]"
    assert len(parse_json(deep, Path("a.json"), DataError)) == 2
    with pytest.raises(DataError, match="expected at most 50 levels of JSON, got 51"):
        parse_json(b"[" + deep + b"]", Path("a.json"), DataError)
