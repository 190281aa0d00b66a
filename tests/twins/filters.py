"""Rules for accepting questions that look right and are not.

They exist here alone.  Each is refuted by a strategy that the rule lets through and whose true loss
is larger than what the rule promises.
"""

from dataclasses import dataclass

import mpmath

from discreet.loss import Pure
from tests.loss.oracles import optimal_delta, real, single_order_delta


@dataclass
class NaturalFilter:
    """Compose what was really asked, exactly, and refuse what would lift delta above the target.

    The composition is right for each fixed list of questions.  But answers decide which list it
    will be, and the best list after each answer need not be the same.
    """

    epsilon: object
    delta: object

    def accepts(self, asked, loss):
        promises = [(each.bound, 0) for each in (*asked, loss)]
        return optimal_delta(promises, target=self.epsilon) <= mpmath.mpf(self.delta)


# Target (0.5, 0.2).  First a response of 0.5; after a + one more of the first, after a - two of the
# second.  Both lists have delta(0.5) = 0.2, just below.
NATURAL_TARGET = ("0.5", "0.2")
NATURAL_FIRST = "0.5"
NATURAL_AFTER_PLUS = ("0.6662058514160",)
NATURAL_AFTER_MINUS = ("0.582542281714", "0.582542281714")
NATURAL_TRUTH = 0.223654563410


def natural_truth():
    """Return the true delta(0.5) of that strategy, by enumerating all answers."""
    with mpmath.workdps(40):
        alpha = mpmath.exp(mpmath.mpf(NATURAL_TARGET[0]))
        paths = [((p, q), sign) for (p, q), sign in zip(_law(NATURAL_FIRST), "+-", strict=True)]
        total = mpmath.mpf(0)
        for start, sign in paths:
            ends = [start]
            for epsilon in NATURAL_AFTER_PLUS if sign == "+" else NATURAL_AFTER_MINUS:
                ends = [(p * a, q * b) for p, q in ends for a, b in _law(epsilon)]
            total += sum(max(p - alpha * q, mpmath.mpf(0)) for p, q in ends)
        return total


def natural_paths():
    """Return the two lists of losses that the strategy asks for."""
    return [
        [Pure(epsilon=epsilon) for epsilon in (NATURAL_FIRST, *rest)]
        for rest in (NATURAL_AFTER_PLUS, NATURAL_AFTER_MINUS)
    ]


def _law(epsilon):
    truth = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
    return ((truth, 1 - truth), (1 - truth, truth))


@dataclass
class SomeOrderFilter:
    """Add up divergences, and accept while some order still converts to the target.

    Each order by itself would be a valid rule.  Which order saves the day depends on the answers.
    """

    orders: tuple
    epsilon: object
    delta: object

    def accepts(self, spent):
        known = zip(self.orders, spent, strict=True)
        return any(single_order_delta(a, r, self.epsilon) <= real(self.delta) for a, r in known)


# Target (20, 1e-6), orders 2 and 16.  First an answer of chance 0.01 that is e**2 times likelier.
# After it a rare answer of loss 18.0642 that uses up order 16, otherwise one of loss 20.7013 that
# uses up order 2.
SOME_ORDERS = (2, 16)
SOME_TARGET = (20, "1e-6")
SOME_FIRST = ("0.01", "2")
SOME_TRUTH = 1.9294625e-6


def some_second():
    """Return chance and loss of the rare answer after each answer to the first question."""
    return {0: _using_up(16, "18.0642"), 1: _using_up(2, "20.7013")}


def some_truth():
    """Return the true delta(20) of that strategy."""
    with mpmath.workdps(40):
        total = mpmath.mpf(0)
        for answer, (p, q) in enumerate(_rare(*SOME_FIRST)):
            for a, b in _rare(*some_second()[answer]):
                total += max(p * a - mpmath.exp(20) * q * b, mpmath.mpf(0))
        return total


def two_point_divergence(chance, loss, order):
    """Return the divergence of an answer with this chance and loss."""
    with mpmath.workdps(40):
        laws = _rare(chance, loss)
        total = sum(p**order * q ** (1 - order) for p, q in laws)
        return mpmath.log(total) / (order - 1)


def some_limit(order):
    """Return the divergence that converts to the target at one order."""
    with mpmath.workdps(40):
        epsilon, delta = mpmath.mpf(SOME_TARGET[0]), mpmath.mpf(SOME_TARGET[1])
        shape = mpmath.log(delta * (order - 1)) - order * mpmath.log(1 - mpmath.mpf(1) / order)
        return epsilon + shape / (order - 1)


def _using_up(order, loss):
    """Return the largest chance at which the rest of one order is not exceeded."""
    with mpmath.workdps(40):
        rest = some_limit(order) - two_point_divergence(*SOME_FIRST, order)
        low, high = mpmath.mpf(0), mpmath.mpf(1)
        for _ in range(110):
            middle = (low + high) / 2
            if two_point_divergence(middle, loss, order) > rest:
                high = middle
            else:
                low = middle
        return low * (1 - mpmath.mpf(10) ** -13), loss  # room for rounding up


def _rare(chance, loss):
    p = mpmath.mpf(chance)
    q = p * mpmath.exp(-mpmath.mpf(loss))
    return ((p, q), (1 - p, 1 - q))
