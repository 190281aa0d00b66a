"""Partition selection: which groups may be shown when their keys are private.

Trust: public.
"""
