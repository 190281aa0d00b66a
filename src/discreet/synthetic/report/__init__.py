"""The distance of a synthetic table from its source, from released numbers alone.

Trust: public.
"""
