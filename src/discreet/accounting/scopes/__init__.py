"""Scopes: which records a request can depend on, as boxes of values.

Trust: public.
"""
