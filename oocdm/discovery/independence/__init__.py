"""Edges by tests of conditional independence, between classes and between variables."""
