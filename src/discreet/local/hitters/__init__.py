"""Heavy hitters: the most frequent words of a domain that is too large to list.

Trust: kernel.
"""
