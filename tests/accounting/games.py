"""The game against a filter, solved exactly: the best that any adaptive strategy can do.

A player asks mechanisms of a menu one by one, each time in view of all answers, as long as the
filter accepts, and stops at will.  The value of the game is the largest P(S) - a Q(S) over all
strategies: the true delta at epsilon = log a of everything that the filter lets through.
"""

import functools
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.amounts import added
from discreet.loss.elementary import log


@dataclass(frozen=True)
class Ask:
    """A mechanism with finitely many answers: their chances under both neighbors, and a price."""

    law: tuple[tuple[Fraction, Fraction], ...]
    price: tuple[int, ...]

    def swapped(self):
        return Ask(tuple((q, p) for p, q in self.law), self.price)


def value(menu, accepts, ratio, width):
    """Return the value of the game at a = ``ratio``, by recursion on the likelihood ratio."""

    @functools.cache
    def best(x, spent):
        found = max(Fraction(0), 1 - ratio * x)  # stop here; x = Q/P so far
        for ask in menu:
            total = added(spent, ask.price)
            if accepts(total):
                mean = sum((p * best(x * q / p, total) for p, q in ask.law if p), Fraction(0))
                found = max(found, mean)
        return found

    return best(Fraction(1), (0,) * width)


def response(odds):
    """Randomized response that tells the truth with these odds."""
    truth = Fraction(odds) / (1 + Fraction(odds))
    return ((truth, 1 - truth), (1 - truth, truth))


def two_point(chance, odds):
    """An answer of small chance that is so many times likelier under the first neighbor."""
    p = Fraction(chance)
    q = p / Fraction(odds)
    return ((p, q), (1 - p, 1 - q))


def leaking(law, chance):
    """The same, but with some chance everything is told."""
    rest = 1 - Fraction(chance)
    told = ((Fraction(chance), Fraction(0)), (Fraction(0), Fraction(chance)))
    return (*told, *((rest * p, rest * q) for p, q in law))


def largest_loss(law):
    """Return a pure bound of the finite answers, rounded up."""
    both = [(p, q) for p, q in law if p and q]
    return max(log(max(p / q, q / p)).high for p, q in both)
