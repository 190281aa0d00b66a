"""What an answer without noise is, worked out from the rows and the documented limits alone.

Which groups of a person count, and which rows enter a median, is drawn anew for every answer.  So
the truth of such a number is a range: its mean over these draws, give or take a Bernstein or
Hoeffding bound that fails with chance ``RARE``.
"""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass

RARE = 1e-10
_LOG = math.log(2 / RARE)


@dataclass(frozen=True)
class Limits:
    """How much of one person counts."""

    rows: float = math.inf
    groups: float = math.inf
    bounds: tuple[float, float] = (-math.inf, math.inf)


def cells(rows, unit, key):
    """Return the rows of each person in each group."""
    found = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row[unit] is not None:
            found[row[unit]][key(row)].append(row)
    return found


def counts(rows, unit, limits, *, key=lambda _: (), people=False):
    """Return the least and the greatest count that each group may have, without noise."""
    parts = defaultdict(list)
    for groups in cells(rows, unit, key).values():
        chance = min(1, limits.groups / len(groups))
        for group, mine in groups.items():
            parts[group].append((1 if people else min(len(mine), limits.rows), chance))
    return {group: _spread(found) for group, found in parts.items()}


def _spread(parts):
    """Return mean and deviation of a sum of numbers that enter with a chance each: Bernstein."""
    mean = sum(size * chance for size, chance in parts)
    drawn = [(size, chance) for size, chance in parts if chance < 1]
    if not drawn:
        return mean, mean
    variance = sum(size**2 * chance * (1 - chance) for size, chance in drawn)
    third = max(size for size, _ in drawn) * _LOG / 3
    off = third + math.sqrt(third**2 + 2 * variance * _LOG)
    return max(0, mean - off), min(mean + off, sum(size for size, _ in parts))


def totals(rows, unit, limits, column, *, key=lambda _: ()):
    """Return sum and number of the values of each group: who has more has so many of their mean."""
    found = defaultdict(lambda: [0.0, 0])
    low, high = limits.bounds
    for groups in cells(rows, unit, key).values():
        assert len(groups) <= limits.groups
        for group, mine in groups.items():
            values = [min(max(row[column], low), high) for row in mine if row[column] is not None]
            count = min(len(values), limits.rows)
            if count:
                found[group][0] += sum(values) * count / len(values)
                found[group][1] += count
    return found


def quantile(rows, unit, limits, column, level):
    """Return the least and the greatest value that may be the quantile, without noise.

    The kept rows of a person below any value are their share of all of them, rounded up or down
    at random: Hoeffding.  A quantile between two rows may be any value between them.
    """
    weights, cut = Counter(), 0
    low, high = limits.bounds
    for groups in cells(rows, unit, lambda _: ()).values():
        values = [min(max(row[column], low), high) for row in groups[()] if row[column] is not None]
        cut += len(values) > limits.rows
        weights.update(dict.fromkeys(values, 0))
        for value in values:
            weights[value] += min(1, limits.rows / len(values))
    slack = 1 + math.sqrt(cut * _LOG / 2)
    rank, below, inside = level * sum(weights.values()), 0.0, []
    ordered = sorted(weights)
    for value in ordered:
        if below + weights[value] >= rank - slack and below <= rank + slack:
            inside.append(value)
        below += weights[value]
    return inside[0], inside[-1]
