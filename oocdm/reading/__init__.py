"""The strict reader of everything that comes from files, options and arguments."""

from oocdm.reading.arguments import checked
from oocdm.reading.names import known_name
from oocdm.reading.ranges import (
    AnyNumber,
    Count,
    CountOrZero,
    NotNegative,
    Positive,
    Probability,
    Range,
    Seed,
    Share,
    Size,
)
from oocdm.reading.reader import check_fields, read, read_parts
from oocdm.reading.yaml_text import read_yaml

__all__ = [
    "AnyNumber",
    "Count",
    "CountOrZero",
    "NotNegative",
    "Positive",
    "Probability",
    "Range",
    "Seed",
    "Share",
    "Size",
    "check_fields",
    "checked",
    "known_name",
    "read",
    "read_parts",
    "read_yaml",
]
