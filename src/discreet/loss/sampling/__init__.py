"""Sampling.

Trust: public.
"""
