"""Policies: the owner's declarations and limits, read from TOML and written to it.

Trust: public.
"""
