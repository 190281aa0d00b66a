"""Synthetic tables: rows of people who do not exist, made from noisy answers alone.

Trust: kernel.
"""
