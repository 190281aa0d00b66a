"""Dominating pairs of laws, one family a file.

Trust: kernel.
"""
