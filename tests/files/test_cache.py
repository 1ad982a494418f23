from __future__ import annotations

from pathlib import Path

import pytest

from oocdm.files.cache import cache_folder, key_of


@pytest.mark.parametrize(
    ("own", "shared", "expected"),
    [
        ("/a/b", "/c", "/a/b"),
        ("~/b", None, "HOME/b"),
        (None, "/c", "/c/oocdm"),
        (None, "c", "HOME/.cache/oocdm"),  # the standard takes no relative paths
        ("", "", "HOME/.cache/oocdm"),
        (None, None, "HOME/.cache/oocdm"),
    ],
)
def test_the_folder(own, shared, expected, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in (("OOCDM_CACHE", own), ("XDG_CACHE_HOME", shared)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    assert cache_folder() == Path(expected.replace("HOME", str(tmp_path)))


def test_keys_differ_where_settings_do():
    settings = {"steps": 10, "versions": {"numpy": "2.0"}}
    assert key_of(settings) == key_of(dict(reversed(settings.items())))
    assert key_of(settings) != key_of({**settings, "versions": {"numpy": "2.1"}})
    assert key_of(settings).isalnum()
