"""The one place that writes and reads files: whole or not at all, checked, within limits."""

from oocdm.files.manifest import Contents, accept_changes, write_manifest
from oocdm.files.writing import write_atomically, write_json

__all__ = ["Contents", "accept_changes", "write_atomically", "write_json", "write_manifest"]
