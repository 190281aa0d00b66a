"""Layers whose contributions are proved: by exact type, and by every attribute that matters.

Trust: kernel.
"""
