"""A secret that costs time is not told from when answers come, as long as ticks are on.

The secret is one person with very many rows: tables with and without them are neighbors, and
reading them takes longer.  Rank statistics tell the two sets of times apart where ticks are off.
"""

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.documents import QuestionDocument
from discreet.service.workers.jobs import AskJob, due
from tests.service import served
from tests.session import clinic

PATH = "/v1/datasets/clinic/queries"
POLICY = """
format = 1
unit = "patient"
[budget]
epsilon = "1000000"
[limits]
max_rows = 3
[tables.visits.columns.cost]
type = "float"
low = 0
high = 100
nullable = false
"""


def table(rows):
    """People with one row each, and one person with so many."""
    people = np.concatenate([np.arange(2000), np.full(rows, 2000)])
    costs = np.arange(len(people)) * 0.6180339887 % 97  # different ones, which take time to read
    return pa.table({"patient": people, "cost": costs})


def area(first, second):
    """Return how likely a time of the second is above one of the first (ties count half)."""
    first, second = np.sort(first), np.asarray(second)
    below = np.searchsorted(first, second, "left") + np.searchsorted(first, second, "right")
    return below.mean() / (2 * len(first))


def times(folder, *, tick, count, rows, threads=1):
    """Return how long answers take about both tables, asked side by side."""
    waits = {"without": [], "with": []}

    def ask(server, name, first, asked):
        client = server.client("ana")
        for number in range(first, first + asked):
            text = f"SELECT COUNT(*) AS n FROM visits WHERE cost < 50.{number:06d}"  # noqa: S608
            begun = time.monotonic()
            answer = client.post(PATH, json={"question": text, "epsilon": "0.5"})
            waits[name].append(time.monotonic() - begun)
            assert answer.status_code == 200

    for name in waits:
        (folder / name).mkdir(parents=True)
    common = {"tick": tick, "policy": POLICY}
    with (
        served.serving(folder / "without", table=table(0), **common) as first,
        served.serving(folder / "with", table=table(rows), **common) as second,
    ):
        servers = {"without": first, "with": second}
        with ThreadPoolExecutor(2) as pool:  # until the workers are warm
            list(pool.map(lambda name: ask(servers[name], name, 900_000, 4), servers))
        for found in waits.values():
            found.clear()
        with ThreadPoolExecutor(2 * threads) as pool:
            jobs = [
                pool.submit(ask, server, name, 1 + thread * count, count // threads)
                for thread in range(threads)
                for name, server in servers.items()
            ]
            for job in jobs:
                job.result()
    return waits["without"], waits["with"]


SPREAD = 4.9
"""How many standard deviations chance exceeds once in a million."""


@given(
    arrived=st.floats(0, 1e6),
    first=st.floats(0, 4),
    second=st.floats(0, 4),
    tick=st.fractions("1/100", 2),
)
def test_answers_that_are_ready_within_one_tick_are_sent_at_the_same_time(
    arrived, first, second, tick
):
    """When an answer is sent follows from the power of two that its time is below, and no more."""
    sent = [due(arrived, arrived + ready, tick) - arrived for ready in (first, second)]
    bins = [next(k for k in range(64) if ready <= tick * 2**k) for ready in (first, second)]
    if (
        bins[0] == bins[1]
        and min(abs(r - tick * 2**k) for r in (first, second) for k in range(64)) > 1e-6
    ):
        assert sent[0] == sent[1]
    for ready, time_sent in zip((first, second), sent, strict=True):
        assert time_sent >= ready - 1e-6
        assert time_sent >= float(tick) - 1e-6


def test_no_answer_comes_before_its_tick():
    """Over HTTP, with a tick that reading two thousand rows needs a part of."""
    with tempfile.TemporaryDirectory() as folder:  # paths of sockets are short
        first, second = times(Path(folder), tick="0.5", count=3, rows=20_000)
    assert min(*first, *second) >= 0.5


@pytest.mark.slow  # it reads the clock, and wants a machine of its own
def test_ticks_hide_a_secret_that_costs_time(tmp_path):
    """Without ticks the secret is told; with them the order of times is that of chance."""
    without, with_ = times(tmp_path / "off", tick="0", count=16, rows=6_000_000)
    assert np.median(with_) - np.median(without) > 0.02
    told = area(without, with_)
    first, second = times(tmp_path / "on", tick="1", count=40, rows=6_000_000, threads=4)
    bound = SPREAD * np.sqrt((len(first) + len(second) + 1) / (12 * len(first) * len(second)))
    assert abs(area(first, second) - 0.5) < bound < told - 0.5
    assert min(*first, *second) >= 1


@pytest.mark.slow
def test_ticks_hide_it_in_ten_thousand_answers(tmp_path):
    first, second = times(tmp_path, tick="2", count=5_000, rows=3_000_000, threads=20)
    told = area(first, second)
    assert abs(told - 0.5) <= 0.02, told


# --- nothing tells before the tick ------------------------------------------------------------


@pytest.fixture(scope="module")
def slow_ticks(tmp_path_factory):
    """A server whose first tick comes long after every answer is ready."""
    folder = tmp_path_factory.mktemp("ticks")
    with served.serving(folder, tick="6", table=table(0), policy=POLICY, workers=2) as server:
        form = QuestionDocument.read({"question": clinic.COUNT, "epsilon": "0.5"})
        with ThreadPoolExecutor(2) as pool:  # until both workers are warm
            caller = server.caller("ana")
            list(pool.map(lambda _: server.counter.plan(caller, "clinic", form), range(4)))
        yield server


def begun(server, name, number):
    """Begin a question in the background, and return its job once the answer is on record."""
    text = f"SELECT COUNT(*) AS n FROM visits WHERE cost < 10.{number}"  # noqa: S608
    body = {"question": text, "epsilon": "0.5"}
    place = server.client(name).post(PATH, json=body, headers={"Prefer": "respond-async"})
    job = server.counter.job(server.caller(name), place.json()["job"])
    assert job.wait(60)
    assert server.counter.due(job) > time.monotonic() + 0.5
    return body, job


def polls_say_the_same(server):
    """Until the tick, polls say that it is read."""
    _, job = begun(server, "ana", 1)
    ana, due_at = server.client("ana"), server.counter.due(job)
    sent = time.monotonic()
    early = ana.get(f"/v1/jobs/{job.id}")
    assert time.monotonic() < due_at, sent
    assert (early.status_code, early.json()["events"][-1]) == (202, "reading")
    assert server.counter.due(job) == due_at
    yield due_at
    assert ana.get(f"/v1/jobs/{job.id}").status_code == 200


def the_record_moves_for_those_without_the_ledger(server):
    """It does so at the tick."""
    ana, vic, aud = (server.client(name) for name in ("ana", "vic", "aud"))

    def seen(client):
        return (
            client.get("/v1/datasets/clinic").json()["receipt"],
            client.get("/v1/datasets/clinic/label").json()["evidence"],
        )

    before = seen(vic), seen(aud)
    body, job = begun(server, "ana", 2)
    entry = job.result["document"]["entry"]
    place = f"/v1/datasets/clinic/releases/{entry}"
    told = [vic.get(place).status_code, ana.get(place).status_code, aud.get(place).status_code]
    listed = ana.get("/v1/datasets/clinic/releases").json()["releases"]
    standing = ana.post(f"{PATH}?dry_run=true", json=body).json()["standing"]
    hidden, shown = seen(vic), seen(aud)
    assert time.monotonic() < server.counter.due(job)  # all of this was before the tick
    assert told == [404, 404, 200]
    assert entry not in [each["entry"] for each in listed]
    assert standing is None
    assert hidden == before[0]
    assert shown != before[1]
    yield server.counter.due(job)
    assert vic.get(place).status_code == 200
    assert seen(vic)[0] == seen(aud)[0]
    assert ana.post(f"{PATH}?dry_run=true", json=body).json()["standing"]["answered"] == entry
    assert len(vic.get(place).json()["at"]) < len(aud.get(place).json()["at"])  # no microseconds


def a_plan_that_was_sent_before_does_not_tell_it(server):
    """Another question is answered while a plan is on its way to the worker that sees it."""
    counter, answers = server.counter, []
    kind, worked = type(counter), type(counter)._worked
    text = "SELECT COUNT(*) AS n FROM visits WHERE cost < 10.9"
    form = QuestionDocument.read({"question": text, "epsilon": "0.5"})
    ana, ben = server.caller("ana"), server.caller("ben")

    def late(self, caller, dataset, message, **more):
        if not answers:
            answers.append(counter.begin(ana, "clinic", form))
            assert answers[0].wait(60)
        return worked(self, caller, dataset, message, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "_tick_of", lambda *_: time.monotonic() + 1000)  # it has not come yet
        patch.setattr(kind, "_worked", late)
        assert counter.plan(ben, "clinic", form).document["standing"] is None
    yield counter.due(answers[0])
    told = counter.plan(ben, "clinic", form).document["standing"]
    assert told["answered"] == answers[0].result["document"]["entry"]


def asking_again_is_no_quicker(server):
    """Somebody else's question has the same answer, at the tick of the first one."""
    body, job = begun(server, "ana", 3)
    due_at = server.counter.due(job)

    def again():
        told = server.client("ben").post(PATH, json=body).json()
        return told, time.monotonic()

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(again)
        yield due_at
        told, at = asked.result()
    assert told["replayed"]
    assert at >= due_at
    sent = time.monotonic()
    assert server.client("ben").post(PATH, json=body).json()["replayed"]
    assert time.monotonic() - sent < 2  # what was told is told at once


def test_nothing_tells_before_the_tick_and_everything_after_it(slow_ticks):
    """Each begins with a question of its own; then one wait is enough for all of their ticks.

    What compares the record before and after comes first, while no other question is open.
    """
    stories = [
        the_record_moves_for_those_without_the_ledger(slow_ticks),
        polls_say_the_same(slow_ticks),
        a_plan_that_was_sent_before_does_not_tell_it(slow_ticks),
        asking_again_is_no_quicker(slow_ticks),
    ]
    dues = [next(story) for story in stories]
    time.sleep(max(0, max(dues) - time.monotonic()))
    for story in stories:
        assert next(story, "ended") == "ended"


def test_what_follows_a_reading_is_not_told_on_the_way():
    job = AskJob(id="1", person="ana", dataset="clinic", message={})
    for event in ("started", "planned", "charged", "reading", "charged", "reading"):
        job.tell(event)
    assert job.told == ("queued", "started", "planned", "charged", "reading")
