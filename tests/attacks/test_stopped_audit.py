"""Audits that stop by themselves: never too sure, quick where there is much to see."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks import Batches, Generator, claims, refute
from discreet.attacks.claim import Claim, Level
from discreet.attacks.proportions import at_least, at_most
from discreet.attacks.search.bandit import Bandit
from discreet.attacks.search.generators import generators_of
from discreet.errors import OutOfRange, WrongKind

COINS = [(Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 2), Fraction(1, 2)), (Fraction(9, 10), 0)]


def binomial(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


def wrong_at(n, level, coins, claim=None):
    """The chance that a stage of n answers is wrong at a level, by all counts."""
    p, q = map(Fraction, coins)
    promise = claim or claims.PureClaim()
    truth = max(promise.lower(p, q).lower, promise.lower(q, p).lower)
    wrong = Fraction(0)
    for k, l in itertools.product(range(n + 1), repeat=2):
        low, high = at_least(k, n, level=level / 2), at_most(l, n, level=level / 2)
        if low > high and promise.lower(low, high).lower > truth:
            wrong += binomial(k, n, p) * binomial(l, n, q)
    return wrong


@pytest.mark.theorem("stopped-audit")
@pytest.mark.parametrize("coins", COINS)
def test_for_every_count_of_every_stage_the_largest_bound_is_wrong_at_most_at_its_level(coins):
    """Stages have answers of their own, so the chances that none is wrong multiply."""
    level, right = Fraction(2, 5), Fraction(1)
    for stage, n in enumerate((2, 4, 8, 16), start=1):
        wrong = wrong_at(n, level / (stage * (stage + 1)), coins)
        assert wrong <= level / (stage * (stage + 1))
        right *= 1 - wrong
    assert 1 - right <= level


def test_stages_that_all_have_the_whole_level_would_be_wrong():
    """The mutant: whoever looks often enough at one level sees what is not there."""
    level, coins = Fraction(2, 5), (Fraction(1, 2), Fraction(1, 2))
    wrong = wrong_at(8, level, coins)
    assert 1 - (1 - wrong) ** 100 > level
    ours = [wrong_at(8, level / (k * (k + 1)), coins) for k in range(1, 6)]
    assert sum(ours) <= level
    assert ours[-1] < ours[0]


def test_stages_at_half_the_level_of_the_one_before_end_but_equal_ones_do_not():
    shares = [Fraction(1, k * (k + 1)) for k in range(1, 1000)]
    assert sum(shares) == 1 - Fraction(1, 1000)


class Watching(Claim):
    """Writes down the chances by which a claim is judged."""

    def __init__(self):
        self.seen = []

    def lower(self, p, q):
        self.seen.append((p, q))
        return Level(0.0, 1.0)

    def guess(self, p, q):
        return np.maximum(p - q, 0.0)


def certain(data, n):
    """An answer that tells all."""
    return np.full(n, data)


@pytest.mark.theorem("stopped-audit")
def test_every_stage_is_judged_at_its_own_level():
    watching, level = Watching(), Fraction(1, 10)
    found = refute(Batches(certain), (1, 0), 90, claim=watching, level=level, first=10)
    sizes = [10, 20, 50]
    expected = [
        (
            at_least(n, n, level=level / (2 * k * (k + 1))),
            at_most(0, n, level=level / (2 * k * (k + 1))),
        )
        for k, n in enumerate(sizes, start=1)
    ]
    assert watching.seen == expected
    assert found.level == pytest.approx(0.1)
    assert found.drawn == 10 + sum(sizes)


class Counting:
    """Counts what is drawn, and gives each batch once."""

    def __init__(self, scale=1000, seed=0):
        self.drawn = {}
        self.rng, self.scale = np.random.default_rng(seed), scale

    def draw(self, data, n):
        self.drawn[data] = self.drawn.get(data, 0) + n
        return data + np.rint(self.rng.laplace(scale=self.scale, size=n)).astype(int)


@pytest.mark.theorem("stopped-audit")
def test_answers_that_judge_are_new_and_all_are_counted():
    subject = Counting()
    found = refute(subject, (0, 1000), 5000, claim=1)
    assert subject.drawn == {0: found.drawn, 1000: found.drawn}
    assert found.drawn <= 5000
    assert not found.violates


@pytest.mark.parametrize("most", [500, 5000, 40_000])
@pytest.mark.parametrize("pairs", [2, 7, 40])
def test_a_search_draws_no_more_than_it_may_either(most, pairs):
    """All answers count: those that look for a pair, that teach and that judge."""
    subject = Counting()
    found = refute(subject, [(0, 1000 + at) for at in range(pairs)], most, claim=1)
    assert found.drawn - 200 <= subject.drawn[0] <= found.drawn  # odd samples are halved
    assert found.drawn <= most
    assert not found.violates


def test_it_stops_once_refuted():
    gross, mild = (
        refute(Counting(scale=1000 // factor), (0, 1000), 10**6, claim=1) for factor in (8, 2)
    )
    assert gross.violates
    assert mild.violates
    assert gross.drawn < 1000 < mild.drawn + 1000 < 10**4


def test_without_a_claim_nothing_is_refuted_and_all_is_drawn():
    found = refute(Counting(), (0, 1000), 4000)
    assert found.claimed is None
    assert 3000 < found.drawn <= 4000
    assert 0 < found.lower <= 1


def test_no_stage_begins_after_its_time():
    found = refute(Counting(), (0, 1000), 10**9, claim=5, seconds=0)
    assert found.drawn == 500


@pytest.mark.parametrize("seed", range(20))
def test_a_promise_that_is_kept_is_not_refuted(seed):
    """Twenty audits at a level of 1e-6 each."""
    assert not refute(Counting(seed=seed), (0, 1000), 3000, claim="1.001").violates


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"most": 2}, OutOfRange),
        ({"first": 0}, OutOfRange),
        ({"level": 2}, OutOfRange),
        ({"seconds": "soon"}, WrongKind),
    ],
)
def test_what_makes_no_audit_is_refused(options, error):
    with pytest.raises(error):
        refute(Counting(), (0, 1), **{"most": 100, **options})


# --- where the loss is --------------------------------------------------------------------------

QUIET = Generator("quiet", tuple((at, at) for at in range(10)))
LOUD = Generator("loud", ((0, 0), (0, 1000), (0, 9000)))


def test_answers_are_spent_where_the_loss_is():
    subject = Counting()
    found = refute(subject, [QUIET, LOUD], 20_000, claim=2)
    assert found.violates
    assert found.pair == "loud, pair 3 of 3"
    assert subject.drawn[9000] > sum(subject.drawn.get(at, 0) for at in range(1, 10)) / 2


def test_a_generator_that_promises_more_is_pulled_more():
    bandit, pulled = Bandit([QUIET, LOUD]), []

    def promised(pair, n):
        pulled.append(pair)
        return 2.0 if pair == (0, 9000) else 0.0

    bandit.search(promised, 4000)
    assert len(pulled) >= 8
    assert pulled[:2] == [(0, 0), (0, 0)]
    assert bandit.best() == ("loud, pair 3 of 3", (0, 9000))
    bandit.search(promised, 4000)
    assert pulled.count((0, 9000)) > len(pulled) / 3


def test_what_is_no_generator_is_refused():
    for wrong in ([QUIET, (0, 1)], [QUIET, QUIET], [Generator("none", ()), QUIET], 5, []):
        with pytest.raises(WrongKind):
            generators_of(wrong)
    assert [each.name for each in generators_of([(0, 1), (1, 2)])] == ["pair 1 of 2", "pair 2 of 2"]
