"""Leaves one after another cost what the accountant finds, pair by pair."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import (
    Choice,
    Contribution,
    Leaf,
    Parallel,
    Repeat,
    Sequential,
    account,
)
from discreet.accounting.currencies import BasicCurrency
from discreet.accounting.requests import RequestPricer, leaf_product
from discreet.loss import GaussianDP, Pure, ZeroConcentrated
from discreet.mechanisms import Gaussian, Laplace
from discreet.units import PrivacyUnit, person, row

WIDTHS = st.fractions(min_value=Fraction(1, 3), max_value=4000, max_denominator=7)
SOURCES = st.one_of(
    st.builds(Gaussian, variance=WIDTHS),
    st.builds(Gaussian, variance=WIDTHS.map(lambda width: width * 10**9)),
    st.builds(Laplace, scale=WIDTHS),
    st.builds(GaussianDP, mu_squared=WIDTHS),
    st.just(Pure(epsilon="1/2")),
    st.just(ZeroConcentrated(rho="1/8")),
)
PAIR = PrivacyUnit(name="person", columns=("clinic", "id"))
UNITS = st.sampled_from([row(), person("id"), PAIR])


@st.composite
def trees(draw):
    """Draw a unit, and leaves that are known for it, one after another."""
    unit = draw(UNITS)
    leaves = st.builds(
        lambda source, added, places: (
            Leaf(source, unit=unit)
            if not isinstance(source, Gaussian | Laplace)
            else Leaf(
                source,
                added=added,
                unit=unit,
                coordinates=places if isinstance(source, Gaussian) else 1,
            )
        ),
        SOURCES,
        st.integers(1, 5),
        st.sampled_from([1, 4, 60]),
    )
    nodes = st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda nodes: Sequential(*nodes)),
            st.builds(Repeat, inner, st.integers(0, 4)),
        ),
        max_leaves=6,
    )
    return draw(nodes), unit


@pytest.mark.theorem("dominating-pair")
@settings(max_examples=240)
@given(drawn=trees())
def test_it_is_what_the_accountant_finds(drawn):
    tree, unit = drawn
    found = leaf_product(tree, unit)
    if found is None:
        return
    wanted = account(tree, unit=unit).loss
    limited = account(tree, unit=unit, contribution=Contribution(rows=3)).loss
    assert limited == wanted  # one row, or one unit, whatever a unit of several rows holds
    assert found.remove is found.add
    assert found.indivisible == wanted.indivisible
    for side in (wanted.remove, wanted.add):
        assert [each.pairs for each in side] == [found.remove[0].pairs]
        assert side[0].renyi is None
    assert found.delta(epsilon=1) == wanted.delta(epsilon=1)


@pytest.mark.parametrize("unit", [row(), person("id")])
def test_sums_of_models_need_no_accountant(unit):
    count = Leaf(Gaussian(variance=700), unit=unit)
    tree = count + 8 * Leaf(Gaussian(variance=10**20), added=10**8, unit=unit)
    assert leaf_product(tree, unit) is not None


ONE = Leaf(Gaussian(variance=9))


@pytest.mark.parametrize(
    ("tree", "unit"),
    [
        (ONE + ONE, person("id")),
        (ONE + ONE, row(relation="replace")),
        (ONE + Leaf(Gaussian(variance=9), unit=person("id")), row()),
        (ONE + Leaf(Gaussian(variance=9), unit=person("id")), person("id")),
        (2 * Leaf(Gaussian(variance=9), unit=person("id")), PAIR),
        (Choice(ONE, Leaf(Gaussian(variance=4))), row()),
        (ONE + Parallel("ward", {"A": ONE}), row()),
        (ONE + Leaf(Pure(epsilon=1)), row()),
        (Sequential(), row()),
    ],
)
def test_everything_else_is_left_to_the_accountant(tree, unit):
    assert leaf_product(tree, unit) is None


def test_one_release_is_never_charged_as_several():
    """Prices are looked up by equality: whichever was priced first must not price the other."""
    several, one = Leaf(_sixteen()), Leaf(_sixteen().as_one())
    assert several.source != one.source
    assert several != one
    assert one == Leaf(_sixteen().as_one())
    for leaf in (several, one, several):  # each after the other was priced
        chain = leaf.source.group(2).epsilon(delta=1e-3)
        assert leaf.price(2, 0).epsilon(delta=1e-3) == chain
    prices = [leaf.price(2, 0).epsilon(delta=1e-3) for leaf in (several, one)]
    assert prices[0] < prices[1] - 0.3  # 6.436 and 6.746


def test_a_filter_charges_one_release_in_full_after_several():
    unit, rows = person("person"), Contribution(rows=2)
    several, one = (Leaf(loss) for loss in (_sixteen(), _sixteen().as_one()))
    alone = RequestPricer(unit=unit, contribution=rows)
    after = RequestPricer(unit=unit, contribution=rows)
    after.pieces(several, BasicCurrency(), delta="1e-3")
    charged = after.pieces(one, BasicCurrency(), delta="1e-3")
    assert charged == alone.pieces(one, BasicCurrency(), delta="1e-3")
    assert charged[0].added > after.pieces(several, BasicCurrency(), delta="1e-3")[0].added


def _sixteen():
    return Laplace(scale=4).loss().power(16)
