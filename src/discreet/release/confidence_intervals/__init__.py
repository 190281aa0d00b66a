"""Confidence intervals: from tails of noise to half-widths, and to boxes of totals.

Trust: public.
"""
