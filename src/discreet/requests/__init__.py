"""Requests: what an engine is asked to compute, and the totals that it returns.

Trust: kernel.

Planning writes requests, engines carry them out, releases read the totals: the room between them
knows none of the three.
"""

__all__: list[str] = []
