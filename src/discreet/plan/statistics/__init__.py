"""Statistics.

Trust: public.
"""
