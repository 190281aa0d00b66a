"""What befalls those who share a ledger: signals, forks, timeouts, restarts, and shortages.

Whatever it is, nobody takes the reply to another request for its own.
"""

import linecache
import socket
import sys
import threading

import pytest

from discreet import errors
from discreet.accounting import Budget
from discreet.ledger import Ledger
from discreet.ledger.values import Started
from discreet.loss import Pure
from discreet.service.workers.writer import (
    WriterSocket,
    receive_message,
    send_message,
    shared_ledger,
)
from discreet.units import row

ONE = Pure(epsilon="0.001")


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


# --- signals ------------------------------------------------------------------------------------


class InterruptAtLine:
    """Raise KeyboardInterrupt before some line of this thread in the room of shared ledgers.

    Python handles signals after calls, and so not at a bare "try", nor where a lock is released.
    """

    def __init__(self, number):
        self.left = number

    def __call__(self, frame, event, _):
        if not frame.f_code.co_filename.endswith("workers/writer.py"):
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
        assert "do not understand" in words(shared_ledger, place[0], tmp_path / "old")


def test_whoever_waits_for_a_reply_hears_at_once_that_the_ledger_is_closed(written, place):
    shared = shared_ledger(*place)
    found = []
    asking = threading.Thread(target=lambda: found.append(told(shared.begin, ONE, key="slow")))
    asking.start()
    assert written[1].waiting.wait(30)
    shared.close()
    asking.join(10)
    assert found == [errors.LedgerUnavailable]
