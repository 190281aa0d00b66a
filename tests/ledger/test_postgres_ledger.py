"""A ledger on a PostgreSQL server from end to end: every verb, and many hosts at one limit."""

import os
import threading

import pytest

from discreet.accounting import Budget
from discreet.cli.options import command_inputs
from discreet.errors import (
    KeyReused,
    LedgerUnavailable,
    NotALedger,
    NotCharged,
    OverBudget,
)
from discreet.ledger import Ledger, Started
from discreet.loss import Pure
from discreet.units import row
from tests.ledger.programs import forked

LIMIT = 40


@pytest.fixture
def ledger(address):
    with Ledger.open(address, unit=row(), budget=Budget(epsilon=1)) as ledger:
        yield ledger


def answered(ledger, key, answer, *, question="", epsilon="0.1"):
    ledger.charge(Pure(epsilon=epsilon), key=key, question=question)
    assert isinstance(ledger.start(key), Started)
    return ledger.release(key, answer)


def test_the_three_steps(ledger):
    charged = ledger.charge(Pure(epsilon="0.4"), key="visits", question="q")
    assert charged.new
    assert not ledger.charge(Pure(epsilon="0.4"), key="visits", question="q").new
    with pytest.raises(KeyReused):
        ledger.charge(Pure(epsilon="0.5"), key="visits", question="q")
    with pytest.raises(NotCharged):
        ledger.release("visits", b"42")
    assert ledger.find("q") is None
    assert [ledger.start("visits").attempt for _ in range(2)] == [1, 2]
    assert not ledger.release("visits", b"42").replayed
    again = ledger.release("visits", b"43")
    assert (again.answer, again.replayed) == (b"42", True)
    assert ledger.start("visits").answer == ledger.find("q").answer == b"42"
    with pytest.raises(OverBudget):
        ledger.charge(Pure(epsilon="0.7"), key="too much")
    assert "0.6 of 1" in str(ledger.left())


def test_exports_go_both_ways(tmp_path, postgres, name, ledger):
    answered(ledger, "visits", bytes(range(256)), question="q")
    ledger.backup(tmp_path / "export")
    said = {"reason": "moved", "by": "ana", "approved_by": "bo", "last": ledger.receipt}
    places = (tmp_path / "file", postgres.address(f"{name}_again"))
    for place in places:
        with Ledger.restore(place, tmp_path / "export", **said) as moved:
            assert moved.find("q").answer == bytes(range(256))
            assert moved.verify([ledger.receipt]).problems == ()
            assert str(moved.left()) == str(ledger.left())


def granted(address, name, *, threads, tries):
    """Charge one fortieth of the limit again and again; return how often it was granted."""
    successes = []

    def work(number):
        for attempt in range(tries):
            key = f"{name}/{number}/{attempt}"
            try:
                ledger.charge(Pure(epsilon=f"1/{LIMIT}"), key=key)
            except OverBudget:
                continue
            ledger.start(key)
            ledger.release(key, key.encode())
            successes.append(key)

    with Ledger.open(address) as ledger:
        workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return len(successes)


def test_many_clients_are_granted_exactly_the_limit(tmp_path, address, ledger):
    """Eight threads here and four processes elsewhere: 112 requests for 40."""

    def elsewhere(number):
        found = granted(address, f"client {number}", threads=2, tries=12)
        (tmp_path / f"{number}").write_text(f"{found}")

    clients = [forked(elsewhere, number) for number in range(4)]
    found = [granted(address, "here", threads=8, tries=2)]
    assert [os.waitpid(client, 0)[1] for client in clients] == [0] * 4
    found += [int((tmp_path / f"{number}").read_text()) for number in range(4)]
    assert sum(found) == LIMIT
    report = ledger.verify()
    assert (report.problems, report.charges, report.releases) == ((), LIMIT, LIMIT)
    with pytest.raises(OverBudget):
        ledger.charge(Pure(epsilon=f"1/{LIMIT}"), key="one more")


def test_a_child_process_is_refused_the_connection_of_its_parent(ledger):
    answered(ledger, "visits", b"42")

    def work():
        with pytest.raises(LedgerUnavailable, match="forked"):
            answered(ledger, "from the child", b"43")
        ledger.close()

    assert os.waitpid(forked(work), 0)[1] == 0
    answered(ledger, "from the parent", b"44")
    assert ledger.verify().problems == ()


def test_planning_sees_a_ledger_on_a_server_and_makes_none(address, ledger, postgres, name):
    assert command_inputs(ledger=address).before_asking().ledger == address
    absent = postgres.address(f"{name}_none")
    assert command_inputs(ledger=absent).before_asking().ledger is None
    with pytest.raises(NotALedger):
        Ledger.open(absent)
