"""A fork while another thread asks: the child is refused, and does not wait for ever."""

import gc
import os
import signal
import threading

import pyarrow as pa
import pytest

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

    before = gc.get_threshold()

    def collects():
        if gc.get_threshold() != before:
            os._exit(1)
        with COLLECTOR_PAUSE:
            if gc.get_threshold() == before or not gc.isenabled():
                os._exit(1)
        if gc.get_threshold() != before:
            os._exit(1)

    monkeypatch.setattr(type(clinic._engine), "check", slow)
    thread = threading.Thread(target=lambda: clinic.plan(QUESTION, epsilon=1))
    thread.start()
    try:
        assert planning.wait(60)
        assert gc.get_threshold() != before
        assert child(collects) == OTHERWISE
        assert gc.get_threshold() != before
    finally:
        done.set()
        thread.join()
    assert gc.get_threshold() == before
    clinic.close()


def test_the_collector_rests_until_the_last_plan_is_made():
    first, second, before = threading.Event(), threading.Event(), gc.get_threshold()

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
        assert gc.get_threshold() != before
        assert gc.isenabled()
    assert gc.get_threshold() == before


@pytest.mark.parametrize("threshold", [0, 3_000_000])
def test_a_collector_that_works_more_seldom_still_is_left_alone(threshold):
    before = gc.get_threshold()
    gc.set_threshold(threshold, 20, 20)
    try:
        with COLLECTOR_PAUSE, COLLECTOR_PAUSE:
            assert gc.get_threshold() == (threshold, 20, 20)
        assert gc.get_threshold() == (threshold, 20, 20)
    finally:
        gc.set_threshold(*before)


def test_an_interrupt_amid_the_pause_leaves_a_collector_that_works():
    """A plan that comes later sets it right, whatever count the interrupted one has left."""
    before = gc.get_threshold()
    COLLECTOR_PAUSE.__enter__()  # and never left
    try:
        assert gc.isenabled()
        assert gc.get_threshold()[0] > 0
        assert child(lambda: gc.get_threshold() == before or os._exit(1)) == OTHERWISE
    finally:
        COLLECTOR_PAUSE.__exit__()
    assert gc.get_threshold() == before
