"""A ledger does what the model does, however its uses, crashes and copies follow each other."""

import shutil
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from chaos.stores import copies_pass
from discreet.accounting import Box, Budget, equals, one_of
from discreet.accounting.amounts import amount_up
from discreet.accounting.currencies import with_delta
from discreet.errors import (
    KeyReused,
    NotCharged,
    OtherLedger,
    OutOfRange,
    OverBudget,
    Tampered,
)
from discreet.ledger import Ledger, StoredAnswer
from discreet.loss import ZeroConcentrated
from discreet.units import row
from tests.ledger.model import HOLDS, Model, Refused, Request

SCOPES = {
    "everybody": None,
    "group 0": Box({"group": equals(0)}),
    "group 1 or 2": Box({"group": one_of(1, 2)}),
    "not group 0": Box({"group": ~equals(0)}),
    "site 1": Box({"site": equals(1)}),
    "group 0, site 1": Box({"group": equals(0), "site": equals(1)}),
    "group 1, site 0": Box({"group": equals(1), "site": equals(0)}),
    "nobody": Box({"group": one_of()}),
}
ERRORS = {
    "over": OverBudget,
    "reused": KeyReused,
    "not charged": NotCharged,
    "other": OtherLedger,
    "parent": OutOfRange,
    "not higher": OutOfRange,
    "nobody": OutOfRange,
}
MICRO = Fraction(1, 10**6)
PRICES = [
    (Fraction(1, 4), 0 * MICRO),
    (Fraction(3, 10), 0 * MICRO),
    (Fraction(1, 8), MICRO),
    (Fraction(1), 0 * MICRO),
]
LIMITS = [(Fraction(1), 2 * MICRO), (Fraction(1, 2), 3 * MICRO), (Fraction(2), 3 * MICRO)]
ROOT = "data"
PATHS = [ROOT, "data/a", "data/a/x", "data/b"]
KEYS = ["k1", "k2", "n0", "n1"]
QUESTIONS = ["", "q1", "q2"]
MEMORY = Path("/dev/shm")  # noqa: S108  (a sync costs nothing there)
PEOPLE = {"by": "ana", "approved_by": "ben"}

either = strategies.sampled_from([0, 1])
keys = strategies.sampled_from([*KEYS, *QUESTIONS[1:]])
paths = strategies.sampled_from(PATHS)
limits = strategies.sampled_from(LIMITS)
requests = strategies.builds(
    Request,
    account=paths,
    price=strategies.sampled_from(PRICES),
    scope=strategies.sampled_from(sorted(HOLDS)),
    question=strategies.sampled_from(QUESTIONS),
)


def budget(limit):
    return None if limit is None else Budget(rho=limit[0], delta=limit[1])


def loss(price):
    return with_delta(ZeroConcentrated(rho=price[0]), price[1])


def quanta(pair):
    return tuple(amount_up(part) for part in pair)


class Uses(RuleBasedStateMachine):
    """Two ledgers on one file, the model, and what was seen so far."""

    @initialize(limit=limits)
    def begin(self, limit):
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.copies = 0
        self.opened = []
        self.receipts = []
        self.exports = []
        self.model = Model({ROOT: limit})
        self.go_on(self.place(), unit=row(), budget=budget(limit))

    def teardown(self):
        if not hasattr(self, "folder"):
            return
        try:
            self.everything_holds()
        finally:
            for ledger in self.opened:
                ledger.close()
            shutil.rmtree(self.folder)

    def place(self):
        self.copies += 1
        folder = self.folder / str(self.copies)
        folder.mkdir()
        return folder / "ledger"

    def go_on(self, path, **terms):
        """Go on with two new ledgers; others stay as they are, as after a crash."""
        self.path = path
        self.ledgers = [self.open(**terms), self.open()]

    def open(self, **terms):
        self.opened.append(Ledger.open(self.path, **terms))
        return self.opened[-1]

    def same(self, ours, model):
        """Do something with the ledger and with the model; both refuse, or both return."""
        try:
            expected = model()
        except Refused as refusal:
            with pytest.raises(ERRORS[refusal.why]):
                ours()
            return None, None
        return ours(), expected

    # --- uses -------------------------------------------------------------------------------

    @rule(which=either, path=strategies.sampled_from(PATHS[1:]), limit=limits | strategies.none())
    def open_account(self, which, path, limit):
        self.same(
            lambda: self.ledgers[which].open_account(path, budget=budget(limit), by="ana"),
            lambda: self.model.open_account(path, limit),
        )

    @rule(which=either, path=paths, limit=limits)
    def raise_limit(self, which, path, limit):
        if path not in self.model.limits:
            return
        self.same(
            lambda: self.ledgers[which].raise_limit(
                path, budget=budget(limit), reason="more people", **PEOPLE
            ),
            lambda: self.model.raise_limit(path, limit),
        )

    @rule(which=either, key=keys, request=requests)
    def charge(self, which, key, request):
        if request.account not in self.model.limits:
            return
        charged, new = self.same(
            lambda: self.ledgers[which].charge(
                loss(request.price),
                key=key,
                question=request.question,
                scope=SCOPES[request.scope],
                account=request.account,
            ),
            lambda: self.model.charge(key, request),
        )
        if charged is not None:
            assert charged.new == new
            assert (charged.key, charged.account) == (key, request.account)
            self.receipts.append(charged.receipt)

    @rule(which=either, asked=strategies.lists(requests, min_size=2, max_size=6))
    def ask(self, which, asked):
        """Ask under new keys, all three steps, by turns from both ledgers."""
        for number, request in enumerate(asked):
            key = f"n{len(self.model.charges)}"
            self.charge((which + number) % 2, key, request)
            if key in self.model.charges:
                self.start(which, key)
                self.release(which, key, bytes([number]))

    @precondition(lambda self: self.model.charges)
    @rule(which=either, number=strategies.integers(0, 30), other=strategies.none() | requests)
    def charge_again(self, which, number, other):
        """Ask under a key that is taken, for the same or for something else."""
        taken = list(self.model.charges)
        key = taken[number % len(taken)]
        self.charge(which, key, other or self.model.charges[key])

    @rule(which=either, key=keys)
    def start(self, which, key):
        begun, expected = self.same(
            lambda: self.ledgers[which].start(key), lambda: self.model.start(key)
        )
        if isinstance(begun, StoredAnswer):
            assert begun.replayed
            assert begun.answer == expected
        elif begun is not None:
            assert begun.attempt == expected

    @rule(which=either, key=keys, answer=strategies.binary(max_size=3))
    def release(self, which, key, answer):
        stored, expected = self.same(
            lambda: self.ledgers[which].release(key, answer),
            lambda: self.model.release(key, answer),
        )
        if stored is not None:
            assert stored.answer == expected
            assert stored.question == self.model.charges[key].question
            self.receipts.append(stored.receipt)

    @rule(which=either, question=strategies.sampled_from(QUESTIONS[1:]))
    def find(self, which, question):
        found = self.ledgers[which].find(question)
        assert (None if found is None else found.answer) == self.model.find(question)

    @rule(which=either, path=paths, scope=strategies.sampled_from(sorted({*HOLDS} - {"nobody"})))
    def left(self, which, path, scope):
        if path in self.model.limits:
            left = self.ledgers[which].left(SCOPES[scope], account=path)
            limited = [one for one in self.model.path(path) if self.model.limits[one]]
            assert left.amounts == quanta(self.model.left(limited[-1], scope))

    # --- crashes and copies -------------------------------------------------------------------

    @rule(which=either)
    def close(self, which):
        self.ledgers[which].close()
        self.ledgers[which] = self.open()

    @rule(which=either)
    def crash(self, which):
        """Forget a ledger without closing it."""
        self.ledgers[which] = self.open()

    @rule()
    def kill(self):
        """Go on with the files as they lie there, as if everybody had been killed."""
        self.go_on(self.copy())

    def copy(self):
        target = self.place()
        for name in ("ledger", "ledger-journal"):
            source = self.path.with_name(name)
            if source.exists():
                shutil.copy(source, target.with_name(name))
        return target

    @rule(which=either)
    def export(self, which):
        path = self.place().with_name("export")
        receipt = self.ledgers[which].backup(path)
        self.exports.append((path, self.model.copy(), receipt))

    @precondition(lambda self: self.exports)
    @rule(number=strategies.integers(0, 3), go_on=strategies.booleans())
    def restore(self, number, go_on):
        """Go back to an export: whoever holds a newer receipt can show it."""
        source, past, last = self.exports[number % len(self.exports)]
        newer = [one for one in self.receipts if one.seq > len(past.story)]
        older = [one for one in self.receipts if one.seq <= len(past.story)]
        people = {"reason": "the disk is gone", **PEOPLE}
        for receipt in newer[:2]:
            with pytest.raises(Tampered):
                Ledger.restore(self.place(), source, receipts=[receipt], **people)
        path = self.place()
        with Ledger.restore(path, source, receipts=older, last=last, **people) as back:
            assert back.verify(older).ok
            assert all(not back.verify([receipt]).ok for receipt in newer[:2])
        if go_on:
            self.exports = [
                export for export in self.exports if len(export[1].story) <= len(past.story)
            ]
            self.model, self.receipts = past.copy(), older
            self.model.story.append(("restore", ""))
            self.go_on(path)

    # --- what holds -----------------------------------------------------------------------------

    @invariant()
    def nobody_has_lost_too_much(self):
        if hasattr(self, "model"):
            for (account, _), pair in self.model.paid.items():
                limit = self.model.limits[account]
                assert limit is None or (pair[0] <= limit[0] and pair[1] <= limit[1])

    @rule()
    def everything_holds(self):
        """The record says what the model says, stands its check, and is read the same twice."""
        ledger = self.ledgers[0]
        named = {"charge": "key", "start": "key", "release": "key", "account": "account"}
        named["raise"] = "account"
        entries = list(ledger.entries())
        story = [(one["kind"], one.get(named.get(one["kind"], ""), "")) for one in entries]
        assert story == self.model.story
        report = ledger.verify(self.receipts)
        assert report.ok, report
        for standing in report.accounts:
            limit = self.model.limits[standing.account]
            if limit is not None:
                left = self.model.left(standing.account, "everybody")
                spent = (limit[0] - left[0], limit[1] - left[1])
                assert (standing.spent, standing.limit) == (quanta(spent), quanta(limit))
        for key, answer in self.model.answers.items():
            assert ledger.start(key).answer == answer
        with Ledger.open(self.path) as again:
            assert str(again) == str(ledger)


@pytest.fixture(scope="module", autouse=True)
def _copies():
    with copies_pass():
        yield


TestUses = Uses.TestCase
TestUses.settings = settings(max_examples=40, stateful_step_count=30)
