"""Every currency, against the best that any adaptive strategy can do."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.amounts import (
    NEVER,
    amount_down,
    amount_up,
    amount_value,
    format_down,
    format_up,
)
from discreet.accounting.budget import Budget
from discreet.accounting.currencies import (
    BasicCurrency,
    ConcentratedCurrency,
    JointCurrency,
    concentrated_price,
    gaussian_price,
    point_price,
)
from discreet.errors import WrongKind
from discreet.loss import (
    Approximate,
    GaussianDP,
    Pure,
    RenyiDP,
    ZeroConcentrated,
)
from discreet.loss.elementary import log
from discreet.loss.finite import FinitePair
from discreet.loss.profile import Profile
from discreet.loss.pure_pairs import BoundedRangePair, LaplacePair
from discreet.mechanisms import Exponential, Gaussian, Laplace
from tests.accounting.games import Ask, largest_loss, leaking, response, two_point, value

RESPONSES = [response(Fraction(5, 4)), response(Fraction(3, 2)), response(2)]
RARE = [two_point(Fraction(1, 10), 2), two_point(Fraction(1, 50), 4)]
MENU = [RESPONSES[1], RESPONSES[2], RARE[0]]
RATIOS = [Fraction(1), Fraction(6, 5), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(6)]


def at(ratio):
    """Return an epsilon that is at most the logarithm of a ratio."""
    return max(log(ratio).low, Fraction(0))


def both_ways(laws, priced):
    """Price laws, and let the player ask for them in either direction."""
    asks = [Ask(law, priced(law)) for law in laws]
    turned = [ask.swapped() for ask in asks if sorted(ask.law) != sorted(ask.swapped().law)]
    return [*asks, *turned]


def check(budget, menu, ratios=RATIOS):
    """Solve the game and compare with the guarantee."""

    def accepts(total):
        return budget.currency.fits(total, budget.limit)

    found = [value(menu, accepts, ratio, len(budget.limit)) for ratio in ratios]
    for ratio, truth in zip(ratios, found, strict=True):
        assert truth <= budget.guarantee.delta(epsilon=at(ratio))
    return found


# --- the games ----------------------------------------------------------------------------------


@pytest.mark.theorem("filter-basic")
def test_no_strategy_beats_pure_sums():
    budget = Budget(epsilon=2)
    menu = both_ways(MENU, lambda law: budget.price(Pure(epsilon=largest_loss(law))))
    found = check(budget, menu, [*RATIOS, Fraction(738906, 100000)])
    assert found[-2] > 0  # at log 6 < 2 there is something to win
    assert found[-1] <= Fraction(1, 10**5)


@pytest.mark.theorem("filter-basic")
def test_no_strategy_beats_sums_of_epsilon_and_delta():
    currency, limit = BasicCurrency(), tuple(map(amount_up, (Fraction(6, 5), Fraction(1, 20))))
    laws = [leaking(RESPONSES[0], "0.01"), leaking(RESPONSES[1], "0.02"), RESPONSES[1], RARE[0]]
    chances = {laws[0]: Fraction(1, 100), laws[1]: Fraction(1, 50)}

    def priced(law):
        loss = Approximate(epsilon=largest_loss(law), delta=chances.get(law, 0))
        return currency.price(loss)

    ratio = Fraction(332, 100)  # hardly below e**1.2
    found = value(both_ways(laws, priced), lambda total: currency.fits(total, limit), ratio, 2)
    assert Fraction(2, 100) < found <= Fraction(5, 100) + Fraction(1, 1000)


@pytest.mark.theorem("filter-basic")
def test_the_game_catches_a_rule_that_charges_half():
    budget = Budget(epsilon=1)
    menu = both_ways(RESPONSES, lambda law: budget.price(Pure(epsilon=largest_loss(law) / 2)))
    with pytest.raises(AssertionError):
        check(budget, menu, [Fraction(27183, 10000)])


def rho_of(law):
    """Return the least rho of a finite law, both ways: a fine search, and a little more."""
    orders = [1 + 10 ** (k / 40) for k in range(-120, 160)]
    best = 0.0
    for way in (law, [(q, p) for p, q in law]):
        for a in orders:
            total = mpmath.fsum(
                mpmath.mpf(float(p)) ** a * mpmath.mpf(float(q)) ** (1 - a) for p, q in way
            )
            best = max(best, float(mpmath.log(total) / (a * (a - 1))))
    return Fraction(best) * (1 + Fraction(1, 1000))


@pytest.mark.theorem("filter-concentrated")
@pytest.mark.parametrize("limit", ["0.15", "0.4"])
def test_no_strategy_beats_sums_of_rho(limit):
    budget = Budget(rho=limit)
    menu = both_ways(MENU, lambda law: budget.price(ZeroConcentrated(rho=rho_of(law))))
    found = check(budget, menu)
    assert found[1] > 0


@pytest.mark.theorem("filter-concentrated")
@pytest.mark.theorem("filter-approximate")
def test_no_strategy_beats_sums_of_rho_and_delta():
    budget = Budget(rho="0.2", delta="0.06")
    laws = [leaking(RESPONSES[0], "0.02"), leaking(RESPONSES[2], "0.01"), RESPONSES[1], RARE[1]]
    chances = {laws[0]: Fraction(2, 100), laws[1]: Fraction(1, 100)}

    def priced(law):
        rest = RESPONSES[0] if law == laws[0] else RESPONSES[2] if law == laws[1] else law
        (price, _) = budget.price(ZeroConcentrated(rho=rho_of(rest)))
        return (price, amount_up(chances.get(law, Fraction(0))))

    found = check(budget, both_ways(laws, priced))
    far = Fraction(10**6)  # nothing but what is told outright
    (told,) = check(budget, both_ways(laws, priced), [far])
    assert Fraction(55, 1000) < told <= Fraction(6, 100)
    assert found[0] > told


def mu_of(law):
    """Return the square of the least mu of a finite law, both ways: where the trade-off bends."""
    best = mpmath.mpf(0)
    for way in (law, [(q, p) for p, q in law]):
        alarm = power = mpmath.mpf(0)
        for p, q in sorted(way, key=lambda each: -each[0] / each[1])[:-1]:
            alarm, power = alarm + mpmath.mpf(float(q)), power + mpmath.mpf(float(p))
            bend = mpmath.erfinv(2 * power - 1) - mpmath.erfinv(2 * alarm - 1)
            best = max(best, mpmath.sqrt(2) * bend)
    return Fraction(float(best) ** 2) * (1 + Fraction(1, 10**6))


@pytest.mark.theorem("filter-gaussian")
@pytest.mark.parametrize("limit", ["0.5", "1"])
def test_no_strategy_beats_sums_of_squares_of_mu(limit):
    menu = both_ways(MENU, lambda law: (amount_up(mu_of(law)),))
    most = Fraction(limit)
    promised = GaussianDP(mu_squared=most)
    lost = []
    for ratio in RATIOS:
        lost.append(value(menu, lambda total: amount_value(total[0]) <= most, ratio, 1))
        assert lost[-1] <= promised.delta(epsilon=at(ratio))
    assert lost[1] > Fraction(promised.delta(epsilon=at(RATIOS[1]))) / 2


# --- prices -------------------------------------------------------------------------------------


@pytest.mark.theorem("filter-admission")
@pytest.mark.parametrize(
    "loss", [Approximate(epsilon=1, delta="1e-6"), Approximate(epsilon=1, delta="1e-6").profile()]
)
def test_a_delta_is_charged_and_never_dropped(loss):
    assert point_price(loss) == (1, Fraction(1, 10**6))
    assert concentrated_price(loss)[1] == Fraction(1, 10**6)


def test_products_of_pairs_add_up_exactly():
    loss = Pure(epsilon="0.1").compose(Approximate(epsilon="0.2", delta="1e-7")).power(3)
    assert point_price(loss) == (Fraction(9, 10), Fraction(3, 10**7))


def test_one_side_alone_is_no_pure_bound():
    sampled = GaussianDP(mu=1).sampled(rate="0.01")  # adding a record loses at most -log(0.99)
    assert min(c.largest() for c in sampled.add) < 0.02
    assert point_price(sampled) is None


@pytest.mark.theorem("filter-admission")
def test_leaks_beside_gaussian_noise_are_charged_apart():
    mixed = GaussianDP(mu=1).compose(Approximate(epsilon="0.1", delta="1e-6"))
    rho, delta = concentrated_price(mixed)
    assert float(rho) == pytest.approx(0.5 + 0.1 * math.tanh(0.05), rel=1e-3)
    assert float(delta) == pytest.approx(1e-6, rel=1e-9)
    laplace = Profile.of(LaplacePair(Fraction(1))).compose(Approximate(epsilon=0, delta="1e-6"))
    rho, delta = concentrated_price(laplace)
    assert float(rho) == pytest.approx(0.368, abs=1e-3)  # not 0.462, what any pure loss has
    assert float(delta) == pytest.approx(1e-6, rel=1e-9)


@pytest.mark.theorem("filter-admission")
def test_alternatives_cost_the_most_in_each_component():
    leak = Approximate(epsilon="0.5", delta="1e-3")
    both = leak.profile().join(Pure(epsilon=1).profile())
    assert len(both.remove) == 2
    assert point_price(both) == (1, Fraction(1, 1000))
    rho, delta = concentrated_price(both)
    assert (rho, delta) == (Pure(epsilon=1).concentrated(), Fraction(1, 1000))


def test_a_finite_law_with_revealing_answers():
    tenth, half = Fraction(1, 10), Fraction(9, 20)
    zero = Fraction(0)
    pair = FinitePair((tenth, half, half, zero), (zero, half, half, tenth))
    epsilon, delta = point_price(Profile.of(pair))
    assert epsilon <= Fraction(1, 10**12)
    assert delta == pytest.approx(0.1)


def test_a_named_delta_may_make_things_cheaper_and_is_charged_only_if_it_does():
    rho, delta = concentrated_price(Laplace(scale=1).loss(distance=1), Fraction(1, 10))
    assert delta == Fraction(1, 10)
    assert rho < concentrated_price(Laplace(scale=1).loss(distance=1))[0]
    assert concentrated_price(GaussianDP(mu="0.1"), Fraction(1, 10**9)) == (Fraction(1, 200), 0)


JOINT = JointCurrency(Fraction(2), Fraction(1, 10**9))


def test_a_joint_price_is_about_one_event():
    epsilon, points, rho, square, alone, delta = JOINT.price(Approximate(epsilon=1, delta="1e-6"))
    assert (amount_value(epsilon), points, amount_value(delta)) == (1, 0, Fraction(1, 10**6))
    assert amount_value(rho) == pytest.approx(0.46211715726)
    assert amount_value(square) == pytest.approx(1.232035385345**2)
    assert alone == NEVER  # the promise is 1e-9
    with pytest.raises(WrongKind, match="no price in epsilon"):
        JOINT.price(RenyiDP(orders=[2], values=[1]))


def test_a_joint_price_uses_smaller_numbers_where_no_event_is_needed():
    loss = Exponential(candidates=4, scale=2).loss(distance=1)
    epsilon, points, rho, square, alone, delta = JOINT.price(loss)
    assert (epsilon, points, alone, delta) == (10**24, 0, 10**24, 0)
    assert amount_value(rho) < Pure(epsilon=1).concentrated()
    assert amount_value(square) == pytest.approx(4 * 0.3085**2, rel=0.05)


@pytest.mark.theorem("gaussian-smoothing")
def test_discrete_gaussian_noise_has_a_mu_outside_a_leak():
    square, event, leak = gaussian_price(Gaussian(sigma=25).loss(distance=1))
    assert Fraction(1, 625) < square < Fraction(1, 620)
    assert (event, leak) == (0, Fraction(1, 2**80))
    assert gaussian_price(Gaussian(sigma=1).loss(distance=1)) is None  # too narrow to be smoothed
    assert gaussian_price(ZeroConcentrated(rho=1)) is None


@pytest.mark.theorem("bounded-range-gaussian")
@given(st.floats(min_value=0.01, max_value=8), st.floats(min_value=-12, max_value=12))
def test_losses_of_a_range_are_below_their_gaussian(length, place):
    """Every pair of two losses, which are the worst of a range: where the trade-offs bend."""
    square, _, _ = gaussian_price(Profile.of(BoundedRangePair(Fraction(length))))
    alarm = 1 / (1 + mpmath.exp(-mpmath.mpf(place)))
    power = 1 / (1 + mpmath.exp(-mpmath.mpf(place) - mpmath.mpf(length)))
    needed = mpmath.sqrt(2) * (mpmath.erfinv(2 * power - 1) - mpmath.erfinv(2 * alarm - 1))
    assert needed <= mpmath.sqrt(float(square)) * (1 + mpmath.mpf(10) ** -9)


def test_limits_imply_their_losses():
    assert BasicCurrency().loss((10**24, 0)) == Pure(epsilon=1)
    assert BasicCurrency().loss((10**24, 10**18)) == Approximate(epsilon=1, delta="1e-6")
    assert ConcentratedCurrency().loss((10**24, 0)) == ZeroConcentrated(rho=1)
    assert JOINT.loss((10**24, 0, 0, 0, 0, 0)) == Pure(epsilon=1)
    assert JOINT.loss((0, 0, 10**24, 0, 0, 0)) == ZeroConcentrated(rho=1)


@pytest.mark.theorem("filter-gaussian")
@pytest.mark.parametrize(
    "budget", [Budget(epsilon=1, delta="0.1"), Budget(epsilon=3, delta="0.01")]
)
def test_a_pure_loss_below_all_limits_fits_on_every_route(budget):
    limit = (*budget.limit[:4], 0, 0)
    common = budget.currency.common_loss(limit)
    price = budget.price(common)
    assert all(price[at] <= limit[at] for route in budget.currency.routes for at in route)
    dearer = budget.price(Pure(epsilon=common.bound * Fraction(13, 10)))
    assert any(dearer[at] > limit[at] for route in budget.currency.routes for at in route)


@pytest.mark.theorem("filter-approximate")
def test_a_delta_beside_lifts_the_profile():
    whole = ConcentratedCurrency().loss((10**23, 10**18))
    bare = ConcentratedCurrency().loss((10**23, 0))
    for epsilon in ("0.1", 1, 3):
        expected = Fraction(1, 10**6) + (1 - Fraction(1, 10**6)) * Fraction(
            bare.delta(epsilon=epsilon)
        )
        assert expected <= whole.delta(epsilon=epsilon) <= float(expected) * (1 + 1e-6)


# --- amounts ------------------------------------------------------------------------------------

FRACTIONS = st.fractions(min_value=0, max_value=10**6)


@pytest.mark.theorem("directed-rounding")
@given(FRACTIONS)
def test_costs_round_up_and_limits_round_down(value):
    assert amount_value(amount_down(value)) <= value <= amount_value(amount_up(value))
    assert amount_up(value) - amount_down(value) <= 1


@given(st.integers(0, 10**31))
def test_what_is_shown_is_on_the_safe_side_and_close(amount):
    up, down = Fraction(format_up(amount)), Fraction(format_down(amount))
    assert down <= amount_value(amount) <= up
    assert up - down <= amount_value(amount) / 1000


@pytest.mark.parametrize(
    ("amount", "up", "down"),
    [
        (0, "0", "0"),
        (1, "1e-24", "1e-24"),
        (123456, "1.235e-19", "1.234e-19"),
        (10**24, "1", "1"),
        (10**24 // 3, "0.3334", "0.3333"),
        (99999 * 10**19, "1", "0.9999"),
        (10**19, "0.00001", "0.00001"),
        (99999 * 10**14, "0.00001", "9.999e-06"),
        (NEVER, "infinity", "infinity"),
    ],
)
def test_how_amounts_are_shown(amount, up, down):
    assert (format_up(amount), format_down(amount)) == (up, down)
