"""Processes that share a ledger through one writer: the same steps, one budget, nothing twice."""

import contextlib
import json
import multiprocessing
import socket
import threading

import pytest

from discreet import errors
from discreet.accounting import Box, Budget, equals
from discreet.accounting.codec import encode
from discreet.accounting.requests import RequestPricer
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

ONE = Pure(epsilon="0.1")


@pytest.fixture
def place(tmp_path):
    return tmp_path / "a.ledger", tmp_path / "w.sock"


@pytest.fixture
def written(place):
    heard = []
    with Ledger.open(place[0], unit=row(), budget=Budget(epsilon=1)) as ledger:
        writer = WriterSocket(ledger, place[1], observer=lambda *what: heard.append(what))
        yield ledger, heard
        writer.close()


def test_all_steps_lead_to_what_they_lead_to_in_one_process(written, place):
    ledger, heard = written
    shared = shared_ledger(*place, name="worker 1")
    first = shared.charge(ONE, key="k", question="q")
    again = shared.charge(ONE, key="k", question="q")
    assert (first.new, again.new) == (True, False)
    assert (first.receipt, first.amounts) == (again.receipt, again.amounts)
    assert shared.start("k").attempt == 1
    assert shared.release("k", b"\x00answer").answer == b"\x00answer"
    assert shared.release("k", b"another").answer == b"\x00answer"
    assert shared.find("q").answer == b"\x00answer"
    assert shared.left().amounts == ledger.left().amounts
    assert shared.receipt == ledger.receipt
    assert [entry["kind"] for entry in shared.entries()] == ["open", "charge", "start", "release"]
    digest = shared.describe("schema", {"tables": []})
    assert digest == ledger.describe("schema", {"tables": []})
    assert ("worker 1", "start", "k") in heard
    shared.close()
    shared.close()
    with pytest.raises(errors.LedgerUnavailable):
        shared.charge(ONE, key="later")
    assert ledger.verify().ok


def test_a_question_begins_in_one_step_as_it_does_in_one_process(written, place):
    ledger, heard = written
    shared = shared_ledger(*place, name="worker 1")
    assert shared.begin(ONE, key="k", question="q") == Started(key="k", attempt=1)
    assert ledger.begin(ONE, key="k", question="q") == Started(key="k", attempt=2)
    assert [entry["kind"] for entry in ledger.entries()] == ["open", "charge", "start", "start"]
    assert [each for each in heard if each[2] == "k"] == [
        ("worker 1", "charge", "k"),
        ("worker 1", "start", "k"),
    ]
    ledger.release("k", b"told")
    assert shared.begin(ONE, key="k", question="q").answer == b"told"
    with pytest.raises(errors.OverBudget):
        shared.begin(Pure(epsilon=5), key="large")
    assert ledger.find("large") is None
    assert [entry["kind"] for entry in ledger.entries()][-1] == "release"
    shared.close()
    assert ledger.verify().ok


def test_what_is_refused_is_refused_in_the_same_words(written, place):
    ledger, _ = written
    shared = shared_ledger(*place)
    shared.charge(ONE, key="k")
    told = []
    for each in (shared, ledger):
        for bad in (
            lambda each=each: each.charge(Pure(epsilon=5), key="large"),
            lambda each=each: each.charge(Pure(epsilon="0.2"), key="k"),
            lambda each=each: each.start("never charged"),
            lambda each=each: each.charge(ONE, key="x", account="nowhere"),
        ):
            with pytest.raises(errors.DiscreetError) as caught:
                bad()
            told.append((type(caught.value), caught.value.what))
    assert told[:4] == told[4:]
    shared.close()


def test_scopes_and_accounts_travel(written, place):
    ledger, _ = written
    shared = shared_ledger(*place)
    ledger.open_account("data/ana", budget=Budget(epsilon="0.15"), by="sue")
    shared.charge(ONE, key="north", scope=Box({"region": equals("north")}), account="data/ana")
    with pytest.raises(errors.OverBudget):
        shared.charge(ONE, key="more", account="data/ana")
    assert ledger.left(account="data/ana").amounts == shared.left(account="data/ana").amounts
    shared.close()


def _charge_many(place, name, results):
    shared = shared_ledger(*place)
    granted = 0
    for number in range(8):
        with contextlib.suppress(errors.OverBudget):
            granted += shared.charge(ONE, key=f"{name} {number}").new
    results.put(granted)
    shared.close()


def test_many_processes_never_overspend(written, place):
    ledger, _ = written
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    processes = [
        context.Process(target=_charge_many, args=(place, name, results)) for name in range(4)
    ]
    for process in processes:
        process.start()
    granted = sum(results.get(timeout=120) for _ in processes)
    for process in processes:
        process.join()
    assert granted == 10
    assert ledger.left().amounts[0] == 0
    assert ledger.verify().ok


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"verb": "charge"},
        {"verb": "charge", "key": "k", "given": ["[", ""]},
        {"verb": "charge", "key": "k", "given": ['["data",{},{},null', ""]},
        {"verb": "begin", "key": "k", "given": ['["data",{},{},null', ""]},
        {"verb": "raise_limit", "key": None, "given": ["data"]},
        {"verb": "release", "key": "k", "given": [5]},
        {"verb": "describe", "key": None, "given": [["schema", "[]"]]},
    ],
)
def test_other_messages_change_nothing(written, place, message):
    ledger, _ = written
    before = ledger.receipt
    with socket.socket(socket.AF_UNIX) as plain:
        plain.connect(str(place[1]))
        send_message(plain, message)
        assert receive_message(plain)["kind"] == "error"
    assert ledger.receipt == before


def test_a_price_that_is_sent_along_is_not_believed(written, place):
    """The writer works the price out from the tree, whatever else a message says."""
    ledger, _ = written
    leaf = RequestPricer(unit=row()).node(Pure(epsilon="0.7"))
    asked = json.dumps(["data", encode(leaf), Box.everything().written(), None])[:-1]
    with socket.socket(socket.AF_UNIX) as plain:
        plain.connect(str(place[1]))
        message = {"verb": "charge", "key": "k", "given": [asked, ""]}
        send_message(plain, {**message, "amounts": {"data": ["0", "0"]}, "texts": []})
        assert receive_message(plain)["new"]
    assert ledger.left().loss == Pure(epsilon="0.3")


def test_the_socket_is_this_user_s_alone(written, place):
    assert place[1].stat().st_mode & 0o077 == 0


def test_without_a_writer_nothing_is_charged(place):
    Ledger.open(place[0], unit=row(), budget=Budget(epsilon=1)).close()
    with pytest.raises(errors.LedgerUnavailable):
        shared_ledger(*place)


def test_a_writer_that_dies_before_it_answers_locks_nobody_out(place, tmp_path):
    Ledger.open(place[0], unit=row(), budget=Budget(epsilon=1)).close()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "silent"))
        listening.listen()

        def die():
            listening.accept()[0].close()

        dying = threading.Thread(target=die)
        dying.start()
        with pytest.raises(errors.LedgerUnavailable):
            shared_ledger(place[0], tmp_path / "silent", name="worker")
        dying.join()
    with Ledger.open(place[0]) as opened:
        assert opened.verify() is not None
