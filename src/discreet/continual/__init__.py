"""Continual release: sums of a stream as it comes, and counts up to every threshold.

Trust: kernel.
"""

from discreet.continual.binary_tree import BinaryTreeCounter, RefinedTreeCounter
from discreet.continual.consistency import monotone
from discreet.continual.counter import Counter
from discreet.continual.counter_run import CounterRun
from discreet.continual.error_table import (
    ErrorRow,
    Errors,
    error_table,
    measured_errors,
    planned,
    predicted_errors,
)
from discreet.continual.factorized import FactorizedCounter
from discreet.continual.hierarchy import Hierarchy, NoisyThresholds
from discreet.continual.simple_counters import NoisyBits, NoisyPrefixes

__all__ = [
    "BinaryTreeCounter",
    "Counter",
    "CounterRun",
    "ErrorRow",
    "Errors",
    "FactorizedCounter",
    "Hierarchy",
    "NoisyBits",
    "NoisyPrefixes",
    "NoisyThresholds",
    "RefinedTreeCounter",
    "error_table",
    "measured_errors",
    "monotone",
    "planned",
    "predicted_errors",
]
