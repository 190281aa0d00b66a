"""Losses of samples, of routed and replaced records, and of shuffled reports.

Trust: kernel.
"""
