"""Rows of people as models see them: short integer vectors, and exact sums of them.

Trust: kernel.
"""
