"""Noise processes: noise that is drawn while a model computes.

Trust: kernel.
"""
