"""The spend protocol over HTTP: keys, retries, kills, time limits, closed questions, raises."""

import os
import resource
import signal
import threading
import time
from fractions import Fraction

import pytest

from discreet import errors
from discreet.documents import QuestionDocument
from discreet.service.workers.jobs import LARGE, MEDIUM, SMALL, AskJob, class_of, due
from tests.service import served
from tests.session import clinic

PATH = "/v1/datasets/clinic/queries"


def query(number, epsilon="0.5"):
    text = f"SELECT COUNT(*) AS n FROM visits WHERE cost < {number}"  # noqa: S608
    return {"question": text, "epsilon": epsilon}


def spent(server):
    entries = list(server.counter.history(server.caller("sue"), "clinic"))
    return [entry["kind"] for entry in entries]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served.serving(tmp_path_factory.mktemp("spending"), workers=2) as server:
        server.counter.plan(server.caller("ana"), "clinic", QuestionDocument.read(query(1)))
        yield server


def test_a_key_names_one_request(server):
    ana, key = server.client("ana"), {"Idempotency-Key": "one"}
    first = ana.post(PATH, json=query(2), headers=key)
    again = ana.post(PATH, json=query(2), headers=key)
    other = ana.post(PATH, json=query(3), headers=key)
    assert [each.status_code for each in (first, again, other)] == [200, 200, 409]
    assert first.json()["rows"] == again.json()["rows"]
    assert again.json()["replayed"]
    assert server.client("ben").post(PATH, json=query(3), headers=key).status_code == 200


def test_racing_retries_are_charged_once_and_told_the_same(server):
    before = spent(server).count("charge")
    answers = []

    def ask():
        answers.append(server.client("ana").post(PATH, json=query(4)).json())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({str(answer["rows"]) for answer in answers}) == 1
    assert spent(server).count("charge") == before + 1


def test_a_charge_comes_before_data_and_an_answer_is_stored_before_it_is_told(server):
    before = len(spent(server))
    answer = server.client("ana").post(PATH, json=query(5)).json()
    assert spent(server)[before:] == ["charge", "start", "release"]
    stored = server.client("vic").get(f"/v1/datasets/clinic/releases/{answer['entry']}").json()
    assert stored["receipt"] == answer["receipt"]
    (column,) = stored["answer"]["columns"]
    assert column["values"] == [row["n"] for row in answer["rows"]]


def test_planning_and_refusals_write_nothing(server):
    before = spent(server)
    ana = server.client("ana")
    assert ana.post(f"{PATH}?dry_run=true", json=query(6)).json()["standing"]["fits"]
    assert ana.post(PATH, json=query(6, "1.5")).status_code == 403
    assert ana.post(PATH, json={"question": "SELECT", "epsilon": "1"}).status_code == 422
    assert ana.post(PATH, json=query(6, "not a number")).status_code == 422
    assert spent(server) == before


@pytest.mark.parametrize("name", ["max_rows", "max_groups", "size"])
def test_a_zero_is_given_and_refused(server, name):
    before = spent(server)
    form = QuestionDocument.read({**query(6), name: 0})
    assert form.written()[name] == 0
    assert form.digest != QuestionDocument.read(query(6)).digest
    assert server.client("ana").post(PATH, json={**query(6), name: 0}).status_code == 422
    assert spent(server) == before


def test_further_draws_are_of_the_same_question(server):
    before = spent(server)
    place = "/v1/datasets/clinic/remeasurements"
    other = {"forms": [query(18), query(19, "0.25")]}
    assert server.client("ana").post(place, json=other).status_code == 422
    assert spent(server) == before
    same = {"forms": [query(18), query(18, "0.25")]}
    assert server.client("ana").post(place, json=same).status_code == 200
    assert spent(server).count("charge") == before.count("charge") + 2


def all_ready(pool):
    """Wait until every worker has started, those in the place of killed ones too."""

    def ready():
        with pool._lock:
            serving = [pool._processes[name] for name in pool._serving]
        return len(serving) == len(pool._threads) and all(p.poll() is None for p in serving)

    end = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.01)


class Stalls:
    """Stops a worker with a signal once its question has come to a step."""

    def __init__(self, server, at="charged"):
        self.server = server
        self.at = at

    def ask(self, form):
        """Begin a question, and stop its worker right after the step."""
        counter = self.server.counter
        all_ready(counter._pools["clinic"])  # none of them meets the faults of a test at its start
        told = AskJob.tell

        def tell(job, event):
            if event == self.at:
                os.kill(server_pid(self.server, job), signal.SIGSTOP)
            told(job, event)

        AskJob.tell = tell
        try:
            job = counter.begin(self.server.caller("ana"), "clinic", QuestionDocument.read(form))
            while self.at not in job.events and not job.over:
                time.sleep(0.01)
        finally:
            AskJob.tell = told
        return job


@pytest.mark.parametrize(("at", "number"), [("charged", 7), ("reading", 17)])
def test_a_worker_that_is_killed_after_the_charge_costs_nothing_more(server, at, number):
    form = query(number)
    job = Stalls(server, at=at).ask(form)
    os.kill(server_pid(server, job), signal.SIGKILL)
    assert job.wait(60)
    with pytest.raises(errors.TryAgain):
        server.counter.result(server.caller("ana"), job)
    charges = spent(server).count("charge")
    answer = server.client("ana").post(PATH, json=form)
    assert answer.status_code == 200
    assert spent(server).count("charge") == charges


def server_pid(server, job):
    pool = server.counter._pools["clinic"]
    name = next(n for n, running in pool._running.items() if running is job)
    return pool._processes[name].pid


def test_a_canceled_question_stays_charged_and_a_retry_completes_it(server):
    form = query(8)
    job = Stalls(server).ask(form)
    ana = server.client("ana")
    assert ana.delete(f"/v1/jobs/{job.id}").status_code == 200
    assert job.wait(60)
    assert ana.get(f"/v1/jobs/{job.id}").status_code == 503
    charges = spent(server).count("charge")
    assert ana.post(PATH, json=form).status_code == 200
    assert spent(server).count("charge") == charges


def test_three_attempts_at_reading_are_all_that_one_charge_pays_for(server):
    """And three more whenever the owner has reopened the question."""
    form, ana, before = query(28), server.client("ana"), len(spent(server))
    for _ in range(2):
        for _ in range(3):
            job = Stalls(server, at="reading").ask(form)
            assert ana.delete(f"/v1/jobs/{job.id}").status_code == 200
            assert job.wait(60)
        starts = spent(server).count("start")
        assert ana.post(PATH, json=form).status_code == 503
        assert spent(server).count("start") == starts
        reopened(server)
    closing = ["start"] * 3 + ["fail", "reopen"]
    assert spent(server)[before:] == ["charge", *closing, *closing]
    assert ana.post(PATH, json=form).status_code == 200


def crash(server, job):
    """End the worker of a job that stands still, as its data could."""
    worker = server_pid(server, job)
    os.kill(worker, signal.SIGSEGV)
    os.kill(worker, signal.SIGCONT)


def reopened(server):
    """Reopen the one closed question."""
    olga = server.client("olga")
    (key,) = olga.get("/v1/datasets/clinic/closed").json()["closed"]
    body = {"key": key, "reason": "a full disk"}
    assert olga.post("/v1/datasets/clinic/closed", json=body).status_code == 200


def test_a_failure_is_not_told_before_its_question_is_closed_on_record(server):
    """The limit on the size of files stands in for a disk without room."""
    form = query(38)
    job = Stalls(server, at="reading").ask(form)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
    try:
        crash(server, job)
        told = job.wait(2.5)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not told
    assert job.wait(60)
    assert isinstance(job.error, errors.EngineStopped)
    assert spent(server)[-3:] == ["charge", "start", "fail"]
    reopened(server)
    assert server.client("ana").post(PATH, json=form).status_code == 200


class FullDisk:
    """The ledger of a pool, where no question can be closed until there is room."""

    def __init__(self, ledger):
        self.ledger, self.room = ledger, threading.Event()

    def attempts(self, key):
        return self.ledger.attempts(key)

    def fail(self, key):
        if not self.room.is_set():
            raise OSError
        self.ledger.fail(key)


def test_nobody_reads_for_a_question_that_is_still_to_be_closed(server, monkeypatch):
    form, counter = QuestionDocument.read(query(48)), server.counter
    disk = FullDisk(counter._pools["clinic"]._ledger)
    monkeypatch.setattr(counter._pools["clinic"], "_ledger", disk)
    first = Stalls(server, at="reading").ask(query(48))
    crash(server, first)
    try:
        assert not first.wait(1)
        second = counter.begin(server.caller("ben"), "clinic", form)
        assert second is not first
        assert not second.wait(3)
        assert second.keys == first.keys
    finally:
        disk.room.set()
    assert first.wait(60)
    assert second.wait(60)
    assert [type(job.error) for job in (first, second)] == [errors.EngineStopped] * 2
    assert spent(server)[-4:] == ["charge", "start", "start", "fail"]
    reopened(server)


def test_a_question_that_takes_too_long_is_closed_and_told_as_all_else(tmp_path):
    with served.serving(tmp_path, seconds=Fraction(1)) as server:
        server.counter.plan(server.caller("ana"), "clinic", QuestionDocument.read(query(1)))
        form = query(9)
        job = Stalls(server, at="reading").ask(form)
        assert job.wait(60)
        assert spent(server)[-3:] == ["charge", "start", "fail"]
        ana, olga = server.client("ana"), server.client("olga")
        told = [ana.get(f"/v1/jobs/{job.id}"), ana.post(PATH, json=form)]
        (key,) = olga.get("/v1/datasets/clinic/closed").json()["closed"]
        body = {"key": key, "reason": "a slow disk"}
        assert olga.post("/v1/datasets/clinic/closed", json=body).status_code == 200
        assert {(each.status_code, each.text) for each in told} == {(503, told[0].text)}
        assert told[0].headers["retry-after"] == "1"
        charges = spent(server).count("charge")
        assert ana.post(PATH, json=form).status_code == 200
        assert spent(server).count("charge") == charges


def test_a_limit_is_raised_by_two_people_and_on_record(tmp_path):
    policy = clinic.POLICY.replace('epsilon = "2"', 'epsilon = "1"')
    with served.serving(tmp_path, policy=policy) as server:
        ana, sue, olga = (server.client(name) for name in ("ana", "sue", "olga"))
        assert ana.post(PATH, json=query(10, "1")).status_code == 200
        refused = ana.post(PATH, json=query(11, "0.5"))
        assert refused.status_code == 402
        assert refused.json()["ways_out"]
        wanted = {"account": "data", "budget": {"epsilon": "2"}, "reason": "a second study"}
        place = "/v1/datasets/clinic/requests"
        number = sue.post(place, json=wanted).json()["id"]
        decision = f"/v1/requests/{number}/decision"
        assert sue.post(decision, json={"approve": True}).status_code == 403
        assert ana.post(decision, json={"approve": True}).status_code == 403
        assert olga.post(decision, json={"approve": True}).json()["state"] == "approved"
        assert olga.post(decision, json={"approve": True}).status_code == 422
        raised = list(server.counter.history(server.caller("sue"), "clinic"))[-1]
        assert (raised["kind"], raised["by"], raised["approved_by"]) == ("raise", "sue", "olga")
        assert ana.post(PATH, json=query(11, "0.5")).status_code == 200
        lower = {**wanted, "budget": {"epsilon": "1"}}
        again = ana.post(place, json=lower).json()["id"]
        assert (
            olga.post(f"/v1/requests/{again}/decision", json={"approve": True}).status_code == 422
        )
        assert ana.get(place).json()["requests"][0]["state"] == "open"
    with served.serving(tmp_path, policy=policy) as server:  # it is still so after a restart
        assert server.client("ana").post(PATH, json=query(12, "0.5")).status_code == 200


@pytest.mark.parametrize(
    "price",
    [
        {"epsilon": "0.0009"},
        {"rho": "0.0000004"},
        {"error": {"n": "100000"}},
        {"epsilon": "1", "bounds_epsilon": "0.000001"},
        {"epsilon": "1", "limits_epsilon": "0.000001"},
    ],
)
def test_a_question_costs_something(server, price):
    """What is told beside the answer, such as its tick, is not to be had for next to nothing."""
    before = spent(server)
    body = {"question": "SELECT COUNT(*) AS n FROM visits WHERE cost < 17", **price}
    for place in (PATH, f"{PATH}?dry_run=true")[: 1 + ("limits_epsilon" not in price)]:
        refused = server.client("ana").post(place, json=body)
        assert (refused.status_code, refused.json()["name"]) == (403, "NotAllowed")
    assert spent(server) == before
    fine = {**body, **dict.fromkeys(price, "0.001")} if "error" not in price else None
    if fine and set(price) == {"epsilon"}:
        assert server.client("ana").post(PATH, json=fine).status_code == 200


def test_an_account_of_one_s_own_pays(server):
    sue, ben = server.client("sue"), server.client("ben")
    body = {"path": "data/ben", "budget": {"epsilon": "0.5"}}
    assert sue.post("/v1/datasets/clinic/accounts", json=body).status_code == 200
    assert ben.get("/v1/datasets/clinic/budget").json()["account"] == "data/ben"
    assert ben.post(PATH, json=query(13)).status_code == 200
    assert ben.post(PATH, json=query(14)).status_code == 402
    assert server.client("ana").post(PATH, json=query(14)).status_code == 200


def test_progress_is_told_as_events(server):
    ana = server.client("ana")
    sent = ana.post(PATH, json=query(15), headers={"Prefer": "respond-async"})
    with ana.stream("GET", f"{sent.headers['location']}/events") as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in events.iter_lines() if line.startswith("event: ")]
    names = [line.removeprefix("event: ") for line in lines]
    assert names == ["queued", "started", "planned", "charged", "reading", "over"]
    assert ana.get(sent.headers["location"]).json()["rows"]


def test_answers_come_as_arrow_too(server):
    import pyarrow as pa  # noqa: PLC0415

    accept = {"Accept": "application/vnd.apache.arrow.stream"}
    answer = server.client("ana").post(PATH, json=query(16), headers=accept)
    table = pa.ipc.open_stream(answer.content).read_all()
    assert table.column_names == ["n", "n_low", "n_high"]
    assert table.num_rows == 1


def test_the_ledger_is_exported_line_by_line_and_verified(server):
    aud = server.client("aud")
    lines = aud.get("/v1/datasets/clinic/ledger").text.splitlines()
    assert len(lines) == len(spent(server))
    assert len(aud.get(f"/v1/datasets/clinic/ledger?after={len(lines) - 1}").text.splitlines()) == 1
    assert aud.post("/v1/datasets/clinic/ledger/verify").json()["ok"]


# --- classes and ticks ------------------------------------------------------------------------


def test_a_class_follows_from_the_plan(tmp_path):
    with clinic.in_test_mode() as session:
        assert class_of(session.plan(clinic.COUNT, epsilon=1)) is SMALL
        assert class_of(session.plan(clinic.BY_WARD, epsilon=1)) is SMALL
        by_visit = "SELECT visit, COUNT(*) AS n FROM visits GROUP BY visit"
        assert class_of(session.plan(by_visit, epsilon=1, delta=1e-9)) is MEDIUM
    assert LARGE.factor > MEDIUM.factor > SMALL.factor


def test_answers_are_due_at_powers_of_two():
    tick = Fraction(1, 4)
    assert due(10.0, 10.01, tick) == due(10.0, 10.249, tick) == 10.25
    assert due(10.0, 10.26, tick) == due(10.0, 10.5, tick) == 10.5
    assert due(10.0, 10.51, tick) == due(10.0, 10.99, tick) == 11.0


def test_events_come_in_one_order_however_they_are_heard_of():
    """The worker tells of its plan on one way, and the ledger of the charge on another."""
    job = AskJob(id="a", person="ana", dataset="clinic", message={})
    for event in ("started", "charged"):
        job.tell(event)
    job.planned(SMALL)
    job.tell("reading")
    assert job.told == ("queued", "started", "planned", "charged", "reading")
    assert job.size is SMALL
