"""Bounds search.

Trust: public.
"""
