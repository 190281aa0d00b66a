"""Pricing.

Trust: public.
"""
