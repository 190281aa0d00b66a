"""Forecast.

Trust: public.
"""
