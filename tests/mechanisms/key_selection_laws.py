"""The divergence of products of small laws, between all tables that units can lead to."""

import itertools
import math

import numpy as np

EPSILONS = (0.0, 0.1, 0.3, 0.7, 1.3, 2.5, 4.0)


def moves(*, steps, groups, places, signs=(1, -1)):
    """List how the counts of so many places can move by units in at most so many groups each."""
    one = [
        tuple(sign * (at in chosen) for at in range(places))
        for size in range(1, min(groups, places) + 1)
        for chosen in itertools.combinations(range(places), size)
        for sign in signs
    ]
    found = {(0,) * places}
    for _ in range(steps):
        found |= {tuple(a + b for a, b in zip(m, u, strict=True)) for m in found for u in one}
    return sorted(found - {(0,) * places})


def replacements(*, groups, places):
    """List the moves of one replaced unit."""
    leave = moves(steps=1, groups=groups, places=places, signs=(-1,))
    come = moves(steps=1, groups=groups, places=places, signs=(1,))
    pairs = itertools.product(leave, come)
    both = {tuple(a + b for a, b in zip(*pair, strict=True)) for pair in pairs}
    return sorted(both | set(leave) | set(come))


def product(rows):
    """Return the product of several laws, as one flat array."""
    total = np.ones(1)
    for row in rows:
        total = np.multiply.outer(total, row).ravel()
    return total


def divergence(p, q, epsilon):
    """Return the hockey-stick divergence of two laws on the same outcomes."""
    return math.fsum(np.maximum(p - math.exp(epsilon) * q, 0))


def largest(laws, all_moves, *, most, epsilons=EPSILONS):
    """Return the largest divergence at each epsilon, over all tables with counts up to ``most``.

    ``laws[n]`` is the law of a group of n units.
    """
    places = len(all_moves[0])
    found = dict.fromkeys(epsilons, 0.0)
    known = {}

    def law(table):
        if table not in known:
            known[table] = product([laws[n] for n in table])
        return known[table]

    for move in all_moves:
        for table in itertools.product(range(most + 1), repeat=places):
            other = tuple(n + step for n, step in zip(table, move, strict=True))
            if min(other) < 0 or max(other) > most:
                continue
            for epsilon in epsilons:
                found[epsilon] = max(found[epsilon], divergence(law(table), law(other), epsilon))
    return found


def exceeded(found, loss):
    """Return the epsilons at which a loss promises less than was found."""
    return [e for e, delta in found.items() if delta > loss.delta(epsilon=e) * (1 + 1e-9) + 1e-13]
