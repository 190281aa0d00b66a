"""Worst case: the neighbors for which a tree loses most, and its price.

Trust: public.
"""
