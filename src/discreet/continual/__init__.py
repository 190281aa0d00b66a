"""Continual release: sums of a stream as it comes, and counts up to every threshold.

Trust: kernel.
"""

from discreet.continual.binary_tree import BinaryTreeCounter
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
from discreet.continual.hierarchy import Hierarchy
from discreet.continual.monotone import monotone
from discreet.continual.noisy_bits import NoisyBits
from discreet.continual.noisy_prefixes import NoisyPrefixes
from discreet.continual.noisy_thresholds import NoisyThresholds
from discreet.continual.refined_tree import RefinedTreeCounter

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
