"""Confidence intervals.

Trust: public.
"""
