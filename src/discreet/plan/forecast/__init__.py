"""Errors of an answer before any data is read, and prices from errors.

Trust: public.
"""
