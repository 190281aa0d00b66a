"""What it costs to compare models: paid scores, and the best of a random number of runs.

Trust: kernel.
"""
