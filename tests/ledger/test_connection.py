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
    KeyReused,
    LedgerUnavailable,
    NotCharged,
    OverBudget,
)
from discreet.ledger.connection import LedgerConnection
from discreet.ledger.entries import AccountEntry
from discreet.ledger.requests import (
    AccountRequest,
    ChargeRequest,
    Pricer,
    ReleaseRequest,
    SnapshotRequest,
    StartRequest,
)
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
        bare = line == "try:" or line.startswith(
            ("with ", "finally", "if True in taken", "self._turn.release")
        )
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


class InterruptAfterCall:
    """Raise KeyboardInterrupt after some call of C code: Python hears of signals there."""

    def __init__(self, number):
        self.left = number

    def __call__(self, frame, event, _):
        named = frame.f_code.co_filename.endswith(("ledger/connection.py", "/threading.py"))
        if named and event == "c_return":
            self.left -= 1
            if self.left < 0:
                sys.setprofile(None)
                raise KeyboardInterrupt


@pytest.mark.parametrize(
    "use",
    [
        lambda writer: writer.call(charge("a", "1e-6")),
        lambda writer: writer.call(SnapshotRequest()),
        lambda writer: writer.read(lambda store: next(store.rows(0))),
    ],
    ids=["charging", "looking", "reading"],
)
def test_whichever_call_an_interrupt_follows_nobody_holds_the_ledger_afterwards(disk, steps, use):
    """Also where the call is the one that takes the lock."""
    before = sys.getprofile()
    kept = []  # as an interactive interpreter keeps the last error, with all its frames
    writer = LedgerConnection(DiskStore(disk, steps), TERMS, timeout=0.5)
    for number in range(1000):
        sys.setprofile(InterruptAfterCall(number))
        try:
            use(writer)
            break
        except (KeyboardInterrupt, LedgerUnavailable) as error:
            kept.append(error)
        finally:
            sys.setprofile(before)
        other = Caller(writer, charge("b", "1e-6"))
        other.join(20)
        assert (other.is_alive(), other.error) == (False, None), number
    assert number > 3
    writer.close()


# --- opening and closing ------------------------------------------------------------------------


def test_a_closed_connection_serves_nobody(writer):
    writer.close()
    writer.close()
    for request in (SnapshotRequest(), charge("a")):
        with pytest.raises(LedgerUnavailable, match="closed"):
            writer.call(request)
    with pytest.raises(LedgerUnavailable, match="closed"):
        writer.read(lambda store: store.first_answer("q"))


def test_a_forked_process_is_refused(writer):
    def refused():
        for work in (lambda: writer.call(charge("a")), lambda: writer.read(lambda store: store)):
            with pytest.raises(LedgerUnavailable, match="forked"):
                work()
        writer.close()

    assert os.waitpid(forked(refused), 0)[1] == 0
    assert writer.call(charge("a")).new
