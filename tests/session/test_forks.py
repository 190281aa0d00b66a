"""A fork while another thread asks: the child is refused, and does not wait for ever."""

import gc
import os
import signal
import threading

import pyarrow as pa

import discreet as dp
from discreet.errors import EngineStopped
from discreet.session.fork_guard import COLLECTOR_PAUSE

QUESTION = "SELECT COUNT(*) AS n FROM visits"
POLICY = "format = 1\n[limits]\nmax_rows = 5"
REFUSED, OTHERWISE = 7, 8


def child(verb):
    """Fork, do something, and return how the child ended."""
    pid = os.fork()
    if not pid:
        signal.alarm(60)
        try:
            verb()
            os._exit(OTHERWISE)
        except EngineStopped:
            os._exit(REFUSED)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_child_that_is_forked_amid_a_question_is_refused(monkeypatch):
    visits = pa.table({"patient": [1, 1, 2]})
    options = {"unit": dp.person("patient"), "policy": POLICY, "test_mode": True}
    clinic = dp.open({"visits": visits}, **options)
    reading, done = threading.Event(), threading.Event()
    read = type(clinic._engine)._run

    def slow(*arguments):
        reading.set()
        assert done.wait(60)
        return read(*arguments)

    monkeypatch.setattr(type(clinic._engine), "_run", slow)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(clinic.ask(QUESTION, epsilon=1e20)))
    thread.start()
    assert reading.wait(60)
    try:
        assert child(lambda: clinic.ask(QUESTION, epsilon=1)) == REFUSED
        assert child(lambda: clinic.plan(QUESTION, epsilon=1)) == REFUSED
        assert child(clinic.close) == OTHERWISE
    finally:
        done.set()
        thread.join()
    assert answers[0].to_arrow().column("n").to_pylist() == [3]
    assert child(lambda: clinic.plan(QUESTION, epsilon=1)) == OTHERWISE
    clinic.close()


def test_a_child_that_is_forked_amid_a_plan_collects_its_garbage(monkeypatch):
    visits = pa.table({"patient": [1, 1, 2]})
    options = {"unit": dp.person("patient"), "policy": POLICY, "test_mode": True}
    clinic = dp.open({"visits": visits}, **options)
    planning, done = threading.Event(), threading.Event()
    check = type(clinic._engine).check

    def slow(*arguments):
        planning.set()
        assert done.wait(60)
        return check(*arguments)

    def collects():
        if not gc.isenabled():
            os._exit(1)
        with COLLECTOR_PAUSE:
            if gc.isenabled():
                os._exit(1)
        if not gc.isenabled():
            os._exit(1)

    monkeypatch.setattr(type(clinic._engine), "check", slow)
    thread = threading.Thread(target=lambda: clinic.plan(QUESTION, epsilon=1))
    thread.start()
    try:
        assert planning.wait(60)
        assert not gc.isenabled()
        assert child(collects) == OTHERWISE
        assert not gc.isenabled()
    finally:
        done.set()
        thread.join()
    assert gc.isenabled()
    clinic.close()


def test_the_collector_rests_until_the_last_plan_is_made():
    first, second = threading.Event(), threading.Event()

    def plan():
        with COLLECTOR_PAUSE:
            first.set()
            assert second.wait(60)

    thread = threading.Thread(target=plan)
    thread.start()
    assert first.wait(60)
    with COLLECTOR_PAUSE:
        second.set()
        thread.join()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_somebody_has_switched_off_stays_off():
    gc.disable()
    try:
        with COLLECTOR_PAUSE, COLLECTOR_PAUSE:
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert child(lambda: gc.isenabled() or os._exit(1)) == OTHERWISE
