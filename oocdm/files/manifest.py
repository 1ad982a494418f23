"""The manifest of a folder: a checksum for each of its files, written last."""

from __future__ import annotations

import hashlib
import logging
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from oocdm.errors import FileError, OocdmError
from oocdm.files.os_errors import told_as
from oocdm.files.reading import parse_json, read_bytes
from oocdm.files.writing import recover, write_json
from oocdm.reading import checked, read

logger = logging.getLogger(__name__)

MANIFEST = "manifest.json"
FORMAT = 1
# What files there are, and what of them is limited.
_KINDS = {
    ".json": "bytes of JSON",
    ".safetensors": "bytes of weights",
    ".parquet": "bytes of Parquet",
}
_LFS = "Git LFS has the file itself: fetch it with `git lfs pull`. "


@dataclass(frozen=True)
class Contents:
    """The files of a run or a dataset, each checked against the manifest as it is read.

    The folder may be a link. Inside it only regular files are read.
    """

    folder: Path
    error: type[OocdmError]
    checksums: Mapping[str, str] | None  # by the names of files; None if there is no manifest

    @staticmethod
    def of(folder: Path, error: type[OocdmError]) -> Contents:
        """The contents of a folder, with the checksums of its manifest."""
        with told_as(error, folder, "read"):
            if not os.path.lexists(folder):
                recover(Path(os.path.realpath(folder)))
            with suppress(FileNotFoundError, NotADirectoryError):  # of which others tell more
                os.stat(os.path.join(folder, "."))
        path = folder / MANIFEST
        if not os.path.lexists(path):
            return Contents(folder, error, None)
        content = read_bytes(path, "bytes of JSON", error)
        try:
            data = parse_json(content, path, error)
        except error as problem:
            hint = _LFS if is_lfs_pointer(content) else ""
            raise error(
                f"{problem} {hint}If the other files are as they should be: "
                f"oocdm.accept_changes('{folder}') or `oocdm accept {folder}` writes it anew."
            ) from None
        return Contents(folder, error, _checksums(data, path, error))

    def has(self, name: str) -> bool:
        """Whether there is anything of that name."""
        return os.path.lexists(self.folder / name)

    def read(self, name: str) -> bytes:
        """What a file holds, which is what it held when the manifest was written."""
        path = self.folder / name
        content = read_bytes(path, _KINDS[path.suffix], self.error)
        if is_lfs_pointer(content):
            raise self.error(f"`{path}` holds no more than the address of a file. {_LFS}".rstrip())
        if self.checksums is not None and self.checksums.get(name) != _checksum(content):
            raise self.error(
                f"`{path}` is not as it was when `{self.folder / MANIFEST}` was written: it was "
                "cut off, damaged or changed since. Take a copy, or make it anew. If it was "
                f"changed on purpose: oocdm.accept_changes('{self.folder}') or `oocdm accept "
                f"{self.folder}`."
            )
        return content

    def read_json(self, name: str) -> Any:
        """The value that a file holds as JSON."""
        return parse_json(self.read(name), self.folder / name, self.error)

    def is_replaced(self) -> bool:
        """Whether somebody has put other files in the place of these meanwhile."""
        try:
            return Contents.of(self.folder, self.error).checksums != self.checksums
        except self.error:
            return False

    def warn_if_unlisted(self) -> None:
        """Say that nothing vouches for the files, if there is no manifest."""
        if self.checksums is None:
            logger.warning(
                "`%s` has no %s, so damage to its files may go unnoticed. If they are as they "
                "should be: oocdm.accept_changes('%s') writes one.",
                *(self.folder, MANIFEST, self.folder),
            )


def is_lfs_pointer(content: bytes) -> bool:
    """Whether this is what Git LFS leaves in place of a file that was not fetched.

    >>> is_lfs_pointer(b"version https://git-lfs.github.com/spec/v1\\noid sha256:4d7a\\n")
    True
    """
    return content.startswith(b"version https://git-lfs")


def write_manifest(folder: Path) -> None:
    """Write the checksums of all files that there are in a folder, which is whole now."""
    checksums = {
        path.name: _checksum(read_bytes(path, _KINDS[path.suffix], FileError))
        for path in sorted(folder.iterdir())
        if path.suffix in _KINDS and path.name != MANIFEST and _is_regular(path)
    }
    write_json(folder / MANIFEST, {"format": FORMAT, "files": checksums})


@checked(FileError)
def accept_changes(folder: str | Path) -> None:
    """Take the files of a run or a dataset as they are now, after they were changed on purpose.

    They are still checked as they are read, but they need not be as they were written.

    >>> accept_changes("nowhere")
    Traceback (most recent call last):
    ...
    oocdm.errors.FileError: accept_changes: expected the folder of a run or a dataset, got \
nowhere, which has no schema.json.
    """
    path = Path(folder)
    with told_as(FileError, folder, "read"):
        is_ours = (path / "schema.json").is_file()
    if not is_ours:
        raise FileError(
            "accept_changes: expected the folder of a run or a dataset, got "
            f"{folder}, which has no schema.json."
        )
    write_manifest(path)


class _Manifest(TypedDict):
    format: int
    files: dict[str, str]


def _checksums(data: Any, path: Path, error: type[OocdmError]) -> dict[str, str]:
    found: _Manifest = read(_Manifest, data, f"`{path}`", error, complete=True)
    if found["format"] != FORMAT:
        raise error(
            f"`{path}`: expected a manifest of format {FORMAT}, got {found['format']}: another "
            "version of oocdm wrote it; read the folder with that version."
        )
    return found["files"]


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _is_regular(path: Path) -> bool:
    return stat.S_ISREG(os.lstat(path).st_mode)
