"""What befalls those who share a ledger: signals, forks, timeouts, restarts, and shortages.

Whatever it is, nobody takes the reply to another request for its own.
"""

import ctypes
import linecache
import os
import resource
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from discreet import errors
from discreet.accounting import Budget
from discreet.ledger import Ledger
from discreet.ledger.shared.messages import receive_message, send_message
from discreet.ledger.shared.remote_writer import shared_ledger
from discreet.ledger.shared.writer_socket import WriterSocket
from discreet.ledger.values import Started
from discreet.loss import Pure
from discreet.units import row
from tests.ledger.processes import forked
from tests.ledger.programs import Program, run

ONE = Pure(epsilon="0.001")
SHARE = """
import resource
from pathlib import Path
from discreet.ledger.shared.remote_writer import shared_ledger
from discreet.ledger.shared.writer_socket import WriterSocket
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
        if not frame.f_code.co_filename.endswith(("writer_channel.py", "messages.py")):
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


# --- forks --------------------------------------------------------------------------------------


def ask_often(shared, who):
    """Begin, answer and look, again and again; every reply has to be one's own."""
    for number in range(40):
        key = f"{who} {number}"
        assert told(shared.begin, ONE, key=key, question=key) == Started(key=key, attempt=1)
        assert shared.release(key, key.encode()).key == key
        assert shared.find(key).answer == key.encode()
    assert shared.left().amounts[0] < 10**24


def test_parent_and_child_each_get_their_own_replies(elsewhere, place):
    shared = shared_ledger(*place)
    ask_often(shared, "before")
    child = forked(ask_often, shared, "child")
    ask_often(shared, "parent")
    assert os.waitpid(child, 0)[1] == 0
    ask_often(shared, "after")
    shared.close()


INTERRUPTED = """
import ctypes, functools, os, signal, sys
kind, when, *place = sys.argv[1:]
number = ctypes.c_int(0)  # a hook in C: Python hears of the signal at its next line
kill = functools.partial(ctypes.CDLL(None).kill, os.getpid(), number)
if when == "amid":  # of two hooks before a fork, the older one comes later
    os.register_at_fork(before=kill)
from pathlib import Path
from discreet.ledger import Ledger
from discreet.ledger.shared.remote_writer import shared_ledger
from discreet.loss import Pure
if when == "ahead":
    os.register_at_fork(before=kill)

def charged(key):
    signal.alarm(30)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ledger.charge(Pure(epsilon="0.001"), key=key)
    return ledger.left() and key

signal.signal(signal.SIGINT, signal.default_int_handler)
place[1] = Path(place[1])
ledger = Ledger.open(place[0]) if kind == "own" else shared_ledger(*place)
print(charged("before"))
number.value = signal.SIGINT
try:
    if not os.fork():
        os._exit(charged("child") != "child")
    print("lost")
except KeyboardInterrupt:
    print("interrupted")
number.value = 0
print(charged("after"))
if not os.fork():
    os._exit(charged("last") != "last")
print(os.wait()[1], os.wait()[1])
"""


@pytest.mark.parametrize("kind", ["own", "shared"])
@pytest.mark.parametrize(("when", "told"), [("amid", "interrupted"), ("ahead", "lost")])
def test_an_interrupt_amid_a_fork_comes_after_it_and_nothing_stays_suspended(
    elsewhere, place, kind, when, told
):
    """Python loses one that comes ahead of the first hook; all else goes on."""
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, kind, when, *map(str, place)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.stdout.split("\n") == ["before", told, "after", "0 0", ""], ended.stderr
    assert ("Exception ignored" in ended.stderr) == (told == "lost")
    assert "release unlocked lock" not in ended.stderr


RAISING = """
import linecache, os, signal, sys, threading
from discreet.ledger import Ledger, forks
from discreet.loss import Pure

who, place = sys.argv[1:]
forks._NUMBERS = (signal.SIGINT, signal.SIGALRM, signal.SIGTERM)
NEVER = {"try:", "return", "return again"}  # Python handles signals after calls
parent, lost, number = os.getpid(), set(), 0

class Late(Exception):
    pass

def late(*_):
    raise Late

class AtLine:
    def __init__(self, left):
        self.left, self.line = left, ""

    def __call__(self, frame, event, _):
        if frame.f_code.co_filename != forks.__file__:
            return None
        line = linecache.getline(forks.__file__, frame.f_lineno).strip()
        if event == "line" and line not in NEVER and (os.getpid() == parent) == (who == "parent"):
            self.left -= 1
            if self.left < 0 and not self.line:
                self.line = line
                signal.raise_signal(signal.SIGALRM)
        return self

def seen(at):
    sys.settrace(at)
    try:
        os.fork()
        return False
    except Late:
        return True
    finally:
        sys.settrace(None)

def tell(at):
    with os.fdopen(told, "w") as file:
        came = seen(at)
        if (os.getpid() == parent) == (who == "parent"):
            assert [signal.getsignal(each) for each in forks._NUMBERS] == handlers
            ledger.charge(Pure(epsilon="0.001"), key="a")
            file.write("over" if not at.line else "come" if came else at.line)
            file.flush()
    if os.getpid() != parent:
        os._exit(0)

signal.signal(signal.SIGALRM, late)
signal.signal(signal.SIGTERM, lambda *_: print("terminated"))
handlers = [signal.getsignal(each) for each in forks._NUMBERS]
ledger = Ledger.open(place)
word = ""
while word != "over":
    heard, told = os.pipe()
    thread = threading.Thread(target=tell, args=[AtLine(number)])
    thread.run() if who != "thread" else (thread.start(), thread.join())
    with os.fdopen(heard) as file:
        word = file.read()
    assert os.wait()[1] == 0
    lost.add(word)
    number += 1
os.kill(os.getpid(), signal.SIGTERM)
print(number)
print(*(lost - {"come", "over"}))
"""


@pytest.mark.parametrize("who", ["parent", "child", "thread"])
def test_what_a_handler_raises_amid_a_fork_is_raised_after_it(written, place, who):
    """At whatever line its signal comes, in the parent, in a child, or in the child of a thread.

    Only ahead of the first hook that can catch it, it is lost; handlers are as before all the same.
    """
    ended = subprocess.run(
        [sys.executable, "-c", RAISING, who, str(place[0])],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    first, number, lost = ended.stdout.splitlines()
    assert first == "terminated"
    assert int(number) > 60
    assert lost.split("  #")[0] == ("" if who == "child" else "for _ in _TURNS:")


def test_a_child_of_a_fork_that_nobody_was_told_of_uses_no_inherited_connection(elsewhere, place):
    """A library in C can fork without Python's knowledge."""
    shared = shared_ledger(*place)
    for key in ("parent", "child"):
        shared.begin(ONE, key=key)
    wrong = 100
    child = ctypes.PyDLL(None).fork()
    who = "parent" if child else "child"
    try:
        wrong = sum(getattr(told(shared.start, who), "key", None) != who for _ in range(100))
    finally:
        if not child:
            os._exit(wrong)
    assert (wrong, os.waitpid(child, 0)[1]) == (0, 0)
    shared.close()


def test_a_child_does_not_wait_for_what_a_thread_of_its_parent_asks(elsewhere, place):
    shared = shared_ledger(*place)
    shared.begin(ONE, key="parent")
    found = []
    os.kill(elsewhere, 19)  # SIGSTOP
    asking = threading.Thread(target=lambda: found.append(told(shared.start, "parent")))
    asking.start()
    until(shared._link._channel._lock.locked)

    def ask():
        os.kill(elsewhere, 18)  # SIGCONT
        assert shared.begin(ONE, key="child") == Started(key="child", attempt=1)

    child = forked(ask)
    assert os.waitpid(child, 0)[1] == 0
    asking.join(60)
    assert found == [Started(key="parent", attempt=2)]
    shared.close()


def test_a_child_of_the_writer_keeps_nobody_waiting(place):
    """A connection that the child kept would look alive when the writer is gone."""
    with Program(
        WRITER.replace('say("up")', 'child = os.fork() or hear() or os._exit(0)\nsay("up")'),
        place=[str(each) for each in place],
    ) as writer:
        assert writer.hear() == "up"
        shared = shared_ledger(*place, timeout=60)
        writer.process.kill()
        writer.process.wait()
        start = time.monotonic()
        assert told(shared.begin, ONE, key="k") is errors.LedgerUnavailable
        assert time.monotonic() - start < 30
        shared.close()


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
    """One of an earlier version does not."""
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


def test_a_client_that_does_not_number_its_requests_is_served(written, place):
    with socket.socket(socket.AF_UNIX) as plain:
        plain.connect(str(place[1]))
        send_message(plain, {"verb": "hello", "name": "old"})
        assert receive_message(plain)["kind"] == "done"
        send_message(plain, {"verb": "start", "key": "k"})
        assert receive_message(plain)["name"] == "NotCharged"


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
say(refused > 2, opened())
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
