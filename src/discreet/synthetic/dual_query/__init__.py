"""DualQuery: a game between queries, drawn privately, and rows, chosen in public.

Trust: kernel.
"""
