"""Worst case.

Trust: public.
"""
