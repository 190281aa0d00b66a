"""Binding.

Trust: public.
"""
