"""Random finite laws, and their profiles by enumeration."""

import math
from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from discreet.loss.composition import Composition
from discreet.loss.finite import FinitePair

EPSILONS = (-2.0, -0.7, -0.1, 0.0, 0.05, 0.3, 0.9, 1.6, 3.0)


@st.composite
def laws(draw, count, *, most=4):
    """Draw laws on the same few outcomes; some show what others never do."""
    size = draw(st.integers(2, most))
    weights = st.lists(st.sampled_from([0, 1, 2, 5, 40]), min_size=size, max_size=size).filter(any)
    found = [draw(weights) for _ in range(count)]
    return [tuple(Fraction(w, sum(law)) for w in law) for law in found]


def of(p, q):
    """The composition of one pair of laws."""
    return Composition(((FinitePair(p, q), 1),))


def profile(p, q, ratio):
    """The hockey-stick divergence at a ratio."""
    return sum((a - ratio * b for a, b in zip(p, q, strict=True) if a > ratio * b), Fraction(0))


def mixed(weights, family):
    """The mixture of laws."""
    return tuple(
        sum((w * x for w, x in zip(weights, each, strict=True)), Fraction(0))
        for each in zip(*family, strict=True)
    )


def times(*family):
    """The law of independent outcomes."""
    return tuple(math.prod(each) for each in product(*family))


def covers(composition, p, q, epsilons=EPSILONS):
    """No upper end is below the profile of (p, q), in either direction."""
    reversed_ = composition.reverse()  # once, as it keeps what it has worked out
    for eps in epsilons:
        ratio = Fraction(math.exp(eps))
        slack = 1e-13 * math.exp(max(eps, 0.0))
        truth = float(profile(p, q, ratio))
        assert composition.delta(eps).high >= truth * (1 - 1e-12) - slack
        back = float(profile(q, p, ratio))
        assert reversed_.delta(eps).high >= back * (1 - 1e-12) - slack
