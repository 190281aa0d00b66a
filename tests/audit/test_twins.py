"""Every broken twin is caught, and its sound sibling is not."""

import numpy as np
import pytest

from discreet.attacks import estimate_epsilon, exact_epsilon
from discreet.noise import DiscreteLaplace, KeyedEntropy
from tests.audit.sparse_vector import BROKEN, TWINS, VARIANTS
from tests.audit.twins import NOISES, SESSIONS, Twin, answers_told, catch

ALL = (*NOISES, *SESSIONS, *TWINS)


@pytest.mark.theorem("audit-bound")
@pytest.mark.parametrize("twin", ALL, ids=lambda twin: twin.name)
def test_a_twin_is_caught(found, quick, twin):
    measured = catch(twin, most=100_000 if quick else 10_000_000)
    assert measured.level <= 1.000001e-6
    found.twin(f"{twin.name}: {twin.fault}", measured)


def test_a_sound_sibling_gets_away():
    def draw(value, n, entropy):
        return value + DiscreteLaplace(scale=1).sample(n, entropy)

    sound = catch(Twin(name="sound", fault="none", draw=draw), most=10_000)
    assert not sound.violates
    assert 0.8 < sound.lower <= 1


def test_a_budget_without_refunds_keeps_its_promise():
    def draw(value, n):
        told = answers_told(refunds=False)
        noise = DiscreteLaplace(scale=10).sample(n * told).reshape(n, told)
        return (value + noise).sum(axis=1)

    draw.batch = draw
    assert not estimate_epsilon(draw, (0, 1), 10_000, claim=1).violates


PATTERNS = {4: (0, 0, 1), 5: (0, 1), 6: (0, 1, 1)}


@pytest.mark.parametrize("number", sorted(PATTERNS))
def test_draws_of_a_variant_follow_its_law(number):
    """Chances of all patterns, 20,000 draws from a fixed stream, five deviations."""
    stream, n = PATTERNS[number], 20_000
    twin = next(
        twin for twin, variant in zip(TWINS, BROKEN, strict=True) if variant.number == number
    )
    law = VARIANTS[number - 1].law(stream, answers=5)
    drawn = twin.draw(stream, n, KeyedEntropy(key=bytes(32), label=f"law {number}"))
    found = {tuple(row) for row in drawn.tolist()}
    for pattern, chance in law.items():
        share = np.mean((drawn == np.array(pattern, np.int64)).all(axis=1))
        spread = (float(chance.high) * (1 - float(chance.low)) / n) ** 0.5
        assert abs(share - float(chance.low)) <= 5 * spread + 1e-9
    assert len(found) <= len(law)


def test_draws_of_the_third_variant_follow_its_law():
    """It halts at the first above, and releases what it compared."""
    stream, n = (0, 1), 20_000
    law = VARIANTS[2].law(stream)
    drawn = TWINS[0].draw(stream, n, KeyedEntropy(key=bytes(32), label="law 3"))
    for outcome, chance in law.items():
        place, value = len(outcome) - 1, outcome[-1]
        share = np.mean((drawn == np.array([place, value])).all(axis=1))
        spread = (float(chance.high) * (1 - float(chance.low)) / n) ** 0.5
        assert abs(share - float(chance.low)) <= 5 * spread + 1e-9


def test_laws_say_how_much_is_lost():
    lost = {
        variant.number: exact_epsilon(variant.law, ((0, 0, 1), (1, 1, 0)), claim=1).lower
        for variant in VARIANTS
    }
    assert lost[1] < lost[4]
    assert lost[2] <= 1
    assert lost[5] == float("inf")
