"""A run of steps: set up, taken here or by several processes, saved, ended, and stopped early.

Trust: kernel.
"""
