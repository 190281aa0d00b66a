"""Values that are chosen: leaves by their scores, and quantiles from trees of noisy counts.

Trust: kernel.
"""
