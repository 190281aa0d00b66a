"""Many callers of one ledger: one commit for all that wait, and nothing told before it."""

import linecache
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from chaos.stores import Wrapped, wrapped
from discreet.accounting import Budget
from discreet.errors import KeyReused, LedgerUnavailable, NotCharged, OverBudget
from discreet.ledger import Ledger
from discreet.loss import Pure
from discreet.units import row

TERMS = {"unit": row(), "budget": Budget(epsilon=1)}


def lost():
    return LedgerUnavailable(what="the disk is gone.", why="a test.", do="nothing.")


class Slow(Wrapped):
    """A store whose steps can be held up, or fail."""

    def __init__(self, store):
        super().__init__(store)
        self.commits = 0
        self.gates, self.passing, self.failing = {}, {}, {}

    def at(self, step):
        if self.passing.get(step):
            self.passing[step] -= 1
        elif step in self.gates:
            self.gates[step].wait(20)
        if self.failing.get(step):
            raise self.failing[step].pop()

    @contextmanager
    def exclusive(self):
        self.at("begin")
        with self.store.exclusive():
            yield
            self.at("commit")
        self.commits += 1
        self.at("committed")

    def append(self, rows):
        self.store.append(rows)
        self.at("append")


@pytest.fixture
def opened(tmp_path):
    """A ledger, and its store."""
    stores = []
    with wrapped(lambda store: stores.append(Slow(store)) or stores[-1]):
        ledger = Ledger.open(tmp_path / "study.ledger", **TERMS, timeout=20)
    yield ledger, stores[0]
    for gate in stores[0].gates.values():
        gate.set()
    ledger.close()


def charge(key, epsilon="0.1"):
    return lambda ledger: ledger.charge(Pure(epsilon=epsilon), key=key)


class Caller(threading.Thread):
    """Somebody who asks, and what came of it."""

    def __init__(self, ledger, use):
        super().__init__()
        self.ledger, self.use = ledger, use
        self.told = self.error = None
        self.start()

    def run(self):
        try:
            self.told = self.use(self.ledger)
        except Exception as error:  # noqa: BLE001
            self.error = error


def held(opened, uses):
    """Have callers wait for one batch: a first one is held up in its commit meanwhile."""
    ledger, store = opened
    gate = store.gates["commit"] = threading.Event()
    callers = [Caller(ledger, lambda each: each.describe("nothing", {}))]
    for use in uses:
        time.sleep(0.05)  # so that they come in order
        callers.append(Caller(ledger, use))
    time.sleep(0.1)
    return gate, callers


def finish(gate, callers):
    gate.set()
    for caller in callers:
        caller.join(20)
        assert not caller.is_alive()


def keys(ledger):
    return [entry["key"] for entry in ledger.entries() if entry["kind"] == "charge"]


def test_all_that_wait_share_a_commit(opened):
    store = opened[1]
    gate, callers = held(opened, [charge(f"k{number}", "0.01") for number in range(20)])
    finish(gate, callers)
    assert store.commits == 2
    assert [caller.told.seq for caller in callers[1:]] == list(range(3, 23))


def test_nobody_is_told_before_the_commit(opened):
    store = opened[1]
    gate, callers = held(opened, [charge("a"), charge("b", "5"), lambda each: each.start("no")])
    store.passing["committed"] = 1
    second = store.gates["committed"] = threading.Event()
    finish(gate, callers[:1])
    while store.commits < 2:
        time.sleep(0.01)
    time.sleep(0.05)
    assert all(caller.told is None and caller.error is None for caller in callers[1:])
    finish(second, callers)
    assert callers[1].told.new
    assert isinstance(callers[2].error, OverBudget)
    assert isinstance(callers[3].error, NotCharged)


def test_a_step_sees_what_came_before_it_in_the_batch(opened):
    uses = [
        charge("a", "0.6"),
        charge("b", "0.6"),
        charge("a", "0.6"),
        charge("a", "0.1"),
        lambda each: each.start("a"),
        lambda each: each.release("a", b"first"),
        lambda each: each.release("a", b"second"),
    ]
    gate, callers = held(opened, uses)
    finish(gate, callers)
    _, a, b, same, other, start, release, late = callers
    assert (a.told.new, same.told.new) == (True, False)
    assert same.told.receipt == a.told.receipt
    assert isinstance(b.error, OverBudget)
    assert isinstance(other.error, KeyReused)
    assert start.told.attempt == 1
    assert release.told.answer == late.told.answer == b"first"
    assert (release.told.replayed, late.told.replayed) == (False, True)


@pytest.mark.parametrize("step", ["begin", "append", "commit"])
def test_if_nothing_was_written_everybody_is_told_and_nothing_is_spent(opened, step):
    ledger, store = opened
    ledger.charge(Pure(epsilon="0.1"), key="before")
    gate, callers = held(opened, [charge("a", "0.5"), charge("b", "2")])
    store.failing[step] = [lost(), lost()] if step == "commit" else [lost()]
    finish(gate, callers)
    del store.gates["commit"]
    assert all(isinstance(caller.error, LedgerUnavailable) for caller in callers[1:])
    assert keys(ledger) == ["before"]
    assert charge("a", "0.5")(ledger).new
    assert charge("c", "0.4")(ledger).new
    with pytest.raises(OverBudget):
        charge("d", "0.01")(ledger)


def test_if_it_was_written_after_all_the_state_is_that_of_the_disk(opened):
    ledger, store = opened
    store.failing["committed"] = [lost()]
    with pytest.raises(LedgerUnavailable):
        charge("a", "0.5")(ledger)
    assert not charge("a", "0.5")(ledger).new
    with pytest.raises(OverBudget):
        charge("b", "0.6")(ledger)
    assert charge("c", "0.5")(ledger).new


# --- interrupts -----------------------------------------------------------------------------------


@pytest.fixture
def interrupts():
    """Hear of interrupts, which a shell tells programs in the background to ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize("step", ["waiting", "commit", "committed"])
def test_an_interrupt_locks_nobody_out_and_what_the_disk_has_counts(opened, step):
    ledger, store = opened
    gate = store.gates["commit" if step == "waiting" else step] = threading.Event()
    callers = [Caller(ledger, charge("first"))] if step == "waiting" else []
    time.sleep(0.1)
    alarm = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    follower = threading.Timer(0.1, lambda: callers.append(Caller(ledger, charge("b"))))
    alarm.start()
    follower.start()
    with pytest.raises(KeyboardInterrupt):
        charge("a")(ledger)
    alarm.join()
    follower.join()
    finish(gate, callers)
    assert all(caller.error is None and caller.told.new for caller in callers)
    assert charge("a")(ledger).new == (step != "committed")
    assert sorted(keys(ledger)) == sorted({*keys(ledger)})


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
    ("interrupt", "install", "before"),
    [
        (InterruptAtLine, sys.settrace, sys.gettrace),
        (InterruptAfterCall, sys.setprofile, sys.getprofile),
    ],
)
@pytest.mark.parametrize("use", ["charge", "left"])
def test_wherever_an_interrupt_comes_a_key_is_paid_once_and_others_are_served(
    tmp_path, interrupt, install, before, use
):
    """Also after the call that takes a lock."""
    previous, kept, path = before(), [], tmp_path / "ledger"
    with Ledger.open(path, **TERMS, timeout=0.5) as ledger:
        for number in range(1000):
            install(interrupt(number))
            try:
                if use == "charge":
                    charge(f"k{number}", "1e-6")(ledger)
                else:
                    ledger.left()
                break
            except (KeyboardInterrupt, LedgerUnavailable) as error:
                kept.append(error)  # as an interactive interpreter keeps the last error
            finally:
                install(previous)
            other = Caller(ledger, charge(f"k{number}", "1e-6"))
            other.join(20)
            assert (other.is_alive(), other.error) == (False, None), number
        assert number > 1
        paid = keys(ledger)
        assert len(paid) == len({*paid}) == number + (use == "charge")
