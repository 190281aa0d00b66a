"""The state of a ledger: a fold over its entries, from the start or from a checkpoint."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import Box, Budget, Leaf, Parallel, at_least, equals
from discreet.errors import DamagedLedger, OverBudget
from discreet.ledger.connection import Batch, catch_up
from discreet.ledger.entries import (
    AccountEntry,
    EntryRow,
    OpenEntry,
    RaiseEntry,
    StartEntry,
    digest,
)
from discreet.ledger.requests import Pricer
from discreet.ledger.state import LedgerState, restore_state
from discreet.loss import Pure
from discreet.units import row
from tests.ledger.disk import Disk, DiskStore
from tests.ledger.store_contract import made

ONE = Pure(epsilon="0.1")
WARDS = Parallel("ward", {"A": Leaf(Pure(epsilon="0.2")), "B": Leaf(Pure(epsilon="0.1"))})
SCOPES = (
    None,
    Box({"ward": equals("A")}),
    Box({"ward": equals("B"), "age": at_least(65)}),
    Box({"age": at_least(18)}),
)
PEOPLE = {"reason": "a longer study", "by": "ana", "approved_by": "ben"}


class Written:
    """A ledger that is written by hand: a state, and the rows that lead to it."""

    def __init__(self, relation="add_remove", **limits):
        self.state = LedgerState()
        self.rows = []
        opening = OpenEntry(
            ledger="1" * 32,
            unit=row(relation=relation),
            constant=(),
            contribution=None,
            account="data",
            budget=Budget(**limits or {"epsilon": 2}),
        )
        self.add(opening)
        self.pricer = Pricer(self.state.prices)

    def add(self, entry, answer=None):
        batch = Batch(self.state, ())
        batch.append(entry, answer)
        self.rows += batch.rows

    def charge(self, key, what=ONE, *, path="data", scope=None):
        priced = self.pricer.price(what, self.state.accounts, path, scope=scope, delta=None)
        for account, pieces in priced.pieces:
            if not self.state.filter_of(account).fits(pieces):
                raise self.state.filter_of(account).refusal(pieces)
        self.add(priced.charge(key, ""))

    def account(self, path, budget=None):
        self.add(AccountEntry(account=path, budget=budget, by="ana"))


def replayed(rows, state=None):
    state = LedgerState() if state is None else state
    for entry in rows:
        state.apply_row(entry)
    return state


def tree():
    ledger = Written(epsilon=2)
    ledger.account("data/flu", Budget(epsilon=1))
    ledger.account("data/flu/ana")
    ledger.account("data/flu/ana/draft", Budget(rho="0.5"))
    return ledger


# --- the fold -----------------------------------------------------------------------------------


def test_a_charge_counts_in_every_account_above():
    ledger = tree()
    ledger.charge("k", path="data/flu/ana/draft")
    state = ledger.state
    assert state.limited_accounts("data/flu/ana/draft") == (
        "data",
        "data/flu",
        "data/flu/ana/draft",
    )
    assert state.limited_accounts("data/flu/ana") == ("data", "data/flu")
    assert state.filter_of("data").spent == state.filter_of("data/flu").spent == (10**23, 0)
    assert state.filter_of("data/flu/ana/draft").spent == Budget(rho=1).price(ONE)
    ledger.charge("l", path="data")
    assert state.filter_of("data").spent == (2 * 10**23, 0)
    assert state.filter_of("data/flu").spent == (10**23, 0)


@given(st.data())
@settings(max_examples=60)
def test_rows_that_were_changed_taken_out_or_swapped_do_not_follow(data):
    ledger = tree()
    for number in range(4):
        ledger.charge(f"k{number}", path="data/flu")
    rows = list(ledger.rows)
    drawn = data.draw(st.integers(0, len(rows) - 1))
    match data.draw(st.sampled_from(["line", "head", "out", "swap", "seq"])):
        case "line":
            place = data.draw(st.integers(0, len(rows[drawn].line) - 1))
            line = rows[drawn].line
            other = data.draw(st.sampled_from("x0 é").filter(lambda sign: sign != line[place]))
            changed = line[:place] + other + line[place + 1 :]
            old = rows[drawn]
            rows[drawn] = EntryRow(old.seq, old.kind, old.key, old.question, changed, old.head)
        case "head":
            old = rows[drawn]
            rows[drawn] = EntryRow(old.seq, old.kind, old.key, old.question, old.line, "0" * 64)
        case "out":
            if drawn == len(rows) - 1:
                return  # the last entry is missed by whoever holds a receipt for it
            del rows[drawn]
        case "swap":
            other = (drawn + 1) % len(rows)
            rows[drawn], rows[other] = rows[other], rows[drawn]
        case "seq":
            old = rows[drawn]
            rows[drawn] = EntryRow(old.seq + 1, old.kind, old.key, old.question, old.line, old.head)
    with pytest.raises(DamagedLedger):
        replayed(rows)


# --- checkpoints --------------------------------------------------------------------------------


@st.composite
def histories(draw):
    """A ledger of some accounts and charges, whatever fitted."""
    relation = draw(st.sampled_from(["add_remove", "replace", "either"]))
    ledger = Written(relation, **draw(st.sampled_from([{"epsilon": 2}, {"rho": "0.2"}])))
    limit = Budget(epsilon=1)
    for number in range(draw(st.integers(0, 12))):
        match draw(st.sampled_from(["charge", "charge", "charge", "account", "raise", "start"])):
            case "charge":
                path = draw(st.sampled_from(sorted(ledger.state.accounts)))
                what = draw(st.sampled_from([ONE, WARDS]))
                scope = draw(st.sampled_from(SCOPES))
                with contextlib.suppress(OverBudget):
                    ledger.charge(f"k{number}", what, path=path, scope=scope)
            case "account":
                below = draw(st.sampled_from(sorted(ledger.state.accounts)))
                if below.count("/") < 3:
                    budget = draw(st.sampled_from([None, Budget(epsilon="0.5"), Budget(rho="0.1")]))
                    ledger.account(f"{below}/{number}", budget)
            case "raise":
                if ledger.state.opening.budget.currency == limit.currency:
                    budget = Budget(epsilon=3 + number)
                    ledger.add(RaiseEntry(account="data", budget=budget, **PEOPLE))
            case "start":
                ledger.add(StartEntry(key=f"k{number}", attempt=1))
    return ledger


@pytest.mark.theorem("checkpoint-replay")
@given(histories())
@settings(max_examples=60)
def test_a_checkpoint_and_the_rest_come_to_what_all_entries_come_to(ledger):
    whole = replayed(ledger.rows)
    assert whole.written() == ledger.state.written()
    for number in range(len(ledger.rows) + 1):
        kept = replayed(ledger.rows[:number]).written()
        state = replayed(ledger.rows[number:], LedgerState.read(kept))
        assert state.written() == whole.written()
        assert (state.seq, state.head) == (whole.seq, whole.head)
        assert dict(state.accounts) == dict(whole.accounts)
        assert all(
            state.limited_accounts(path) == whole.limited_accounts(path) for path in whole.accounts
        )


@pytest.mark.theorem("checkpoint-replay")
@given(histories(), st.sampled_from([ONE, WARDS]), st.sampled_from(SCOPES))
@settings(max_examples=40)
def test_a_state_that_was_read_decides_as_the_one_that_was_written(ledger, what, scope):
    read = LedgerState.read(ledger.state.written())
    for path in ledger.state.accounts:
        for account in ledger.state.limited_accounts(path):
            one, other = ledger.state.filter_of(account), read.filter_of(account)
            pieces = one.pieces(what, scope=scope)
            assert one.fits(pieces) == other.fits(pieces)
            assert one.left(scope).amounts == other.left(scope).amounts


def kept_by(ledger):
    disk = Disk()
    store = DiskStore(disk)
    made(store)
    disk.rows = list(ledger.rows)
    disk.kept = (ledger.state.seq, ledger.state.written())
    return disk, store


@pytest.mark.parametrize(
    "damage",
    [
        lambda seq, text: (seq, ""),
        lambda seq, text: (seq, text[:-1]),
        lambda seq, text: (seq, text.replace('"charges":1', '"charges":0')),
        lambda seq, text: (seq, forged(text, '"charges":1', '"charge":1')),
        lambda seq, text: (seq, forged(text, '"version":1}', '"version":2}')),
        lambda seq, text: (seq, forged(text, f'"seq":{seq}', f'"seq":"{seq}"')),
        lambda seq, text: (seq, forged(text, f'"seq":{seq}', f'"seq":{seq + 1}')),
        lambda seq, text: (seq, forged(text, f'"seq":{seq}', f'"seq":{seq - 1}')),
        lambda seq, text: (seq, text + "é"),
        lambda seq, text: (seq - 1, text),
        lambda seq, text: (seq, LedgerState().written()),
        lambda seq, text: (seq, "[" * 100_000),
    ],
)
def test_any_other_checkpoint_is_passed_over(damage):
    ledger = tree()
    ledger.charge("k")
    disk, store = kept_by(ledger)
    disk.kept = damage(*disk.kept)
    state = restore_state(store)
    assert state.seq == 0
    assert list(catch_up(state, store)) == [1, 2, 3, 4, 5]
    assert state.written() == ledger.state.written()


def test_a_checkpoint_ahead_of_the_entries_is_proof_of_loss():
    ledger = tree()
    ledger.charge("k")
    for kept in (lambda text: text, lambda _: "garbage"):
        disk, store = kept_by(ledger)
        disk.kept = (ledger.state.seq, kept(ledger.state.written()))
        disk.rows.pop()
        with pytest.raises(DamagedLedger, match="missing"):
            restore_state(store)


def forged(text, old, new):
    """Change a checkpoint, and give it the digest of what it says now."""
    rest = text.partition("\n")[2]
    assert old in rest
    changed = rest.replace(old, new)
    return f"{digest(changed.encode('ascii', 'replace'))}\n{changed}"


def test_a_checkpoint_of_another_chain_is_passed_over():
    ledger, other = tree(), tree()
    ledger.charge("k")
    other.charge("l")
    disk, store = kept_by(ledger)
    disk.kept = kept_by(other)[0].kept
    assert restore_state(store).seq == 0


def test_a_state_does_not_follow_an_older_or_another_chain():
    ledger, other = tree(), tree()
    ledger.charge("k")
    other.charge("l")
    disk, store = kept_by(ledger)
    state = replayed(ledger.rows)
    for rows in (ledger.rows[:-1], other.rows, []):
        disk.rows = list(rows)
        with pytest.raises(DamagedLedger):
            list(catch_up(state, store))
    disk.rows = list(ledger.rows)
    assert list(catch_up(state, store)) == []
