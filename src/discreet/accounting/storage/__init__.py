"""Storage.

Trust: public.
"""
