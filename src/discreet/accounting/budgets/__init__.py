"""Budgets.

Trust: public.
"""
