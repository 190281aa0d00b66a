"""Searching for neighbors: pairs that go beyond every limit of a policy, and where the loss is.

Trust: public.
"""

from discreet.attacks.search.generators import Generator
from discreet.attacks.search.policy_neighbors import neighbors_for

__all__ = ["Generator", "neighbors_for"]
