"""Benchmarks: the paper's tables and speed."""
