"""What is wrong with a method of one's own."""

from oocdm.checks.check_method import check_method

__all__ = ["check_method"]
