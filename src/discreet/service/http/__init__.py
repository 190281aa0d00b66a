"""HTTP: calls with JSON, problems with ways out, and nothing of the data in logs and metrics.

Trust: kernel.
"""
