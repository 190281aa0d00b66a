"""Aggregates, one file each: the value and the interval of each, from what the mechanisms gave.

Trust: public.
"""
