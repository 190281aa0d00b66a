"""Randomizers of bounded numbers, for means without bias.

Trust: kernel.
"""
