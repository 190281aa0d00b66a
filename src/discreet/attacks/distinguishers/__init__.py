"""Distinguishers.

Trust: public.
"""
