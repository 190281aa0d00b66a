"""Checks of a sampler's law, shared by the tests of the noise room.

``check_law`` is exact: it follows every word that the sampler could draw, down to a stated
unexplored mass, and compares rational probabilities with certified enclosures.  ``chi_square`` is
statistical, for sizes that cannot be enumerated.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import stats

from discreet.attacks import exact_law
from discreet.noise import KeyedEntropy
from discreet.noise.bernoulli import CoinSizes
from discreet.noise.table import TableSizes
from discreet.noise.tablefree import FreeSizes

ALPHA = 1e-6
"""The false-alarm rate of every single statistical assertion."""

TINY_TABLE = TableSizes(guide_bits=3, word_bits=6, step_bits=4)
TINY_COINS = CoinSizes(word_bits=3, step_bits=3)
LAZY_COINS = CoinSizes(word_bits=3, step_bits=3, guard=0.2)
TINY_FREE = FreeSizes(word_bits=5, step_bits=4, coins=TINY_COINS)
LAZY_FREE = FreeSizes(word_bits=5, step_bits=4, coins=LAZY_COINS)


class WrongLaw(AssertionError):
    """The sampler does not have the law that it claims."""


def check_law(program, pmf_bounds, *, unexplored=Fraction(1, 100), max_runs=20_000):
    """Compare the enumerated law of ``program(entropy)`` with enclosed probabilities.

    A program that returns None has rejected its attempt and would start again; the law of what it
    returns in the end is then the law of one attempt given that it is accepted.  With A the
    accepted mass found and u the unexplored mass, every outcome k found with mass f must satisfy
    f / (A + u) <= P[k] <= (f + u) / (A + u), whatever the unexplored words do; and the outcomes not
    found must not claim more than the unexplored words could give them.
    """
    law = exact_law(program, unexplored=unexplored, max_runs=max_runs)
    left = law.unexplored
    assert left <= unexplored, "too little explored to mean anything"
    found = {outcome: mass for outcome, mass in law.mass.items() if outcome is not None}
    accepted = sum(found.values())
    assert accepted + law.mass.get(None, 0) + left == 1
    missing = Fraction(1)
    for outcome, mass in found.items():
        claim = pmf_bounds(outcome)
        missing -= claim.high
        if mass / (accepted + left) > claim.high or (mass + left) / (accepted + left) < claim.low:
            message = f"outcome {outcome}: found {float(mass)}, claimed {float(claim.low)}"
            raise WrongLaw(message)
    if missing > left / (accepted + left):
        message = f"{float(missing)} of the claimed law was never found"
        raise WrongLaw(message)
    return law


def stream(label):
    """Return a reproducible source of words, for statistical tests only."""
    return KeyedEntropy(key=bytes(range(32)), label=label)


def cells_of(law, cells):
    """Return the edges of cells of about equal chance, fixed before any draw is seen."""
    edges = sorted({law.quantile(Fraction(number, cells)) for number in range(1, cells)})
    return [edge for edge in edges if law.survival_bounds(edge).high > 0]


def count_cells(sample, edges):
    """Count the values up to each edge, and those beyond the last."""
    return np.bincount(np.searchsorted(edges, sample, side="left"), minlength=len(edges) + 1)


def p_value(counts, law, edges):
    """Return the chi-square p-value of counted cells against a law."""
    chances = np.diff([0.0, *(law.cdf(int(edge)) for edge in edges), 1.0])
    return stats.chisquare(counts, chances * counts.sum()).pvalue


def chi_squares(sample, law, *others, cells=60):
    """Return the p-values of a sample against a law and others like it, in the cells of the law."""
    edges = cells_of(law, cells)
    counts = count_cells(sample, edges)
    return [p_value(counts, each, edges) for each in (law, *others)]


def chi_square(sample, law, *, cells=60):
    """Return the p-value of a sample against a law."""
    return chi_squares(sample, law, cells=cells)[0]
