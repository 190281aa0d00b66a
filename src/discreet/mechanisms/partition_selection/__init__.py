"""Partition selection.

Trust: public.
"""
