"""What is tried on generated rows, beside companions and places: coins.

Trust: kernel.
"""
