"""Searching for missing bounds: private histograms of magnitudes, and the plan after them.

Trust: public.
"""
