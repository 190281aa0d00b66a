"""Continual release: sums of a stream as it comes.

Trust: kernel.
"""

from discreet.continual.binary_tree import BinaryTreeCounter
from discreet.continual.counter import Counter, CounterRun
from discreet.continual.factorized import FactorizedCounter

__all__ = [
    "BinaryTreeCounter",
    "Counter",
    "CounterRun",
    "FactorizedCounter",
]
