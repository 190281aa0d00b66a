"""The analyst: from supported values to shares, means, ranges and tables, with intervals.

Trust: public.
"""
