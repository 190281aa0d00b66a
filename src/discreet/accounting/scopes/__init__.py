"""Scopes.

Trust: public.
"""
