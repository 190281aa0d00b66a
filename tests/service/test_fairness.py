"""Calls that cost nothing stop nobody: people take turns, and planning ends."""

import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.errors import TryAgain
from discreet.service.workers import jobs, pool
from discreet.service.workers.jobs import AskJob, FairQueue
from tests.service import served
from tests.service.processes import until
from tests.session import clinic

PATH = "/v1/datasets/clinic/queries"
DRY = f"{PATH}?dry_run=true"
QUERY = {"question": clinic.COUNT, "epsilon": "0.5"}


@pytest.fixture
def server(tmp_path):
    with served.serving(tmp_path, workers=2) as server:
        server.client("ben").post(DRY, json=QUERY)
        yield server


def job(person):
    return AskJob(id="", person=person, dataset="clinic", message={})


def test_people_take_turns_and_nobody_has_all_workers():
    queue = FairQueue(at_once=1)
    jobs = [job("ana") for _ in range(3)] + [job("ben")]
    for each in jobs:
        queue.put(each)
    first, second = queue.get(), queue.get()
    assert [first, second] == [jobs[0], jobs[3]]
    assert queue.get(timeout=0.01) is None  # a third worker is not for ana
    queue.done(first)
    assert queue.get() is jobs[1]
    assert queue.stop() == [jobs[2]]
    assert queue.get() is None


def test_few_calls_of_a_person_wait():
    queue = FairQueue(at_once=1)
    for _ in range(jobs._MOST_WAITING):
        queue.put(job("ana"))
    with pytest.raises(TryAgain):
        queue.put(job("ana"))
    queue.put(job("ben"))


def test_questions_that_take_long_to_plan_stop_only_those_of_their_person(server, monkeypatch):
    """44 dry runs of one person, each of which takes a worker for as long as it may plan."""
    monkeypatch.setattr(pool, "_PLAN_SECONDS", 3)
    workers = server.counter._pools["clinic"]
    for number in server.counter.workers("clinic"):
        os.kill(number, signal.SIGSTOP)
    with ThreadPoolExecutor(44) as threads:
        ana = server.client("ana")
        sent = [threads.submit(ana.post, DRY, json=QUERY) for _ in range(44)]
        until(lambda: workers._running)
        (busy,) = workers._running  # as if it planned for ever; the other one is for others
        for name, process in workers._processes.items():
            if name != busy:
                os.kill(process.pid, signal.SIGCONT)
        assert server.client("ben").post(DRY, json=QUERY).status_code == 200
        assert busy in workers._running
        statuses = {each.result().status_code for each in sent}
    assert statuses <= {200, 422, 503}


def test_a_question_that_takes_too_long_to_plan_is_refused(tmp_path, monkeypatch):
    with served.serving(tmp_path, workers=1) as server:
        ana = server.client("ana")
        assert ana.post(DRY, json=QUERY).status_code == 200
        monkeypatch.setattr(pool, "_PLAN_SECONDS", 0.5)
        os.kill(server.counter.workers("clinic")[0], signal.SIGSTOP)
        refused = ana.post(PATH, json=QUERY)
        assert (refused.status_code, refused.json()["name"]) == (422, "UnsupportedSQL")
        monkeypatch.setattr(pool, "_PLAN_SECONDS", 30)
        assert ana.post(PATH, json=QUERY).status_code == 200


def test_what_nobody_waits_for_is_not_worked_on(tmp_path):
    with served.serving(tmp_path, workers=1) as server:
        ana = server.client("ana")
        assert ana.post(DRY, json=QUERY).status_code == 200
        worker = server.counter.workers("clinic")[0]
        os.kill(worker, signal.SIGSTOP)
        body = b'{"question": "SELECT COUNT(*) AS n FROM visits WHERE cost < 3", "epsilon": "0.5"}'
        with ThreadPoolExecutor(1) as threads:
            first = threads.submit(ana.post, PATH, json=QUERY)
            until(lambda: len(server.counter._jobs) == 2)
            head = (
                f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                f"Authorization: {ana.headers['authorization']}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            known = set(server.counter._jobs)
            with socket.create_connection(("127.0.0.1", server.port), timeout=10) as left:
                left.sendall(head.encode() + body)
                until(lambda: set(server.counter._jobs) > known)
                (number,) = set(server.counter._jobs) - known
            until(lambda: server.counter._jobs[number].canceled)
            os.kill(worker, signal.SIGCONT)
            assert first.result().status_code == 200
        assert not server.counter._jobs[number].charged


PUBLIC = """
[tables.wards]
public = true
[tables.wards.columns]
ward = { type = "text" }
beds = { type = "integer" }
"""
CROSSED = ", ".join(f"wards AS w{number}" for number in range(16))
EQUAL = " ".join(f"JOIN wards AS w{number} ON w{number}.beds = w0.beds" for number in range(1, 16))


@pytest.mark.parametrize("joined", [CROSSED, f"wards AS w0 {EQUAL}"])
def test_public_tables_that_are_joined_often_are_refused_by_their_sizes(tmp_path, joined):
    """190 bytes that took 22 seconds of planning, which costs nothing."""
    rows = "".join(f"{letter},1\n" for letter in "ABCDEFGH")
    (tmp_path / "wards.csv").write_text(f"ward,beds\n{rows}")
    site = served.SITE.replace('visits.parquet" }', 'visits.parquet", wards = "wards.csv" }')
    served.written(tmp_path, policy=served.POLICY + PUBLIC, site=site)
    with served.serving(tmp_path, workers=1) as server:
        ana = server.client("ana")
        assert ana.post(DRY, json=QUERY).status_code == 200
        worker = server.counter.workers("clinic")
        asked = {"question": f"SELECT COUNT(*) AS n FROM {joined}", "epsilon": "0.5"}  # noqa: S608
        refused = ana.post(DRY, json=asked)
        assert refused.status_code == 422
        assert "product of their sizes" in refused.json()["why"]
        assert server.counter.workers("clinic") == worker  # nothing had to be killed


def test_groups_that_with_releases_can_be_asked_behind_a_server(tmp_path):
    question = (
        "WITH k AS (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 10, delta = 1e-7) ward "
        "FROM visits GROUP BY ward) "
        "SELECT ward, COUNT(*) AS n FROM visits WHERE ward IN (SELECT ward FROM k) GROUP BY ward"
    )
    policy = served.POLICY.replace('epsilon = "2000"', 'epsilon = "2000"\ndelta = "1e-6"')
    policy = policy.replace('max_epsilon_per_question = "1"\n', "")
    policy = policy.replace('categories = ["A", "B", "C"]\n', "")
    with served.serving(tmp_path, policy=policy, workers=1) as server:
        ana = server.client("ana")
        asked = {"question": question, "epsilon": "0.5"}
        dry = ana.post(DRY, json=asked)
        assert (dry.status_code, dry.json()["name"]) == (422, "WrongKind")  # a plan spends nothing
        answer = ana.post(PATH, json={**asked, "confirm": True})
        assert answer.status_code == 200, answer.text
        assert answer.json()["released_by"]
        assert ana.post(PATH, json=asked).json()["replayed"]
        assert ana.post(DRY, json=asked).json()["standing"]["answered"]
