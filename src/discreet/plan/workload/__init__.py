"""Workloads: several counts of one question, measured together.

Trust: kernel.
"""
