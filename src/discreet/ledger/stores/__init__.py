"""Stores.

Trust: public.
"""
