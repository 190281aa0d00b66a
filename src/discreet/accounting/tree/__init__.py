"""Tree.

Trust: public.
"""
