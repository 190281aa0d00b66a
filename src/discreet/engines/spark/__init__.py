"""Spark: DuckDB in every task, over all rows of some units.

Trust: kernel.
"""
