"""Budgets: what a request costs, what is left, and whether it is accepted.

Trust: public.
"""
