"""The reference engine: plain Python over lists of rows, slow, and the meaning of everything.

Trust: kernel.  Every other engine is tested against this one.
"""
