"""Workers: processes that hold the data and compute, within limits that the plan decides.

Trust: kernel.
"""
