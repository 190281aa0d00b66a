"""Policy.

Trust: public.
"""
