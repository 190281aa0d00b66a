"""Rényi divergences: curves over orders, closed forms, and the least rho of a loss.

Trust: kernel.
"""
