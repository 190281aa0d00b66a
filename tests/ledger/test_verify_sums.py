"""Sums, covered charges and garbage: what the auditor adds up, and what it survives."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import Box, Budget, equals, one_of
from discreet.accounting.balances import ChargedBox
from discreet.errors import Tampered
from discreet.ledger.verify import MOST, covers, verify
from discreet.loss import Pure
from tests.ledger.chains import (
    CA,
    HONEST,
    LAST,
    NAME,
    Chain,
    forge,
    honest,
    kinds,
    set_field,
)


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


# --- garbage --------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.just("0" * 64),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
ANYTHING = JSON | st.binary(max_size=5)


@given(rows=st.lists(st.tuples(*[ANYTHING] * 7) | ANYTHING, max_size=4))
@settings(max_examples=100)
def test_any_rows_are_survived(rows):
    assert not verify(rows).ok


@given(data=st.data())
@settings(max_examples=100)
def test_any_values_in_any_place_are_survived(data):
    chain = honest()
    entry = data.draw(st.sampled_from(chain.entries))
    place = entry
    key = data.draw(st.sampled_from(sorted(entry)))
    while isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
        place = place[key]
        key = data.draw(
            st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place)))
        )
    if data.draw(st.booleans()) or isinstance(place, list):
        place[key] = data.draw(JSON)
    else:
        place[data.draw(st.text(max_size=3))] = place.pop(key)
    rows = chain.rows()
    assert rows == HONEST.rows() or not verify(rows, receipts=[LAST]).ok


def test_problems_are_listed_up_to_a_number():
    report = verify([(7, "x", None, None, "{}", "", None)] * 1000)
    assert (len(report.problems), report.entries) == (MOST, 1000)
    assert "at least 100 problems" in str(report)
    with pytest.raises(Tampered, match="at least 99 more"):
        report.raise_if_bad()


def test_no_value_is_told():
    poison = "xyzzy-4711"
    chain = Chain(Budget(epsilon=1))
    chain.charge(poison, Pure(epsilon=3), scope=Box({poison: equals(poison)}), question=poison)
    chain.start(poison, 3)
    chain.release(poison, poison.encode())
    chain.add("account", account=f"data/none/{poison}x", budget={poison: poison}, by=poison)
    chain.answers[3] = f"{poison}!".encode()
    chain.entries[1]["boxes"][0]["columns"][poison][poison] = poison
    rows = [*chain.rows(), (poison, poison, poison, poison, f'{{"{poison}":1}}', poison, b"")]
    report = verify(rows, receipts=[poison, f"{NAME}:1:{'0' * 64}"])
    assert {"charge", "start", "answer", "account", "budget", "line", "chain", "receipt"} <= {
        problem.kind for problem in report.problems
    }
    said = [*map(str, report.problems), *map(repr, report.problems)]
    with pytest.raises(Tampered) as caught:
        report.raise_if_bad()
    assert poison not in "".join([*said, str(caught.value)])
