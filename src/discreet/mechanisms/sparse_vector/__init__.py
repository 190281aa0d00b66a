"""Sparse vector.

Trust: public.
"""
