"""How much edges help, how sure that is, and the rules that turn it into a graph."""

from oocdm.discovery.gains import (
    Gains,
    OnSettled,
    Stopping,
    Tally,
    element_gains,
)
from oocdm.discovery.independence.class_tests import discover_by_tests
from oocdm.discovery.rule import Rule
from oocdm.discovery.search import (
    Discovery,
    Search,
    discover_around,
    discover_leave_one_out,
    look,
)
from oocdm.discovery.single_variables import discover_variables

__all__ = [
    "Discovery",
    "Gains",
    "OnSettled",
    "Rule",
    "Search",
    "Stopping",
    "Tally",
    "discover_around",
    "discover_by_tests",
    "discover_leave_one_out",
    "discover_variables",
    "element_gains",
    "look",
]
