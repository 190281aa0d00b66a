"""The joint rule of epsilon and rho, against the best that any adaptive strategy can do.

The games are solved exactly, with fractions: all strategies, as long as the filter admits.
"""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import Box, Budget, Leaf, PrivacyFilter, account, equals, one_of
from discreet.accounting.amounts import NEVER, QUANTUM, amount_up, amount_value
from discreet.accounting.budget import checked_raise
from discreet.accounting.currencies import JointCurrency
from discreet.errors import OverBudget, WrongKind
from discreet.loss import Approximate, GaussianDP, Pure, ZeroConcentrated, gaussian_sigma
from discreet.mechanisms import Gaussian, Laplace
from discreet.units import row
from tests.accounting.games import Ask, largest_loss, leaking, response, two_point, value
from tests.accounting.test_currency import both_ways, mu_of, rho_of

E = Fraction(27182, 10000)  # hardly below e: the games are about an epsilon of 1

# --- two routes and their sum -------------------------------------------------------------------
#
# A rare answer says a little, after which a second question in rho says much; after the usual
# answer, everything is told with a small chance.  Prices are (epsilons, deltas, rhos) in whole
# numbers: the first route admits one rare question and one leak, the second one both questions.

RARE, SECOND = two_point(Fraction(1, 50), 2), response(Fraction(27, 10))


def leak(chance):
    """Tell everything with some chance, and otherwise nothing."""
    return ((chance, Fraction(0)), (1 - chance, 1 - chance), (Fraction(0), chance))


def questions(chance):
    rare = Ask(RARE, (1, 0, 1))
    return [rare, rare.swapped(), Ask(SECOND, (2, 0, 2)), Ask(leak(chance), (0, 1, NEVER))]


def in_epsilon(total):
    return total[0] <= 1 and total[1] <= 1


def in_rho(total):
    return total[2] <= 3


CURRENCY = JointCurrency(Fraction(1), Fraction(1, 10**6))


def jointly(total):
    return CURRENCY.fits((*total, NEVER, NEVER, 0), (1, 1, 3, 0, 1, 0))


@pytest.mark.theorem("filter-joint")
def test_a_strategy_gains_what_both_routes_lose_and_no_more():
    lost_in_rho = value(questions(Fraction(0)), in_rho, E, 3)
    menu = questions(lost_in_rho)  # as large a leak: the routes lose the same
    lost_in_epsilon = value(menu, in_epsilon, E, 3)
    assert lost_in_epsilon == lost_in_rho
    together = value(menu, jointly, E, 3)
    assert together <= lost_in_epsilon + lost_in_rho
    # a whole delta for each route, or the larger of the two, would promise half of what is lost
    assert together > Fraction(19, 10) * max(lost_in_epsilon, lost_in_rho)


@pytest.mark.theorem("filter-joint")
def test_questions_that_pay_on_one_route_each_lose_more():
    """A twin that lets each question choose its route, so that it may leave one and return."""
    lost_in_rho = value(questions(Fraction(0)), in_rho, E, 3)
    menu = questions(lost_in_rho)
    split = [
        Ask(ask.law, price) for ask in menu for price in ((*ask.price[:2], 0), (0, 0, ask.price[2]))
    ]
    twin = value(split, lambda total: in_epsilon(total) and in_rho(total), E, 3)
    assert twin > Fraction(14, 10) * (2 * lost_in_rho)


# --- budgets ------------------------------------------------------------------------------------

AT_TWO = two_point(Fraction(1, 50), 4)  # (log 2, 1/100)-private: 1/50 - 2 * 1/200


def at_a_point(law, alone=NEVER):
    """Price a law by what is true of it: an epsilon, perhaps at a delta, a rho, and a mu."""
    if law == AT_TWO:
        epsilon, chance = largest_loss(response(2)), Fraction(1, 100)
    else:
        epsilon, chance = largest_loss(law), Fraction(0)
    numbers = map(amount_up, (epsilon, chance, rho_of(law), mu_of(law)))
    return (*numbers, alone, 0)


@pytest.mark.theorem("filter-joint")
@pytest.mark.parametrize("delta", ["0.15", "0.3"])
def test_no_strategy_beats_a_joint_budget(delta):
    budget = Budget(epsilon=1, delta=delta)
    menu = both_ways([response(2), AT_TWO], at_a_point)
    found = value(menu, lambda total: budget.currency.fits(total, budget.limit), E, 6)
    assert 0 < found <= Fraction(delta)


@pytest.mark.theorem("filter-joint")
@pytest.mark.theorem("filter-approximate")
def test_no_strategy_beats_a_joint_budget_with_events():
    budget = Budget(epsilon=1, delta="0.3")
    leaky = leaking(response(2), "0.01")

    def priced(law):
        if law != leaky:
            return at_a_point(law)
        return (*at_a_point(response(2))[:5], amount_up(Fraction(1, 100)))

    menu = both_ways([leaky, AT_TWO], priced)
    found = value(menu, lambda total: budget.currency.fits(total, budget.limit), E, 6)
    assert Fraction(1, 100) <= found <= Fraction(30, 100)


@pytest.mark.theorem("filter-alone")
def test_no_strategy_gains_by_a_question_that_fits_alone():
    """The large question loses all of delta; whether more follows must not depend on its answer."""
    delta = Fraction(15, 100)
    budget = Budget(epsilon=1, delta=delta)
    large = leaking(response(2), delta)  # (log 2, 0.15)-private: on no other route
    once = (*at_a_point(response(2))[:4], 10**24, amount_up(delta))
    small = (*at_a_point(response(2))[:4], 10**24, 0)
    menu = [Ask(large, once), Ask(response(2), small)]

    def accepts(total):
        return budget.currency.fits(total, budget.limit)

    assert accepts(once)
    assert not accepts(tuple(map(sum, zip(once, small, strict=True))))
    found = value(menu, accepts, E, 6)
    assert found == delta  # it can be asked, and nothing is gained by asking first, or more

    def lenient(total):
        """Let follow it what would fit if it had not been asked."""
        rest = tuple(a - b for a, b in zip(total, once, strict=True))
        return accepts(total) or (min(rest) >= 0 and accepts(rest))

    assert value(menu, lenient, E, 6) > delta


@pytest.mark.theorem("filter-joint")
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1, "1e-6"), (2, "1e-9"), ("0.1", "1e-3"), (20, "0.2")]
)
def test_the_shares_of_delta_add_up_to_the_promise(epsilon, delta):
    budget = Budget(epsilon=epsilon, delta=delta)
    most, points, rho, square, alone, aside = map(amount_value, budget.limit)
    used = Fraction(ZeroConcentrated(rho=rho).delta(epsilon=epsilon))
    used += Fraction(GaussianDP(mu_squared=square).delta(epsilon=epsilon))
    whole = aside + (1 - aside) * (points + used)
    assert (most, alone) == (Fraction(epsilon), 1)
    assert Fraction(999, 1000) * Fraction(delta) < whole <= Fraction(delta)
    assert amount_value(budget.currency.conversion) * 1000 <= points


@pytest.mark.theorem("filter-joint")
def test_it_holds_nearly_as_many_gaussian_questions_as_an_accountant_of_pairs():
    """Counts within 50, in 95 of 100 cases, as sessions ask them where nothing costs less."""
    noise = Leaf(Gaussian(variance="662.42"))
    for delta, many in (("1e-9", 21), ("1e-6", 36)):
        left = PrivacyFilter(Budget(epsilon=1, delta=delta), unit=row()).left()
        assert left.how_many(noise) == many
        two_more = account(noise * (many + 2), relation="add_remove")
        assert two_more.epsilon(delta=delta) > 1


@pytest.mark.theorem("filter-joint")
def test_limits_that_spend_a_share_twice_are_not_read():
    budget = Budget(epsilon=1, delta="1e-6")
    assert Budget.read(budget.written()) == budget
    for place, share in [
        (1, 10**18),
        (2, 24 * 10**21),
        (0, 10**24 + 1),
        (3, 57 * 10**21),
        (5, 4 * 10**17),
        (4, 2 * 10**24),
    ]:
        limit = list(budget.written()["limit"])
        limit[place] = str(share)
        with pytest.raises(WrongKind):
            Budget.read(budget.written() | {"limit": limit})


# --- prices -------------------------------------------------------------------------------------

LOSSES = st.one_of(
    st.fractions(min_value="0.0001", max_value=2, max_denominator=10**4).map(
        lambda mu: GaussianDP(mu=mu)
    ),
    st.fractions(min_value="0.0001", max_value=2, max_denominator=10**4).map(
        lambda rho: ZeroConcentrated(rho=rho)
    ),
    st.fractions(min_value="0.0001", max_value=2, max_denominator=10**4).map(
        lambda epsilon: Approximate(epsilon=epsilon, delta="1e-8")
    ),
    st.sampled_from([Gaussian(sigma=7).loss(), Laplace(scale=3).loss().power(4)]),
)


@pytest.mark.theorem("filter-joint")
@pytest.mark.theorem("filter-admission")
@settings(max_examples=40)
@given(loss=LOSSES, delta=st.sampled_from([None, "1e-7", "1e-5"]))
def test_the_point_of_a_price_is_true_of_its_loss(loss, delta):
    price = Budget(epsilon=1, delta="1e-6").price(loss, delta=delta)
    epsilon, chance, rho, square, alone, beside = map(amount_value, price)

    def implied(curve, at):  # what delta returns lies a little above the truth
        return beside + (1 - beside) * Fraction(curve.delta(epsilon=at)) + Fraction(1, 10**12)

    assert loss.delta(epsilon=epsilon) <= beside + (1 - beside) * chance + Fraction(1, 10**12)
    assert loss.delta(epsilon=1) <= implied(ZeroConcentrated(rho=rho), 1)
    if square < NEVER * QUANTUM:
        for at in ("0.1", 1, 2):
            assert loss.delta(epsilon=at) <= implied(GaussianDP(mu_squared=square), at)
    if alone == 1:
        assert loss.delta(epsilon=1) <= Fraction(1, 10**6)


def test_a_delta_that_is_named_is_spent_on_epsilon_alone():
    budget = Budget(epsilon=2, delta="1e-9")
    plain, named = (budget.price(GaussianDP(mu="0.1"), delta=d) for d in (None, "1e-11"))
    assert named[0] < plain[0]
    assert named[1] == amount_up(Fraction(1, 10**11))
    one = 10**24
    assert named[2:] == plain[2:] == (one // 200, one // 100, one, 0)


@pytest.mark.theorem("filter-alone")
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_one_question_takes_all_that_was_promised_and_nothing_comes_after_it(relation):
    spending = PrivacyFilter(Budget(epsilon=1, delta="1e-9"), unit=row(relation=relation))
    sigma = gaussian_sigma(epsilon=1, delta="1e-9")
    for whole in (Approximate(epsilon=1, delta="1e-9"), GaussianDP(mu=1 / sigma)):
        left = spending.left()
        leaf = Leaf(whole, relation=relation)
        assert left.how_many(leaf) == 1
        assert left.after(leaf).share == 0
        assert left.after(leaf).how_many(Pure(epsilon="1e-9")) == 0
    small = Leaf(Pure(epsilon="1e-9"), relation=relation)
    spending.charge(small)
    assert (
        spending.left().how_many(Leaf(Approximate(epsilon=1, delta="1e-9"), relation=relation)) == 0
    )


# --- the cliff ----------------------------------------------------------------------------------


def test_a_route_that_is_left_stays_left():
    spending = PrivacyFilter(Budget(epsilon=1, delta="1e-9"), unit=row())
    spending.charge(Pure(epsilon="0.9"))  # now too much in rho
    assert spending.left().how_many(ZeroConcentrated(rho="0.0005")) == 0
    assert spending.left().how_many(Pure(epsilon="0.05")) == 2
    other = PrivacyFilter(Budget(epsilon=1, delta="1e-9"), unit=row())
    for _ in range(10):
        other.charge(ZeroConcentrated(rho="0.001"))  # now too much in epsilon
    assert other.left().how_many(Pure(epsilon="0.1")) == 0
    assert other.left().how_many(ZeroConcentrated(rho="0.001")) == 2


@pytest.mark.theorem("cell-filters")
def test_each_cell_has_routes_of_its_own():
    spending = PrivacyFilter(Budget(epsilon=1, delta="1e-9"), unit=row())
    one, other = (Box({"state": equals(name)}) for name in ("A", "B"))
    spending.charge(Pure(epsilon="0.9"), scope=one)
    for _ in range(10):
        spending.charge(ZeroConcentrated(rho="0.001"), scope=other)
    assert spending.left(one).how_many(Pure(epsilon="0.1")) == 1
    assert spending.left(other).how_many(ZeroConcentrated(rho="0.001")) == 2
    with pytest.raises(OverBudget):
        spending.charge(Pure(epsilon="0.05"))
    assert spending.left(one).how_many(Pure(epsilon="0.1")) == 1


STATES = "ABC"
REQUESTS = st.lists(
    st.tuples(
        st.sampled_from(
            [Pure(epsilon="0.4"), GaussianDP(mu="0.04"), Approximate(epsilon="0.1", delta="1e-10")]
        ),
        st.sets(st.sampled_from(STATES), max_size=2),
    ),
    min_size=3,
    max_size=12,
)


@pytest.mark.theorem("filter-joint")
@pytest.mark.theorem("cell-filters")
@pytest.mark.theorem("cell-pairs")
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@settings(max_examples=15)
@given(requests=REQUESTS)
def test_the_sums_of_everybody_stay_on_a_route(relation, requests):
    spending = PrivacyFilter(Budget(epsilon=1, delta="1e-9"), unit=row(relation=relation))
    fits, limit = spending.budget.currency.fits, spending.budget.limit
    owed = dict.fromkeys(((x, y) for x in STATES for y in STATES), (0,) * 6)
    for what, states in requests:
        scope = Box({"state": one_of(*states)}) if states else None
        pieces = spending.pieces(what, scope=scope)
        if not spending.fits(pieces):
            continue
        spending.add(pieces)
        ((one, both),) = ((piece.added, piece.replaced) for piece in pieces)
        for x, y in owed:
            held = sum(not states or state in states for state in (x, y))
            price = {0: (0,) * 6, 1: one, 2: both if relation == "replace" else one}[held]
            owed[x, y] = tuple(map(sum, zip(owed[x, y], price, strict=True)))
    for (x, y), total in owed.items():
        if relation == "replace" or x == y:
            assert fits(total, limit)


# --- budgets on record --------------------------------------------------------------------------


def test_a_raise_keeps_the_delta_at_which_losses_have_an_epsilon():
    old, new = Budget(epsilon=1, delta="1e-9"), Budget(epsilon=2, delta="1e-6")
    assert old.currency != new.currency
    raised = checked_raise(old, new)
    assert (raised.limit, raised.promise) == (new.limit, new.promise)
    assert raised.currency == old.currency
    assert Budget.read(raised.written()) == raised
    spending = PrivacyFilter(old, unit=row())
    spending.charge(GaussianDP(mu="0.05"))
    assert spending.with_budget(new).budget == raised
