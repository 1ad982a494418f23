"""Reading YAML that anybody may have written: small, flat, and without aliases."""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

import yaml

from oocdm.errors import short

LARGEST = 2**20  # characters of a text
DEEPEST = 20  # lists and mappings within each other
LONGEST_NUMBER = 100  # characters of a value that may be anything but text

_TEXT = "tag:yaml.org,2002:str"


def read_yaml(text: str) -> Any:
    """What a text in YAML says; a `yaml.YAMLError` tells what is wrong with it.

    Some hundred bytes with aliases can stand for gigabytes, and long numbers take long to read:
    there are none. Of two equal keys YAML would silently keep the last: there are none either.

    >>> read_yaml("soft: {Ball.x <- self.v: 0.2}")
    {'soft': {'Ball.x <- self.v': 0.2}}
    """
    if len(text) > LARGEST:
        raise yaml.YAMLError(
            f"expected at most {LARGEST:,} characters, got {len(text):,}. Make it smaller."
        )
    # As a stream: of a text its errors quote lines.
    return yaml.load(io.StringIO(text), _Loader)


class _Loader(yaml.SafeLoader):
    """Refuses what takes much from little."""

    def __init__(self, text: io.StringIO) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            name = self.get_event().anchor
            raise yaml.YAMLError(f"expected no aliases, got `*{short(name, quote=False)}`.")
        self._depth += 1
        if self._depth > DEEPEST:
            raise yaml.YAMLError(f"expected at most {DEEPEST} lists or mappings in each other.")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def compose_scalar_node(self, anchor: Any) -> Any:
        node = super().compose_scalar_node(anchor)
        if node.tag != _TEXT and len(node.value) > LONGEST_NUMBER:
            raise yaml.YAMLError(f"expected text in quotes, or less of it: {short(node.value)}.")
        return node

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, KeyError, IndexError, AttributeError):  # of a value that a tag declares
            kind = node.tag.removeprefix("tag:yaml.org,2002:")
            raise yaml.YAMLError(
                f"expected a value of type {kind}, got {short(node.value)}."
            ) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        for key, count in keys.items():
            if count > 1:
                raise yaml.YAMLError(f"the key `{short(key, quote=False)}` stands there twice.")
        return super().construct_mapping(node, deep)
