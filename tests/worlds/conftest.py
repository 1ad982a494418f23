"""The toy world of the tests of data, here too."""

from tests.data.conftest import make_world, schema

__all__ = ["make_world", "schema"]
