"""How far a synthetic table is from the one it stands for, by released numbers alone.

Trust: public.
"""
