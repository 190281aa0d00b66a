"""The connection: one commit for all that wait, nothing told before it, memory as disk says."""

import linecache
import os
import signal
import sys
import threading
import time

import pytest

from discreet.accounting import Budget
from discreet.accounting.requests import RequestPricer
from discreet.errors import (
    DamagedLedger,
    KeyReused,
    LedgerUnavailable,
    NotALedger,
    NotCharged,
    OutOfRange,
    OverBudget,
)
from discreet.ledger import connection as module
from discreet.ledger.connection import LedgerConnection
from discreet.ledger.entries import AccountEntry, RaiseEntry
from discreet.ledger.requests import (
    AccountRequest,
    ChargeRequest,
    Pricer,
    RaiseRequest,
    ReleaseRequest,
    SnapshotRequest,
    StartRequest,
)
from discreet.ledger.state import LedgerState
from discreet.ledger.values import Account, OpeningTerms
from discreet.loss import Pure
from discreet.units import row
from tests.ledger.disk import Disk, DiskStore, lost
from tests.ledger.processes import forked

TERMS = OpeningTerms(unit=row(), budget=Budget(epsilon=1))
PRICER = Pricer(RequestPricer(unit=row()))
ACCOUNTS = {"data": Account("data", TERMS.budget)}


class Steps:
    """A place to stand in the way of a store: steps can be held up, or fail."""

    def __init__(self):
        self.seen = []
        self.failing = {}
        self.gates = {}
        self.passing = {}

    def __call__(self, step):
        self.seen.append(step)
        if self.passing.get(step):
            self.passing[step] -= 1
        elif step in self.gates:
            self.gates[step].wait(20)
        if self.failing.get(step):
            raise self.failing[step].pop()

    def hold(self, step, *, passing=0):
        self.gates[step] = threading.Event()
        self.passing[step] = passing
        return self.gates[step]


@pytest.fixture
def steps():
    return Steps()


@pytest.fixture
def disk():
    return Disk()


@pytest.fixture
def interrupts():
    """Hear of interrupts, which a shell tells programs in the background to ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def writer(disk, steps):
    made = connected(disk, steps)
    yield made
    for gate in steps.gates.values():
        gate.set()
    made.close()


def connected(disk, steps=lambda step: None, *, timeout=20):
    return LedgerConnection(DiskStore(disk, steps), TERMS, timeout=timeout)


def hasty(disk, steps):
    """A connection whose callers do not wait for long, once it is open."""
    writer = connected(disk, steps)
    writer._timeout = 0.3
    return writer


def charge(key, epsilon="0.1"):
    priced = PRICER.price(Pure(epsilon=epsilon), ACCOUNTS, "data", scope=None, delta=None)
    return ChargeRequest(priced.charge(key, ""), priced)


class Caller(threading.Thread):
    """Somebody who asks, and what came of it."""

    def __init__(self, writer, request):
        super().__init__()
        self.writer, self.request = writer, request
        self.told = self.error = None
        self.start()

    def run(self):
        try:
            self.told = self.writer.call(self.request)
        except Exception as error:  # noqa: BLE001
            self.error = error


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


class Nothing:
    """A request that takes its turn and appends nothing."""

    keys = ()

    def act(self, batch):
        return batch.state.seq


def held(writer, steps, requests):
    """Have requests wait for one batch: a first one is held up in its commit meanwhile."""
    gate = steps.hold("commit")
    first = Caller(writer, Nothing())
    until(lambda: steps.seen[-1:] == ["commit"])
    callers = []
    for request in requests:
        callers.append(Caller(writer, request))
        until(lambda: len(writer._waiting) == len(callers))
    return gate, [first, *callers]


def finish(gate, callers):
    gate.set()
    for caller in callers:
        caller.join(20)
        assert not caller.is_alive()


# --- batches ------------------------------------------------------------------------------------


def test_all_that_wait_share_a_commit(writer, steps, disk):
    gate, callers = held(writer, steps, [charge(f"k{number}", "0.01") for number in range(40)])
    before = disk.commits
    finish(gate, callers)
    assert disk.commits == before + 2
    assert [caller.told.seq for caller in callers[1:]] == list(range(2, 42))
    assert [row.seq for row in disk.rows] == list(range(1, 42))


def test_nobody_is_told_before_the_commit(writer, steps, disk):
    gate, callers = held(writer, steps, [charge("a"), charge("b", "5"), StartRequest("no")])
    second = steps.hold("committed", passing=1)
    gate.set()
    until(lambda: len(disk.rows) == 2)
    time.sleep(0.05)
    assert all(caller.told is None and caller.error is None for caller in callers[1:])
    finish(second, callers)
    assert callers[1].told.new
    assert isinstance(callers[2].error, OverBudget)
    assert isinstance(callers[3].error, NotCharged)


def test_a_request_sees_what_came_before_it_in_the_batch(writer, steps):
    requests = [
        charge("a", "0.6"),
        charge("b", "0.6"),
        charge("c", "0.4"),
        charge("a", "0.6"),
        charge("a", "0.1"),
        StartRequest("a"),
        ReleaseRequest("c", b"too early"),
        ReleaseRequest("a", b"first"),
        ReleaseRequest("a", b"second"),
        StartRequest("a"),
    ]
    gate, callers = held(writer, steps, requests)
    finish(gate, callers)
    _, a, b, c, same, other, start, early, release, late, again = callers
    assert (a.told.new, c.told.new, same.told.new) == (True, True, False)
    assert same.told.receipt == a.told.receipt
    assert isinstance(b.error, OverBudget)
    assert isinstance(other.error, KeyReused)
    assert start.told.attempt == 1
    assert isinstance(early.error, NotCharged)
    assert release.told.answer == late.told.answer == again.told.answer == b"first"
    assert (release.told.replayed, late.told.replayed, again.told.replayed) == (False, True, True)


def test_a_refusal_writes_nothing(writer, disk):
    before = list(disk.rows)
    written = disk.written
    with pytest.raises(OverBudget):
        writer.call(charge("a", "1.1"))
    with pytest.raises(NotCharged):
        writer.call(StartRequest("a"))
    writer.call(Nothing())
    assert disk.rows == before
    assert disk.written == written


def test_at_most_so_many_requests_share_a_commit(writer, steps, monkeypatch, disk):
    monkeypatch.setattr(module, "_MOST", 3)
    gate, callers = held(writer, steps, [charge(f"k{number}", "0.01") for number in range(7)])
    before = disk.commits
    finish(gate, callers)
    assert disk.commits == before + 4
    assert all(caller.told.new for caller in callers[1:])


# --- other processes ----------------------------------------------------------------------------


def test_entries_of_others_count_before_anything_is_accepted(writer, disk):
    other = connected(disk)
    other.call(charge("theirs", "0.7"))
    with pytest.raises(OverBudget):
        writer.call(charge("ours", "0.4"))
    assert not writer.call(charge("theirs", "0.7")).new
    writer.call(charge("ours", "0.3"))
    with pytest.raises(OverBudget):
        other.call(charge("more", "0.1"))
    other.call(AccountRequest(AccountEntry(account="data/flu", budget=None, by="ana")))
    assert sorted(writer.call(SnapshotRequest()).accounts) == ["data", "data/flu"]
    other.close()


def test_a_store_that_went_back_is_noticed(writer, disk):
    writer.call(charge("a"))
    rows = disk.rows
    disk.rows = rows[:-1]
    with pytest.raises(DamagedLedger):
        writer.call(charge("b"))
    disk.rows = rows
    assert writer.call(charge("b")).seq == 3


# --- commits that fail --------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["begin", "rows", "append", "commit"])
def test_if_nothing_was_written_everybody_is_told_and_nothing_is_spent(writer, steps, disk, step):
    writer.call(charge("before"))
    gate, callers = held(writer, steps, [charge("a", "0.5"), charge("b", "2"), StartRequest("c")])
    steps.failing[step] = [lost()]
    if step == "commit":
        steps.failing[step].append(lost())
    finish(gate, callers)
    assert all(isinstance(caller.error, LedgerUnavailable) for caller in callers[1:])
    assert len(disk.rows) == 2
    assert writer.call(charge("a", "0.5")).new
    assert writer.call(charge("c", "0.4")).new
    with pytest.raises(OverBudget):
        writer.call(charge("d", "0.01"))


def test_if_it_was_written_after_all_the_state_is_that_of_the_disk(writer, steps, disk):
    writer.call(charge("before"))
    steps.failing["committed"] = [lost()]
    with pytest.raises(LedgerUnavailable):
        writer.call(charge("a", "0.5"))
    assert len(disk.rows) == 3
    assert not writer.call(charge("a", "0.5")).new
    with pytest.raises(OverBudget):
        writer.call(charge("b", "0.5"))
    assert writer.call(charge("c", "0.4")).new


def test_a_store_that_does_not_open_again_is_tried_again(writer, steps):
    writer.call(charge("a"))
    steps.failing["append"] = [lost()]
    with pytest.raises(LedgerUnavailable):
        writer.call(charge("b"))
    assert writer._state is None
    assert not writer._store.opened
    steps.failing["open"] = [lost()]
    with pytest.raises(LedgerUnavailable):
        writer.call(charge("b"))
    assert writer.call(charge("b")).seq == 3


def test_each_caller_has_an_error_of_its_own(writer, steps):
    gate, callers = held(writer, steps, [charge("a"), charge("b")])
    steps.gates.pop("commit")
    steps.failing["append"] = [lost()]
    finish(gate, callers)
    errors = [caller.error for caller in callers[1:]]
    assert all(isinstance(error, LedgerUnavailable) for error in errors)
    assert errors[0] is not errors[1]


def test_an_entry_that_cannot_be_applied_spoils_its_batch(writer, disk, steps, monkeypatch):
    gate, callers = held(writer, steps, [charge("a"), charge("b"), charge("c")])
    real = LedgerState.apply

    def failing(self, entry, seq, head):
        if entry.key == "b":
            self._filters["data"].add(entry.pieces[0][1])  # half of it is done
            raise MemoryError
        real(self, entry, seq, head)

    monkeypatch.setattr(LedgerState, "apply", failing)
    finish(gate, callers)
    assert all(isinstance(caller.error, LedgerUnavailable) for caller in callers[1:])
    assert isinstance(callers[1].error.__cause__, MemoryError)
    assert len(disk.rows) == 1
    monkeypatch.undo()
    assert writer.call(charge("b")).new
    assert writer._state.filter_of("data").spent == (10**23, 0)


def test_a_raise_that_is_none_is_for_one_caller_alone(writer, steps):
    people = {"reason": "none", "by": "ana", "approved_by": "ben"}
    lower = RaiseRequest(RaiseEntry(account="data", budget=Budget(epsilon="0.5"), **people))
    gate, callers = held(writer, steps, [charge("a"), lower, charge("b")])
    finish(gate, callers)
    assert callers[1].told.new
    assert callers[3].told.new
    assert isinstance(callers[2].error, OutOfRange)


def test_an_error_while_checking_is_for_one_caller_alone(writer, steps):
    class Strange:
        keys = ()

        def act(self, batch):
            raise RuntimeError("of its own")

    gate, callers = held(writer, steps, [charge("a"), Strange(), charge("b")])
    finish(gate, callers)
    assert callers[1].told.new
    assert callers[3].told.new
    assert isinstance(callers[2].error, RuntimeError)


# --- checkpoints --------------------------------------------------------------------------------


def test_checkpoints_are_kept_along_the_way_and_at_the_end(disk, steps, monkeypatch):
    monkeypatch.setattr(module, "_KEPT_EVERY", 5)
    writer = connected(disk, steps)
    for number in range(12):
        writer.call(charge(f"k{number}", "0.01"))
    assert disk.kept[0] == 10
    writer.close()
    assert disk.kept[0] == 13
    state = LedgerState()
    for entry in disk.rows:
        state.apply_row(entry)
    assert disk.kept[1] == state.written()
    before = disk.written
    again = connected(disk, steps)
    assert again._state.written() == state.written()
    again.close()
    assert disk.written == before


def test_a_connection_that_starts_from_a_checkpoint_reads_only_what_follows(disk, monkeypatch):
    writer = connected(disk)
    for number in range(5):
        writer.call(charge(f"k{number}"))
    writer.close()
    followed, real = [], LedgerState.apply_row
    monkeypatch.setattr(
        LedgerState, "apply_row", lambda s, r: (followed.append(r.seq), real(s, r))[1]
    )
    other = connected(disk)
    with pytest.raises(OverBudget):
        other.call(charge("more", "0.6"))
    other.call(charge("more", "0.5"))
    other.close()
    assert followed == []


# --- waiting ------------------------------------------------------------------------------------


def test_a_request_that_was_not_taken_in_time_is_withdrawn(disk, steps):
    writer = hasty(disk, steps)
    gate, callers = held(writer, steps, [])
    with pytest.raises(LedgerUnavailable) as error:
        writer.call(charge("a"))
    assert "same key" in error.value.do
    writer._timeout = 20
    finish(gate, callers)
    assert writer.call(SnapshotRequest()).receipt.seq == 1
    assert writer.call(charge("a")).new
    writer.close()


def told_or_interrupted(writer, request):
    try:
        return writer.call(request)
    except KeyboardInterrupt:
        return None


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_ends_the_waiting_and_withdraws_the_request(writer, steps, disk):
    gate, callers = held(writer, steps, [])
    alarm = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    alarm.start()
    assert told_or_interrupted(writer, charge("a")) is None
    alarm.join()
    finish(gate, callers)
    assert writer.call(SnapshotRequest()).receipt.seq == 1
    assert writer.call(charge("a")).new


@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize("step", ["rows", "commit", "committed"])
def test_an_interrupt_of_who_leads_is_told_to_all_and_nobody_waits_for_ever(
    writer, steps, disk, step
):
    """What the disk has counts, and each of them finds it by asking again."""
    gate = steps.hold(step)
    alarm = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    alarm.start()
    follower = threading.Timer(0.1, lambda: callers.append(Caller(writer, charge("b"))))
    callers = []
    follower.start()
    assert told_or_interrupted(writer, charge("a")) is None
    alarm.join()
    follower.join()
    finish(gate, callers)
    assert callers[0].error is None
    assert callers[0].told.new
    assert writer.call(charge("a")).new == (step != "committed")
    assert sorted(row.key for row in disk.rows[1:]) == ["a", "b"]


class InterruptAtLine:
    """Raise KeyboardInterrupt before some line of the connection in this thread."""

    def __init__(self, number):
        self.left = number

    def __call__(self, frame, event, _):
        if not frame.f_code.co_filename.endswith("ledger/connection.py"):
            return None
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        bare = line == "try:" or line.startswith(("with ", "finally", "self._turn.release"))
        if event == "line" and not bare:  # Python handles signals after calls
            self.left -= 1
            if self.left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def test_wherever_an_interrupt_comes_a_key_is_paid_once_and_the_next_request_is_served(
    writer, disk
):
    before = sys.gettrace()
    for number in range(1000):
        sys.settrace(InterruptAtLine(number))
        try:
            writer.call(charge(f"k{number}", "1e-6"))
            break
        except (KeyboardInterrupt, LedgerUnavailable):
            pass
        finally:
            sys.settrace(before)
        assert writer.call(charge(f"k{number}", "1e-6")).key == f"k{number}"
    assert number > 20
    keys = [row.key for row in disk.rows[1:]]
    assert len(keys) == len({*keys}) == number + 1


# --- opening and closing ------------------------------------------------------------------------


def test_what_opening_fails_with_is_told(disk):
    with pytest.raises(NotALedger):
        LedgerConnection(DiskStore(disk), OpeningTerms(), timeout=20)


def test_a_closed_connection_serves_nobody(writer):
    writer.close()
    writer.close()
    for request in (SnapshotRequest(), charge("a")):
        with pytest.raises(LedgerUnavailable, match="closed"):
            writer.call(request)
    with pytest.raises(LedgerUnavailable, match="closed"):
        writer.read(lambda store: store.first_answer("q"))


def test_a_connection_closes_however_much_is_asked(disk):
    writer = connected(disk)

    def ask():
        while True:
            try:
                writer.call(Nothing())
            except LedgerUnavailable:
                return

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    writer.close()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def test_a_forked_process_is_refused(writer):
    def refused():
        for work in (lambda: writer.call(charge("a")), lambda: writer.read(lambda store: store)):
            with pytest.raises(LedgerUnavailable, match="forked"):
                work()
        writer.close()

    assert os.waitpid(forked(refused), 0)[1] == 0
    assert writer.call(charge("a")).new


def test_a_store_that_has_lost_an_entry_is_refused_however_often_it_is_asked(writer, disk):
    writer.call(charge("a"))
    writer.call(charge("b"))
    last = disk.rows.pop()
    for key in ("b", "c", "d"):
        with pytest.raises(DamagedLedger):
            writer.call(charge(key))
    disk.rows.append(last)
    assert not writer.call(charge("b")).new
    assert [row.key for row in disk.rows] == [None, "a", "b"]
