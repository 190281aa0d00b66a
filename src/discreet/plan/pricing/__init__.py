"""Pricing: sensitivities, the choice of noise, its calibration, and the price of a plan.

Trust: public.
"""
