"""Distinguishers: features of answers, their scores, and events that tell neighbors apart.

Trust: public.
"""
