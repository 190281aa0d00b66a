"""No account is overspent unseen, and no price is too low unseen."""

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import (
    Box,
    Budget,
    Contribution,
    Leaf,
    Parallel,
    Post,
    PrivacyFilter,
    Where,
    at_least,
    encode,
    equals,
    is_null,
    one_of,
)
from discreet.accounting.balances import ChargedBox
from discreet.accounting.requests import RequestPricer
from discreet.errors import DiscreetError
from discreet.ledger.verify import AccountHistory, RecomputedPrices, covers, verify
from discreet.loss import Pure
from discreet.mechanisms import Laplace
from discreet.units import Relation, person, row
from tests.ledger.chains import (
    CA,
    NY,
    Chain,
    forge,
    kinds,
    set_field,
)

# --- sums -----------------------------------------------------------------------------------------


def test_an_overspent_account_is_seen():
    chain = Chain(Budget(epsilon=1))
    chain.account("data/flu", Budget(epsilon="0.6"))
    chain.ask("a", Pure(epsilon="0.5"), account="data/flu")
    chain.ask("b", Pure(epsilon="0.5"))
    assert verify(chain.rows()).ok
    chain.ask("c", Pure(epsilon="1/1000000000000000000000000"))
    (problem,) = verify(chain.rows()).problems
    assert (problem.seq, problem.kind) == (9, "sum")
    assert "data" in problem.message
    chain.ask("d", Pure(epsilon="0.1000000001"), account="data/flu")
    assert {problem.seq for problem in verify(chain.rows()).problems} == {9, 12}


def test_a_raise_that_comes_too_late_is_seen():
    chain = Chain(Budget(epsilon=1))
    chain.ask("a", Pure(epsilon="0.7"))
    chain.ask("b", Pure(epsilon="0.7"))
    chain.raise_to(Budget(epsilon=2))
    (problem,) = verify(chain.rows()).problems
    assert (problem.seq, problem.kind) == (5, "sum")


def test_limits_above_what_is_promised_are_seen():
    promised = Budget(epsilon=2, delta="1e-9").written()
    assert kinds(forge(set_field(0, "budget", promised), chain=Chain())) == []
    for place in range(3):
        limits = [
            str(int(limit) + 10**24 * (index == place))
            for index, limit in enumerate(promised["limit"])
        ]
        higher = {**promised, "limit": limits}
        assert kinds(forge(set_field(0, "budget", higher), chain=Chain())) == ["budget"]


SCOPES = [
    None,
    CA,
    NY,
    Box({"age": at_least(65)}),
    Box({"state": equals("CA"), "age": at_least(18)}),
]
MOVES = st.one_of(
    st.tuples(st.just("charge"), st.integers(1, 9), st.integers(0, len(SCOPES) - 1)),
    st.tuples(st.just("raise"), st.integers(1, 9), st.just(0)),
)


@pytest.mark.theorem("limits-by-segment")
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@given(moves=st.lists(MOVES, max_size=12), limit=st.integers(5, 30))
@settings(max_examples=40)
def test_sums_by_segment_say_what_one_by_one_says(relation, moves, limit):
    unit = row(relation=relation)
    book, history = (
        PrivacyFilter(Budget(epsilon=limit), unit=unit),
        AccountHistory(Budget(epsilon=limit), unit.relation),
    )
    refused = 0
    for seq, (kind, size, at) in enumerate(moves, start=1):
        if kind == "raise":
            limit += size
            book = book.with_budget(Budget(epsilon=limit))
            history.raise_to(Budget(epsilon=limit))
        else:
            pieces = book.pieces(Pure(epsilon=size), scope=SCOPES[at])
            refused = refused or (0 if book.fits(pieces) else seq)
            book.add(pieces)
            history.charge(seq, pieces)
    assert history.totals() == (book.spent, refused)


@given(counts=st.lists(st.integers(0, 3), min_size=6, max_size=6))
@settings(max_examples=30)
def test_adding_up_equal_boxes_changes_no_sum(counts):
    """Also where two records pay more than twice what one does, in some charges alone."""
    charges = [
        ChargedBox(box, (2, 3), two) for box in (CA, SCOPES[3]) for two in ((5, 3), (3, 7), (4, 6))
    ]
    budget, owed = Budget(epsilon=1), PrivacyFilter(Budget(epsilon=1), unit=row(relation="replace"))
    history = AccountHistory(budget, Relation.REPLACE)
    for piece, count in zip(charges, counts, strict=True):
        for _ in range(count):
            owed.enter((piece,))
            history.charge(1, (piece,))
    assert history.totals()[0] == owed.spent


# --- prices ---------------------------------------------------------------------------------------

TREES = [
    Leaf(Pure(epsilon="0.5"), unit=person("patient")),
    Leaf(Laplace(scale=3), replaced=0),
    Where(CA, Leaf(Laplace(scale=3)) * 2),
    Parallel("state", {equals("CA"): Leaf(Laplace(scale=3)), equals("NY"): Leaf(Laplace(scale=5))}),
    Post(
        Parallel("ward", {equals("A"): Leaf(Laplace(scale=3)), is_null(): Leaf(Laplace(scale=5))})
    ),
    Leaf(Laplace(scale=3), relation="replace", common_domain=True),
]
UNITS = [row(relation=relation) for relation in Relation if relation is not Relation.LOCAL]
UNITS += [person("patient", relation=relation) for relation in ("add_remove", "replace", "either")]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: f"{unit.name}-{unit.relation.value}")
def test_prices_are_those_of_a_book(unit):
    """Written twice, they are the same; also where a scope may hold one of two records."""
    terms = {"unit": unit, "constant": ("state",), "contribution": Contribution(rows=2)}
    prices, pricer, lower = RecomputedPrices(**terms), RequestPricer(**terms), 0
    for tree, scope in itertools.product(TREES, [*SCOPES, Box({"ward": equals("A")})]):
        for currency in (Budget(epsilon=1).currency, Budget(rho=1).currency):
            box = scope or Box.everything()
            texts = (json.dumps(each) for each in (encode(tree), box.written(), None))
            try:
                pieces = pricer.pieces(tree, currency, scope=scope)
            except DiscreetError:
                with pytest.raises(DiscreetError):
                    prices.of(*texts, currency)
                continue
            assert prices.of(*texts, currency) == pieces
            lower += any(piece.replaced < piece.added for piece in pieces)
    assert lower or unit != row(relation="replace")


def test_boxes_that_enclose_more_than_is_meant_are_seen():
    """What they say is not whom they charge."""
    chain = Chain()
    chain.charge("a", scope=CA)
    (values,) = chain.entries[1]["boxes"][0]["columns"].values()
    values["exact"] = False
    assert kinds(chain.rows()) == ["charge"]


# --- what is recorded covers what is found --------------------------------------------------------

CELLS = ["a", "b", "c"]
SETS = [which for size in (1, 2, 3) for which in itertools.combinations(CELLS, size)]


BOXES = {which: Box({"cell": one_of(*which)}) for which in SETS}


def owed_by(pair, pieces):
    """What two records owe where each piece costs one of them, or both."""
    held = [(sum(record in which for record in pair), one, two) for which, one, two in pieces]
    return sum({0: 0, 1: one, 2: two}[count] for count, one, two in held)


def as_pieces(said):
    return [ChargedBox(BOXES[which], (one,), (two,)) for which, one, two in said]


@pytest.mark.theorem("covering-charges")
def test_what_covers_is_never_too_low():
    prices, pairs = [(1, 1), (2, 1), (1, 3)], list(itertools.product(CELLS, repeat=2))
    covered = 0
    for which in [[("a",)], [("a", "b")], [("a",), ("b",)], [("a",), ("b", "c")]]:
        count = len(which)
        for said in itertools.product(SETS, [*prices, (2, 2)], repeat=count):
            recorded = [(said[2 * k], *said[2 * k + 1]) for k in range(count)]
            for amounts in itertools.product(prices[:2], repeat=count):
                found = [(each, *price) for each, price in zip(which, amounts, strict=True)]
                if covers(as_pieces(recorded), as_pieces(found)):
                    covered += 1
                    assert all(owed_by(pair, recorded) >= owed_by(pair, found) for pair in pairs)
    assert covered > 100


def test_one_large_box_does_not_cover_two():
    """Two records in two parts pay for both, and in one box only once."""
    parts = [ChargedBox(CA, (1,), (1,)), ChargedBox(NY, (1,), (1,))]
    assert covers(parts, parts)
    assert not covers([ChargedBox(Box.everything(), (1,), (1,))], parts)
    assert not covers([*parts, parts[0]], parts)
    assert not covers(parts[::-1], parts)
    assert not covers(parts[:1], parts)
    assert covers([], [])
    assert covers([ChargedBox(Box.everything(), (1,), (1,))], parts[:1])
    assert not covers([ChargedBox(Box.everything(), (2,), (1,))], [ChargedBox(CA, (2,), (1,))])
    assert covers([ChargedBox(CA, (2,), (1,))], [ChargedBox(CA, (2,), (1,))])
