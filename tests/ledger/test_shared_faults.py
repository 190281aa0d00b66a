"""What befalls those who share a ledger: signals, forks, timeouts, restarts, and shortages.

Whatever it is, nobody takes the reply to another request for its own.
"""

import linecache
import os
import resource
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from discreet import errors
from discreet.accounting import Budget
from discreet.ledger import Ledger
from discreet.ledger.shared import WriterSocket, receive_message, send_message, shared_ledger
from discreet.ledger.values import Started
from discreet.loss import Pure
from discreet.units import row
from tests.ledger.programs import Program, run

ONE = Pure(epsilon="0.001")
SHARE = """
import resource
from pathlib import Path
from discreet.ledger.shared import shared_ledger
from discreet.ledger.shared import WriterSocket
ONE = Pure(epsilon="0.001")
"""
WRITER = f"""{SHARE}
threading.stack_size(256 << 20)  # so large that no stack is kept for the next thread
ledger = Ledger.open(place[0], unit=row(), budget=Budget(epsilon=1))
writer = WriterSocket(ledger, Path(place[1]))
say("up")
hear()
writer.close()
ledger.close()
"""


@pytest.fixture
def place(tmp_path):
    return tmp_path / "a.ledger", tmp_path / "w.sock"


class Heard:
    """What a writer has done, and a gate before the reply to one key."""

    def __init__(self):
        self.all, self.gate, self.waiting = [], threading.Event(), threading.Event()

    def __call__(self, who, verb, key):
        self.all.append((who, verb, key))
        if (verb, key) == ("start", "slow"):
            self.waiting.set()
            self.gate.wait(60)


@pytest.fixture
def written(place):
    heard = Heard()
    with Ledger.open(place[0], unit=row(), budget=Budget(epsilon=1)) as ledger:
        writer = WriterSocket(ledger, place[1], observer=heard)
        yield ledger, heard
        heard.gate.set()
        writer.close()


@pytest.fixture
def elsewhere(place):
    """A writer that is a process of its own."""
    with Program(WRITER, place=[str(each) for each in place]) as writer:
        assert writer.hear() == "up"
        yield writer.process.pid


def told(call, *arguments, **named):
    """Return what a call returns, or the kind of its error."""
    try:
        return call(*arguments, **named)
    except errors.DiscreetError as error:
        return type(error)


def words(call, *arguments):
    """Return what the error of a call says, or nothing."""
    try:
        call(*arguments)
    except errors.DiscreetError as error:
        return error.what
    return ""


def until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


# --- signals ------------------------------------------------------------------------------------


class InterruptAtLine:
    """Raise KeyboardInterrupt before some line of this thread in the room of shared ledgers.

    Python handles signals after calls, and so not at a bare "try", nor where a lock is released.
    """

    def __init__(self, number):
        self.left = number

    def __call__(self, frame, event, _):
        if not frame.f_code.co_filename.endswith("ledger/shared.py"):
            return None
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        if event == "line" and line not in {"try:", "with self._lock:"}:
            self.left -= 1
            if self.left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def test_a_reply_belongs_to_its_request_wherever_an_interrupt_comes(written, place):
    shared = shared_ledger(*place)
    before = sys.gettrace()
    for number in range(1000):
        sys.settrace(InterruptAtLine(number))
        try:
            shared.begin(ONE, key=f"interrupted {number}")
            break
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        assert told(shared.begin, ONE, key=str(number)) == Started(key=str(number), attempt=1)
        assert shared.start(f"{number}").attempt == 2
    assert number > 20
    shared.close()
    assert written[0].verify().ok


def test_a_refusal_after_ctrl_c_is_not_told_as_a_payment(place):
    """The signals come while the writer has recorded the charge and has not replied yet."""
    out = run(
        f"""{SHARE}
        def interrupt(who, verb, key):
            if (verb, key) == ("start", "a"):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.3)
        ledger = Ledger.open(place[0], unit=row(), budget=Budget(epsilon="0.001"))
        writer = WriterSocket(ledger, Path(place[1]), observer=interrupt)
        shared = shared_ledger(place[0], Path(place[1]))
        for _ in range(2):
            try:
                shared.begin(ONE, key="a")
            except KeyboardInterrupt:
                say("interrupted")
        time.sleep(0.7)
        try:
            say(shared.begin(ONE, key="b"))
        except OverBudget:
            say("over budget")
        say([entry["key"] for entry in ledger.entries(1)])
        """.replace("\n        ", "\n"),
        place=[str(each) for each in place],
    )
    assert out == ["interrupted", "interrupted", "over budget", "['a', 'a', 'a']"]


# --- timeouts, restarts, versions ---------------------------------------------------------------


def test_after_a_timeout_the_next_request_gets_its_own_reply(written, place):
    ledger, heard = written
    shared = shared_ledger(*place, name="x", timeout=0.5)
    assert told(shared.begin, ONE, key="slow") is errors.LedgerUnavailable
    assert told(shared.begin, ONE, key="next") == Started(key="next", attempt=1)
    heard.gate.set()
    assert told(shared.begin, ONE, key="slow") == Started(key="slow", attempt=2)
    assert [entry["kind"] for entry in ledger.entries()].count("charge") == 2
    shared.close()


def test_a_writer_that_was_started_anew_is_found_again(place):
    with Ledger.open(place[0], unit=row(), budget=Budget(epsilon=1)) as ledger:
        first = WriterSocket(ledger, place[1])
        shared = shared_ledger(*place)
        shared.begin(ONE, key="a")
        first.close()
        assert told(shared.begin, ONE, key="b") is errors.LedgerUnavailable
        again = WriterSocket(ledger, place[1])
        assert shared.begin(ONE, key="b") == Started(key="b", attempt=1)
        again.close()
        third = WriterSocket(ledger, place[1])  # it has not noticed that the other is gone
        assert shared.release("b", b"told").answer == b"told"
        third.close()
        shared.close()


def test_a_writer_of_another_ledger_is_refused_also_later(place, tmp_path):
    unit, budget = row(), Budget(epsilon=1)
    with (
        Ledger.open(place[0], unit=unit, budget=budget) as ledger,
        Ledger.open(tmp_path / "other", unit=unit, budget=budget) as other,
    ):
        writer = WriterSocket(ledger, place[1])
        shared = shared_ledger(*place)
        writer.close()
        writer = WriterSocket(other, place[1])
        assert told(shared.begin, ONE, key="k") is errors.OtherLedger
        assert told(shared.charge, ONE, key="k") is errors.OtherLedger
        with pytest.raises(errors.OtherLedger):
            shared_ledger(*place)
        assert [entry["kind"] for entry in other.entries()] == ["open"]
        writer.close()
        shared.close()


@pytest.mark.parametrize("number", [{}, {"number": 0}, {"number": "1"}])
def test_a_writer_that_does_not_number_its_replies_is_refused(place, tmp_path, number):
    """Replies and requests could be mixed up."""
    with Ledger.open(place[0], unit=row(), budget=Budget(epsilon=1)) as ledger:
        name = ledger.id
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "old"))
        listening.listen()

        def serve():
            connection, _ = listening.accept()
            with connection:
                receive_message(connection)
                send_message(connection, {"kind": "done", "ledger": name, **number})
                connection.recv(1)

        threading.Thread(target=serve, daemon=True).start()
        assert "does not say which request" in words(shared_ledger, place[0], tmp_path / "old")


def test_whoever_waits_for_a_reply_hears_at_once_that_the_ledger_is_closed(written, place):
    shared = shared_ledger(*place)
    found = []
    asking = threading.Thread(target=lambda: found.append(told(shared.begin, ONE, key="slow")))
    asking.start()
    assert written[1].waiting.wait(30)
    shared.close()
    asking.join(10)
    assert found == [errors.LedgerUnavailable]


# --- shortages ----------------------------------------------------------------------------------


def attempt(place, timeout):
    """Say what becomes of a new client."""
    found = told(shared_ledger, *place, timeout=timeout)
    if isinstance(found, Ledger):
        found.close()
    return found


@pytest.mark.parametrize("short_of", ["descriptors", "threads"])
def test_a_writer_that_was_short_for_a_moment_accepts_again(elsewhere, place, short_of):
    shared = shared_ledger(*place)
    if short_of == "descriptors":
        limit, most = resource.RLIMIT_NOFILE, 3
    else:
        pages = int(Path(f"/proc/{elsewhere}/statm").read_text().split()[0])
        limit, most = resource.RLIMIT_AS, pages * resource.getpagesize() + (32 << 20)
    before = resource.prlimit(elsewhere, limit)
    resource.prlimit(elsewhere, limit, (most, before[1]))
    attempt(place, 1)  # the call that waits has a descriptor for one of them already
    assert attempt(place, 1) is errors.LedgerUnavailable
    if short_of == "threads":
        assert shared.begin(ONE, key="meanwhile") == Started(key="meanwhile", attempt=1)
    resource.prlimit(elsewhere, limit, before)
    for _ in range(2):
        assert isinstance(attempt(place, 30), Ledger)
    shared.close()


def test_a_shared_ledger_that_cannot_be_opened_leaves_nothing_open(elsewhere, place):
    """With every number of descriptors there is an error of ours, or a ledger."""
    program = f"""{SHARE}
def opened():
    found = []
    for file in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{{file}}"))
        except OSError:
            pass
    return sum("a.ledger" in each for each in found)
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
refused = 0
for most in range(3, 60):
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        ledger = shared_ledger(place[0], Path(place[1]), timeout=5)
    except LedgerUnavailable:
        ledger, refused = None, refused + 1
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if ledger is not None:
        break
    assert not opened(), most
del ledger
say(refused > 1, opened())
hear()
"""
    with Program(program, place=[str(each) for each in place]) as client:
        assert client.hear() == "True 0"
        os.kill(elsewhere, 9)
        for _ in range(3):
            assert run(
                "with Ledger.open(path) as ledger: say(ledger.receipt.seq)", path=str(place[0])
            ) == ["1"]


def test_a_writer_that_closes_leaves_the_socket_of_another_alone(place):
    with Ledger.open(place[0], unit=row(), budget=Budget(epsilon=1)) as ledger:
        first, second = WriterSocket(ledger, place[1]), WriterSocket(ledger, place[1])
        first.close()
        first.close()
        shared = shared_ledger(*place)
        assert shared.begin(ONE, key="k") == Started(key="k", attempt=1)
        shared.close()
        second.close()
        assert not place[1].exists()
