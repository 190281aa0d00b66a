"""Continual release: sums of a stream as it comes, and counts up to every threshold.

Trust: kernel.
"""

from discreet.continual.binary_tree import BinaryTreeCounter, RefinedTreeCounter
from discreet.continual.consistency import monotone
from discreet.continual.counter import Counter, CounterRun
from discreet.continual.factorized import FactorizedCounter

__all__ = [
    "BinaryTreeCounter",
    "Counter",
    "CounterRun",
    "FactorizedCounter",
    "RefinedTreeCounter",
    "monotone",
]
