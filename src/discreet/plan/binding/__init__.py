"""Binding: names become columns with facts, and conditions become scopes that are enforced.

Trust: public.
"""
