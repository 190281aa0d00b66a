"""Broken twins of finite mechanisms: plausible slips, each of which a check must catch."""

import math
from fractions import Fraction

from discreet.exact import Interval
from discreet.mechanisms.finite import FiniteMechanism, hockey_stick, max_ratio
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.units import NeighborGraph
from tests.twins.mechanisms import Twin

# --- wrong ways to read a matrix ----------------------------------------------------------------


def one_direction(matrix, graph):
    """Ratios of the smaller input to the larger one only."""
    return max(max_ratio(matrix[i], matrix[j]) for i, j in sorted(graph.edges))


def likeliest_output(matrix, graph):
    """Ratios at the most likely output only."""
    worst = Fraction(1)
    for i, j in graph.ordered():
        at = matrix[i].index(max(matrix[i]))
        worst = max(worst, matrix[i][at] / matrix[j][at] if matrix[j][at] else math.inf)
    return worst


def zeros_do_not_count(matrix, graph):
    """Leave out outputs that one of the two inputs never shows."""
    return max(
        a / b
        for i, j in graph.ordered()
        for a, b in zip(matrix[i], matrix[j], strict=True)
        if a and b
    )


RATIOS = [one_direction, likeliest_output, zeros_do_not_count]


def largest_output(p, q, factor):
    """The excess of the single worst output, not of all of them together."""
    return max(Fraction(0), *(a - factor * b for a, b in zip(p, q, strict=True)))


def without_factor(p, q, factor):
    """The distance of the laws, whatever epsilon is."""
    return hockey_stick(p, q, Fraction(1))


DELTAS = [largest_output, without_factor]

# --- wrong mechanisms ---------------------------------------------------------------------------


def renormalized(*, width, reach, epsilon):
    """Bounded noise by cutting off and scaling up, on cells of which ``width`` are one unit."""
    laws = []
    for center in (0, width):
        weights = [
            Fraction(math.exp(-float(epsilon) * abs(y - center) / width)) for y in range(reach)
        ]
        total = sum(weights)
        laws.append([weight / total for weight in weights])
    return FiniteMechanism(matrix=laws, graph=NeighborGraph.complete(2))


def keeps_too_often(epsilon, categories):
    """Truth with the chance of two categories, though there are more."""
    right = RandomizedResponse(epsilon=epsilon, categories=categories)

    def law(value):
        kept = RandomizedResponse(epsilon=epsilon).keep()
        others = len(categories) - 1
        lied = Interval((1 - kept.high) / others, (1 - kept.low) / others)
        return {category: kept if category == value else lied for category in categories}

    return Twin(right, reference_pmf=law)


def lies_may_be_true(epsilon, categories):
    """With the chance of a lie, draw from all categories: private, but not as claimed."""
    right = RandomizedResponse(epsilon=epsilon, categories=categories)

    def law(value):
        k = len(categories)
        honest = right.reference_pmf(value)[value]
        each = Interval((1 - honest.high) / k, (1 - honest.low) / k)
        true = Interval(honest.low + each.low, honest.high + each.high)
        return {category: true if category == value else each for category in categories}

    return Twin(right, reference_pmf=law)
