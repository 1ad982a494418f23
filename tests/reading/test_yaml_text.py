"""YAML from anywhere: what it says, and what it may not do."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
import yaml

from oocdm.reading import read_yaml


def test_what_yaml_says() -> None:
    text = "required: [a, 'b']\nsoft: {c: 0.5, d: 2}\nother: [yes, null, 2020-01-01x]"
    assert read_yaml(text) == {
        "required": ["a", "b"],
        "soft": {"c": 0.5, "d": 2},
        "other": [True, None, "2020-01-01x"],
    }
    assert read_yaml("") is None


def bomb() -> str:
    rows = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    names = "abcdefghi"
    for before, name in pairwise(names):
        rows.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    return "\n".join(rows)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (bomb(), r"^expected no aliases, got `\*a`\.$"),
        ("[" * 10_000, r"^expected at most 20 lists or mappings in each other\.$"),
        ("x: " + "1:" * 200_000 + "1", r"^expected text in quotes, or less of it: '1:1:"),
        ("x: !!int '" + "9" * 200_000 + "'", r"^expected text in quotes, or less of it: '9999"),
        ("x: " + "9" * 200_000, r"^expected text in quotes, or less of it: '9999"),
        ("x" * (2**20 + 1), r"^expected at most 1,048,576 characters, got 1,048,577\."),
        ("a: 1\nb: 2\na: 3", r"^the key `a` stands there twice\.$"),
        ("{" + "a: 1, " * 50_000 + "}", r"^the key `a` stands there twice\.$"),
    ],
    ids=["aliases", "depth", "sixties", "tag", "digits", "size", "keys", "many keys"],
)
def test_what_takes_much_from_little_is_refused(text: str, message: str) -> None:
    started = time.perf_counter()
    with pytest.raises(yaml.YAMLError, match=message):
        read_yaml(text)
    assert time.perf_counter() - started < 20


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x: !!bool maybe", r"^expected a value of type bool, got 'maybe'\.$"),
        ("x: !!timestamp never", r"^expected a value of type timestamp, got 'never'\.$"),
        ("x: !!int ''", r"^expected a value of type int, got ''\.$"),
        ("x: !!float _", r"^expected a value of type float, got '_'\.$"),
        ("x: 2001-99-99", r"^expected a value of type timestamp, got '2001-99-99'\.$"),
    ],
)
def test_values_that_are_not_of_their_type_are_refused(text: str, message: str) -> None:
    with pytest.raises(yaml.YAMLError, match=message):
        read_yaml(text)
