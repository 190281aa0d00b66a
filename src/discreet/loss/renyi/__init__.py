"""Renyi.

Trust: public.
"""
