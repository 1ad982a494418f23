"""The strict reader of everything that comes from files, options and arguments."""

from oocdm.reading.ranges import AnyNumber, Count, CountOrNone, Range, Seed, Share
from oocdm.reading.reader import check_fields, read, read_parts

__all__ = [
    "AnyNumber",
    "Count",
    "CountOrNone",
    "Range",
    "Seed",
    "Share",
    "check_fields",
    "read",
    "read_parts",
]
