"""The exact law of comparisons, against enumeration of all noise in a window."""

import itertools
from fractions import Fraction

import pytest

from discreet.errors import OutOfRange
from discreet.mechanisms.threshold_law import Comparison
from discreet.noise import DiscreteLaplace
from tests.audit.sparse_vector import Nothing

NARROW = DiscreteLaplace(scale=Fraction(1, 3))
WIDE = DiscreteLaplace(scale=Fraction(2, 3))
WINDOW = range(-14, 15)


def comparison(answers, threshold=0, query_noise=WIDE):
    return Comparison(
        threshold=threshold, answers=answers, threshold_noise=NARROW, query_noise=query_noise
    )


def enumerated(values, threshold, answers):
    """Add up the chances of all noises in the window; what is outside is returned too."""
    narrow = {k: NARROW.pmf_bounds(k).low for k in WINDOW}
    wide = {k: WIDE.pmf_bounds(k).low for k in WINDOW}
    found, missing = {}, Fraction(1)
    for rho, *noises in itertools.product(WINDOW, repeat=1 + len(values)):
        weight = narrow[rho]
        pattern = ()
        for value, noise in zip(values, noises, strict=True):
            weight *= wide[noise]
            if sum(pattern) < answers:
                pattern += (value + noise >= threshold + rho,)
        found[pattern] = found.get(pattern, 0) + weight
        missing -= weight
    return found, missing


@pytest.mark.theorem("threshold-law")
@pytest.mark.parametrize(
    ("values", "threshold", "answers"),
    [((0, 1), 0, 1), ((2, 1), 1, 2), ((-1, -1), 0, 1), ((1,), 3, 1)],
)
def test_the_law_is_what_enumeration_finds(values, threshold, answers):
    law = comparison(answers, threshold).law(values)
    found, missing = enumerated(values, threshold, answers)
    assert found.keys() == law.keys()
    assert 0 <= missing < Fraction(1, 10**8)
    for pattern, mass in found.items():
        assert law[pattern].low <= mass + missing
        assert mass <= law[pattern].high


@pytest.mark.theorem("threshold-law")
@pytest.mark.parametrize("answers", [1, 2, 4])
@pytest.mark.parametrize("threshold", [-30, 0, 30])
def test_the_enclosures_are_narrow_and_add_up_to_one(answers, threshold):
    law = comparison(answers, threshold).law((0, 5, -5, 1))
    total_low, total_high = (sum(getattr(c, end) for c in law.values()) for end in ("low", "high"))
    assert total_low <= 1 <= total_high
    assert total_high - total_low < Fraction(1, 2**100)


@pytest.mark.theorem("threshold-law")
def test_the_remainder_is_counted_on_both_sides():
    """Far from the threshold all is decided by the remainder, which must not be lost."""
    for threshold, outcome in ((10**6, (False, False)), (-(10**6), (True,))):
        law = comparison(1, threshold).law((0, 0))
        assert all(chance.high > 0 for chance in law.values())
        assert law[outcome].low > 1 - Fraction(1, 2**100)


@pytest.mark.theorem("threshold-law")
def test_an_impossible_pattern_has_chance_zero():
    law = comparison(1, query_noise=Nothing())
    assert law.chance((False, True), (1, 0)).high == 0
    assert law.chance((False, True), (0, 1)).low > 0


@pytest.mark.parametrize(
    ("count", "answers", "patterns"), [(0, 1, 1), (5, 1, 6), (3, 3, 8), (4, 2, 11)]
)
def test_the_patterns_are_counted(count, answers, patterns):
    found = list(comparison(answers).patterns(count))
    assert len(found) == len(set(found)) == patterns


def test_noise_too_wide_for_an_exact_law_is_refused():
    wide = DiscreteLaplace(scale=10**6)
    law = Comparison(threshold=0, answers=1, threshold_noise=wide, query_noise=wide)
    with pytest.raises(OutOfRange):
        law.law((0,))
