"""Damage to files and values, drawn from a seed: flipped bits, cuts, other types, odd numbers."""

from __future__ import annotations

import io
import json
import random
import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

# What people, other programs and bad luck put where something else was expected.
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e-9, 1e30, 1e308, 10**18, 10**400, -(2**63)),
    *(
        float("nan"),
        float("inf"),
        "",
        " ",
        "0",
        "nan",
        "true",
        "self",
        "a" * 5000,
        "\x00",
        "é",
        "😀",
    ),
    *([], {}, [[]], [None], {"": None}, ["Ball.x <- self.x"], {"name": None}, "../x", "/dev/zero"),
)
_DEEP = 5000  # levels of nesting, more than a reader may follow


def damage_bytes(content: bytes, rng: random.Random) -> bytes:
    """A file with some of its bytes changed, gone or doubled."""
    if not content:
        return rng.randbytes(8)
    kind = rng.choice(("bit", "bit", "bits", "cut", "zeros", "noise", "double", "append", "empty"))
    start = rng.randrange(len(content))
    stop = min(len(content), start + rng.choice((1, 4, 64, 4096)))
    if kind == "bit":
        return _flip(content, rng, 1)
    if kind == "bits":
        return _flip(content, rng, rng.randint(2, 64))
    changed = {
        "cut": lambda: content[:start],
        "zeros": lambda: content[:start] + bytes(stop - start) + content[stop:],
        "noise": lambda: content[:start] + rng.randbytes(stop - start) + content[stop:],
        "double": lambda: content[:stop] + content[start:],
        "append": lambda: content + rng.randbytes(rng.randint(1, 99)),
        "empty": lambda: b"",
    }
    return changed[kind]()


def _flip(content: bytes, rng: random.Random, count: int) -> bytes:
    changed = bytearray(content)
    for _ in range(count):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def damage_json(content: bytes, rng: random.Random) -> bytes:
    """JSON of which one part was changed, or bytes of it."""
    if rng.random() < 0.3:
        return damage_bytes(content, rng)
    if rng.random() < 0.05:
        return b"[" * _DEEP + b"]" * _DEEP
    try:
        return json.dumps(damage_value(json.loads(content), rng)).encode()
    except ValueError:
        return damage_bytes(content, rng)


def damage_value(value: Any, rng: random.Random) -> Any:
    """A value, as JSON has them, with one part of it changed."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        kind = rng.choice(("inside", "inside", "inside", "drop", "add", "rename"))
        if kind == "inside":
            return {**value, key: damage_value(value[key], rng)}
        if kind == "add":
            return {**value, rng.choice(("seed", "format", "x", "", "name")): rng.choice(ODD)}
        less = {k: v for k, v in value.items() if k != key}
        return less if kind == "drop" else {**less, f"{key}s": value[key]}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        kind = rng.choice(("inside", "inside", "inside", "drop", "double", "turn"))
        changed = {
            "inside": lambda: [*value[:at], damage_value(value[at], rng), *value[at + 1 :]],
            "drop": lambda: value[:at] + value[at + 1 :],
            "double": lambda: value[:at] + value[at : at + 1] + value[at:],
            "turn": lambda: value[::-1],
        }
        return changed[kind]()
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.3:
        return rng.choice((value + 1, -value, value * 2, value + 0.5, str(value)))
    return rng.choice(ODD)


def damage_tensors(content: bytes, rng: random.Random) -> bytes:
    """A safetensors file with a changed header or changed bytes."""
    if rng.random() < 0.5:
        return damage_bytes(content, rng)
    (length,) = struct.unpack("<Q", content[:8])
    header = damage_json(content[8 : 8 + length], rng)
    return struct.pack("<Q", len(header)) + header + content[8 + length :]


def damage_table(content: bytes, rng: random.Random) -> bytes:
    """A Parquet file with a changed column, or changed bytes."""
    if rng.random() < 0.5:
        return damage_bytes(content, rng)
    table = pq.read_table(io.BytesIO(content))
    changed = _changed(table, rng)
    buffer = io.BytesIO()
    pq.write_table(changed, buffer)
    return buffer.getvalue()


def _changed(table: pa.Table, rng: random.Random) -> pa.Table:
    at = rng.randrange(table.num_columns)
    name, column, rows = table.column_names[at], table.column(at), table.num_rows
    others: dict[str, Callable[[], pa.Table]] = {
        "drop": lambda: table.drop([name]),
        "rename": lambda: table.rename_columns(
            [f"{n}x" if n == name else n for n in table.column_names]
        ),
        "null": lambda: table.set_column(at, name, pa.nulls(rows, column.type)),
        "text": lambda: table.set_column(at, name, pa.array(["x"] * rows)),
        "odd": lambda: table.set_column(
            at, name, pa.array([rng.choice((0.5, -1.0, 1e30, float("nan"), 3e38))] * rows)
        ),
        "turn": lambda: table.take(list(range(rows))[::-1]),
        "less": lambda: table.slice(0, rng.randrange(rows) if rows else 0),
        "double": lambda: pa.concat_tables([table, table.slice(0, 1)]),
        "again": lambda: table.append_column(name, column),
        "more": lambda: table.append_column("more", column),
    }
    return others[rng.choice(sorted(others))]()


# How files are damaged, by their endings.
BY_SUFFIX: dict[str, Callable[[bytes, random.Random], bytes]] = {
    ".json": damage_json,
    ".jsonl": damage_bytes,
    ".safetensors": damage_tensors,
    ".parquet": damage_table,
}
