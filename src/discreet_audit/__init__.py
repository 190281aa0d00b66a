"""Discreet audit.

Trust: public.
"""
