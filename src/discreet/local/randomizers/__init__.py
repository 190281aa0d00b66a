"""Randomizers: what runs on a person's device, from one value to one report.

Trust: kernel.
"""
