"""A fork: the child is refused the tables of its parent, and does not wait for ever."""

import os
import signal
import threading

import pyarrow as pa

import discreet as dp
from discreet.errors import EngineStopped

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
    assert child(lambda: clinic.plan(QUESTION, epsilon=1)) == REFUSED
    clinic.close()
