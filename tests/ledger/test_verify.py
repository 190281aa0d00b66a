"""An auditor sees every change to a record, and only changes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import (
    Box,
    Budget,
    Contribution,
    Leaf,
    Parallel,
    at_least,
    equals,
    is_null,
    one_of,
)
from discreet.ledger.verify import verify
from discreet.loss import GaussianDP, Pure
from discreet.mechanisms import Gaussian, Laplace
from discreet.units import person, row
from tests.ledger.chains import CA, NY, Chain, forge, honest, kinds, receipt, set_field, sha

# --- honest records -------------------------------------------------------------------------------


def test_an_honest_record_passes():
    rows = honest().rows()
    report = verify(rows, receipts=[receipt(rows), receipt(rows, 4)])
    assert report.ok, str(report)
    report.raise_if_bad()
    assert (report.entries, report.charges, report.releases, report.unreleased) == (13, 3, 2, 1)
    assert report.receipt == receipt(rows)
    spent = {standing.account: (standing.spent, standing.limit) for standing in report.accounts}
    assert spent == {
        "data": ((75 * 10**22, 0), (4 * 10**24, 0)),
        "data/flu": ((5 * 10**23, 0), (2 * 10**24, 0)),
        "data/flu/ana": ((), ()),
    }
    assert "data: epsilon 0.75 of 4" in str(report)
    assert str(report).endswith("ok: everything follows from the entries")


BUDGETS = [
    Budget(rho=20, delta="1e-6"),
    Budget(epsilon=20, delta="1e-6"),
]


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.currency.name)
@pytest.mark.parametrize("relation", ["add_remove", "replace", "either", "local"])
def test_every_currency_and_relation_passes(budget, relation):
    chain = Chain(budget, unit=row(relation=relation))
    scopes = [None, CA, Box({"state": equals("CA"), "age": at_least(65)})]
    for number, scope in enumerate(scopes if relation != "local" else [None]):
        chain.ask(f"pure {number}", Pure(epsilon="0.5"), scope=scope)
        if relation != "local":
            chain.ask(f"noise {number}", Leaf(Laplace(scale=8)), scope=scope)
    chain.ask("delta", GaussianDP(mu="0.5"), delta="1/1000000000")
    assert verify(chain.rows()).problems == ()


def test_units_of_several_rows_pass():
    unit = person("patient")
    chain = Chain(
        Budget(epsilon=20),
        unit=unit,
        constant=("birth_year",),
        contribution=Contribution(rows=3, parts={"ward": 2}),
    )
    by_ward = Parallel(
        "ward", {equals("A"): Leaf(Laplace(scale=5)), is_null(): Leaf(Laplace(scale=9))}
    )
    chain.ask("rows", by_ward, scope=Box({"birth_year": equals(1980)}))
    by_year = Parallel(
        "birth_year", {equals(1): Leaf(Laplace(scale=5)), equals(2): Leaf(Laplace(scale=9))}
    )
    chain.ask("years", by_year)
    assert len(chain.entries[4]["boxes"]) == 2
    assert verify(chain.rows()).problems == ()


def test_what_fits_in_two_ways_in_two_places_passes():
    """One cell stays within epsilon, another within rho, and a box holds both."""
    both, one, other = (Box({"state": one_of(*which)}) for which in (["CA", "NY"], ["CA"], ["NY"]))
    chain = Chain(Budget(epsilon=2, delta="1e-9"))
    chain.ask("a", Pure(epsilon="0.01"), scope=both)
    chain.ask("b", Leaf(Gaussian(variance=12)), scope=one)
    chain.ask("c", Pure(epsilon="1.9"), scope=other)
    report = verify(chain.rows())
    assert report.problems == ()
    spent, limit = report.accounts[0].spent, report.accounts[0].limit
    assert spent[0] > limit[0]
    assert spent[2] > limit[2]
    chain.ask("d", Pure(epsilon="0.2"), scope=other)
    assert kinds(chain.rows()) == ["sum"]


# --- changes in place: the chain shows them -------------------------------------------------------


@pytest.mark.theorem("hash-chain")
def test_a_head_fixes_everything_before_it():
    rows = honest().rows()
    head = "0" * 64
    for cells in rows:
        assert cells[5] == sha(f"{head}\n{cells[4]}".encode())
        head = cells[5]


@given(data=st.data())
@settings(max_examples=120)
def test_any_changed_letter_is_seen(data):
    rows = honest().rows()
    at = data.draw(st.integers(0, len(rows) - 1))
    cells = list(rows[at])
    column = data.draw(st.sampled_from([4, 5] if cells[6] is None else [4, 5, 6]))
    text = cells[column] if isinstance(cells[column], bytes) else cells[column].encode()
    place = data.draw(st.integers(0, len(text) - 1))
    flipped = bytes([text[place] ^ data.draw(st.integers(1, 127))])
    text = text[:place] + flipped + text[place + 1 :]
    cells[column] = text if column == 6 else text.decode()
    rows[at] = tuple(cells)
    assert not verify(rows).ok


@pytest.mark.parametrize("column", range(4))
def test_changed_columns_are_seen(column):
    for at, cells in enumerate(honest().rows()):
        rows = honest().rows()
        for other in [None, "other", 7]:
            if other != cells[column]:
                rows[at] = (*cells[:column], other, *cells[column + 1 :])
                assert "columns" in kinds(rows), (at, column, other)


def test_missing_and_moved_entries_are_seen():
    rows = honest().rows()
    for at in range(len(rows) - 1):
        assert not verify(rows[:at] + rows[at + 1 :]).ok  # one is missing
        assert not verify(rows[: at + 1] + rows[at:]).ok  # one is there twice
        assert not verify([*rows[:at], rows[at + 1], rows[at], *rows[at + 2 :]]).ok  # in disorder
        assert not verify(rows + rows[at:]).ok  # a copied tail


def test_a_missing_end_is_seen_with_a_receipt_alone():
    rows = honest().rows()
    for length in range(1, len(rows)):
        known = verify(rows[:length])
        assert known.ok
        assert kinds(rows[:length], receipts=[receipt(rows)]) == ["receipt"]
        assert kinds(rows[:length], receipts=[receipt(rows, length), receipt(rows)]) == ["receipt"]


def test_receipts_of_others_are_seen():
    rows = honest().rows()
    good = receipt(rows)
    assert verify(rows, receipts=[good, good]).ok
    other = Chain(name="f" * 32)
    other.ask("a")
    assert kinds(rows, receipts=[receipt(other.rows(), 1, "f" * 32)]) == ["receipt"]
    assert kinds(rows, receipts=[receipt(other.rows(), 1)]) == ["receipt"]  # a clone's
    assert kinds(rows, receipts=[receipt(rows, name="f" * 32)]) == ["receipt"]
    for garbage in ["", "x", good + "0", good.upper(), None, 7, b"", object(), Hostile()]:
        assert kinds(rows, receipts=[garbage]) == ["receipt"]


class Hostile:
    """It cannot be shown, compared or hashed."""

    def __str__(self):
        raise RuntimeError

    __repr__ = __hash__ = __eq__ = __str__


# --- forged records: all heads are worked out again -----------------------------------------------


def set_amount(path, place, value):
    def change(entries):
        amounts = entries[3]["amounts"][path]
        amounts[0][place][0] = value

    return change


def drop_account(entries):
    del entries[3]["amounts"]["data"]


def extra_account(entries):
    entries[3]["amounts"]["data/flu/ana"] = entries[3]["amounts"]["data"]


def cheaper_tree(entries):
    """Another mechanism with the old price: the body gives it away."""
    entries[3]["tree"] = entries[6]["tree"]


def narrower_box(entries):
    entries[3]["boxes"] = entries[6]["boxes"]


def no_box(entries):
    entries[3]["boxes"] = []
    entries[3]["amounts"] = {path: [] for path in entries[3]["amounts"]}


def second_box(entries):
    entries[3]["boxes"] *= 2
    for pieces in entries[3]["amounts"].values():
        pieces.append(pieces[0])


def another_charge(entries):
    entries[6]["key"] = entries[3]["key"]


def unknown_account(entries):
    entries[1]["account"] = "data/cold"


def swap(first, second):
    def change(entries):
        entries[first], entries[second] = entries[second], entries[first]
        entries[first]["seq"], entries[second]["seq"] = first + 1, second + 1

    return change


BIG = Budget(epsilon=10).written()
FORGERIES = {
    "format": (set_field(5, "format", 2), "line"),
    "format as a bool": (set_field(5, "format", True), "line"),
    "seq": (set_field(5, "seq", 7), "number"),
    "kind": (set_field(5, "kind", "refund"), "line"),
    "time": (set_field(5, "at", "yesterday"), "line"),
    "new field": (set_field(5, "refund", "1"), "line"),
    "float": (set_field(5, "size", 11.0), "line"),
    "second open": (set_field(7, "kind", "open"), "line"),
    "no unit": (set_field(0, "unit", {}), "open"),
    "no contribution": (set_field(0, "contribution", {"rows": 0}), "open"),
    "root below": (set_field(0, "account", "data/root"), "account"),
    "bad path": (set_field(1, "account", "data//flu"), "line"),
    "orphan": (set_field(1, "account", "other/flu"), "account"),
    "account twice": (set_field(1, "account", "data"), "account"),
    "budget": (set_field(1, "budget", {"currency": "gold"}), "budget"),
    "account of a charge": (set_field(3, "account", "data/none"), "charge"),
    "no such account": (unknown_account, "charge"),
    "key twice": (another_charge, "charge"),
    "body": (set_field(3, "body", "0" * 64), "charge"),
    "question": (set_field(3, "question", "cd34"), "charge"),
    "delta": (set_field(3, "delta", "1/2"), "charge"),
    "tree": (cheaper_tree, "charge"),
    "scope": (set_field(3, "scope", NY.written()), "price"),
    "box": (narrower_box, "price"),
    "no box": (no_box, "price"),
    "second box": (second_box, "price"),
    "boxes": (set_field(3, "boxes", [7]), "charge"),
    "drop account": (drop_account, "charge"),
    "extra account": (extra_account, "charge"),
    "lower amount": (set_amount("data", 0, "499999999999999999999999"), "price"),
    "lower below": (set_amount("data/flu", 0, "1"), "price"),
    "lower for two": (set_amount("data", 1, "0"), "price"),
    "negative": (set_amount("data", 0, "-5"), "charge"),
    "leading zero": (set_amount("data", 0, "0500000000000000000000000"), "charge"),
    "number": (set_amount("data", 0, 5 * 10**23), "charge"),
    "start first": (swap(3, 4), "start"),
    "release first": (swap(4, 5), "release"),
    "attempt": (set_field(12, "attempt", 1), "start"),
    "skipped attempt": (set_field(12, "attempt", 3), "start"),
    "start of none": (set_field(4, "key", "z"), "start"),
    "start after release": (set_field(12, "key", "a"), "start"),
    "release of none": (set_field(5, "key", "z"), "release"),
    "release twice": (set_field(8, "key", "a"), "release"),
    "answer": (set_field(5, "answer", "0" * 64), "answer"),
    "size": (set_field(5, "size", 10), "answer"),
    "raise by one": (set_field(9, "approved_by", " ANA"), "raise"),
    "raise unsaid": (set_field(9, "reason", "  "), "line"),
    "raise nothing": (set_field(9, "budget", Budget(epsilon=3).written()), "raise"),
    "lower": (set_field(9, "budget", Budget(epsilon="2.9").written()), "raise"),
    "other currency": (set_field(9, "budget", Budget(rho=100).written()), "raise"),
    "raise of none": (set_field(9, "account", "data/none"), "raise"),
    "raise without a budget": (set_field(9, "account", "data/flu/ana"), "raise"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_records_are_seen(name):
    change, kind = FORGERIES[name]
    rows = forge(change)
    assert kind in kinds(rows), str(verify(rows))


def test_higher_amounts_and_wider_boxes_pass():
    def dearer(entries):
        entries[3]["boxes"] = [Box.everything().written()]
        entries[3]["amounts"]["data"][0] = [["6" + "0" * 23, "0"], ["7" + "0" * 23, "0"]]

    chain = honest()
    del chain.entries[9], chain.answers[9]
    for seq, entry in enumerate(chain.entries, start=1):
        entry["seq"] = seq
    assert verify(forge(dearer, chain=chain)).problems == ()


@pytest.mark.parametrize("mutant", ["restore"])
def test_a_restore_names_the_head_and_two_people(mutant):
    chain = honest()
    chain.restore()
    assert verify(chain.rows()).ok
    assert kinds(forge(set_field(-1, "after", "0" * 64), chain=chain)) == [mutant]
    assert kinds(forge(set_field(-1, "approved_by", "ana"), chain=chain)) == [mutant]


def test_answers_beside_other_entries_are_seen():
    for at, entry in enumerate(honest().entries):
        chain = honest()
        chain.answers[at] = None if entry["kind"] == "release" else b""
        assert kinds(chain.rows()) == ["answer"]
        chain.answers[at] = "text"
        assert kinds(chain.rows()) == ["answer"]


def test_everything_else_is_seen_with_a_receipt():
    """What a forger can make consistent contradicts a receipt."""
    last = receipt(honest().rows())
    for change in [
        set_field(3, "at", "2026-01-02T03:04:05.678902Z"),
        set_field(1, "by", "eve"),
        set_field(9, "reason", "none"),
        set_field(0, "constant", ["state"]),
    ]:
        rows = forge(change)
        assert verify(rows).ok
        assert kinds(rows, receipts=[last]) == ["receipt"]
