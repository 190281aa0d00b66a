"""Cells: the parts of a loss map, and what their records have paid.

Trust: kernel.
"""
