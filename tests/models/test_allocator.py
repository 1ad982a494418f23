"""Memory that stays in the process."""

from __future__ import annotations

import mmap
import platform
from pathlib import Path

import pytest

from oocdm.models import allocator


def test_glibc_listens_and_nothing_else_is_asked() -> None:
    is_glibc = platform.system() == "Linux" and platform.libc_ver()[0] == "glibc"
    assert allocator.keep_freed_memory() is is_glibc


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(name: str) -> None:
        raise AssertionError(name)

    monkeypatch.setattr(allocator.sys, "platform", "darwin")
    monkeypatch.setattr(allocator.ctypes, "CDLL", never)
    assert allocator.keep_freed_memory.__wrapped__() is False


def test_another_c_library_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(allocator.sys, "platform", "linux")
    for library in (missing, lambda name: object()):
        monkeypatch.setattr(allocator.ctypes, "CDLL", library)
        assert allocator.keep_freed_memory.__wrapped__() is False


@pytest.mark.parametrize("answers", [(1, 1, 1), (1, 0, 1)])
def test_it_listened_if_it_took_every_setting(
    answers: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []

    class Library:
        @staticmethod
        def mallopt(name: int, value: int) -> int:
            asked.append((name, value))
            return answers[len(asked) - 1]

    monkeypatch.setattr(allocator.sys, "platform", "linux")
    monkeypatch.setattr(allocator.ctypes, "CDLL", lambda name: Library)
    assert allocator.keep_freed_memory.__wrapped__() is all(answers)
    assert [name for name, _ in asked] == [-3, -1, -2]
    assert all(0 < value < 2**31 for _, value in asked)


def test_only_above_the_ceiling_is_memory_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    returned: list[bool] = []
    monkeypatch.setattr(allocator, "release_freed_memory", lambda: returned.append(True))
    monkeypatch.setattr(allocator, "resident_memory", lambda: 1000)
    assert not allocator.Ceiling.above(600, 400).hold() and not returned
    assert allocator.Ceiling.above(600, 399).hold() and returned == [True]


def test_where_nobody_tells_nothing_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator, "release_freed_memory", lambda: pytest.fail("returned"))
    monkeypatch.setattr(allocator, "resident_memory", lambda: None)
    assert allocator.Ceiling.above(None, 400).most is None
    assert not allocator.Ceiling(5).hold()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells")
def test_what_is_resident_grows_with_what_is_written() -> None:
    """Of memory from the system itself: what others have freed is resident, and may be reused."""
    size = 2**28
    before = allocator.resident_memory()
    with mmap.mmap(-1, size) as written:
        mapped = allocator.resident_memory()
        for start in range(0, size, mmap.PAGESIZE):
            written[start] = 1
        after = allocator.resident_memory()
    unmapped = allocator.resident_memory()
    assert before is not None and mapped is not None
    assert after is not None and unmapped is not None
    assert mapped - before < 0.1 * size < 0.9 * size < after - mapped
    assert after - unmapped > 0.9 * size
