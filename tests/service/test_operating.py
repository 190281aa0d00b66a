"""What befalls a server that runs: signals, replaced files, full disks, files that are deleted.

All of it with the real command as a process of its own, over TLS.
"""

import os
import resource
import signal
import subprocess
import sys
import threading

import httpx
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet import errors
from discreet.ledger import Ledger
from discreet.service.state import SecurityLog
from discreet.service.workers.jobs import AskJob
from tests.service import processes, served
from tests.session import clinic

PATH = "/v1/datasets/clinic/queries"
TLS = served.SITE.replace("port = 0", 'port = 0\ncertificate = "clinic.pem"\nkey = "clinic.key"')


def query(number):
    text = f"SELECT COUNT(*) AS n FROM visits WHERE cost < {number}"  # noqa: S608
    return {"question": text, "epsilon": "0.5"}


def replaced(folder, table):
    """Put another file in the place of the data, as programs that export do."""
    pq.write_table(table, folder / "next.parquet")
    (folder / "next.parquet").replace(folder / "visits.parquet")


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    processes.certified(folder)
    served.written(folder, site=TLS)
    server = processes.ServerProcess(folder, "ana", "aud")
    yield server
    assert server.stop(signal.SIGTERM) == 0
    assert server.log()[-1] == "stop"


def charges(client):
    lines = client.get("/v1/datasets/clinic/ledger").text.splitlines()
    return sum('"kind":"charge"' in line for line in lines)


def test_answers_travel_over_tls(running, monkeypatch):
    assert running.url.startswith("https://127.0.0.1:")
    assert "discreet password site.toml" in running.link
    token = running.tokens["ana"]
    with dp.connect(running.url, token=token, context=running.context) as connection:
        assert connection.ask(clinic.COUNT, epsilon="0.5").receipt is not None
    with pytest.raises(errors.TryAgain, match="certificate is not trusted"):
        dp.connect(running.url, token=token)
    monkeypatch.setenv("SSL_CERT_FILE", str(running.folder / "clinic.pem"))
    with dp.connect(running.url, token=token) as connection:
        assert connection.ask(clinic.COUNT, epsilon="0.5").replayed
    with pytest.raises(httpx.HTTPError):
        httpx.get(running.url.replace("https", "http") + "/v1/health")


def test_data_that_is_replaced_is_opened_again(running):
    with running.client("ana") as ana:
        first = ana.post(PATH, json=query(1)).json()
        replaced(running.folder, clinic.visits(30))
        second = ana.post(PATH, json=query(2))
        assert second.status_code == 200, second.text
        stored = ana.get(f"/v1/datasets/clinic/releases/{first['entry']}").json()
        (column,) = stored["answer"]["columns"]
        assert column["values"] == [row["n"] for row in first["rows"]]


def test_data_that_does_not_fit_is_told_and_taken_up_once_it_does(running):
    with running.client("ana") as ana, running.client("aud") as aud:
        replaced(running.folder, clinic.visits().drop_columns(["cost"]))
        before = charges(aud)
        told = ana.post(PATH, json=query(3))
        assert told.status_code == 503
        assert "cannot be opened" in told.json()["detail"]
        assert "cost" in told.json()["detail"]
        assert ana.get("/v1/ready").status_code == 503
        assert charges(aud) == before
        replaced(running.folder, clinic.visits(20))
        processes.until(lambda: ana.get("/v1/ready").status_code == 200)
        assert ana.post(PATH, json=query(3)).status_code == 200
        assert charges(aud) == before + 1
    events = running.log()
    assert events.count("data cannot be opened") == events.count("data can be opened again") == 1


def test_a_full_disk_is_told_and_nothing_is_lost_or_free(running):
    """The limit on the size of files stands in for a disk without room."""
    number = running.process.pid
    soft, hard = resource.prlimit(number, resource.RLIMIT_FSIZE)
    with running.client("ana") as ana, running.client("aud") as aud:
        first = ana.post(PATH, json=query(4)).json()
        before = charges(aud)
        resource.prlimit(number, resource.RLIMIT_FSIZE, (1, hard))
        try:
            keyed = ana.post(PATH, json=query(5), headers={"Idempotency-Key": "full"})
            plain = ana.post(PATH, json=query(6))
            again = ana.post(PATH, json=query(4))
        finally:
            resource.prlimit(number, resource.RLIMIT_FSIZE, (soft, hard))
        for told in (keyed, plain):
            assert told.status_code == 503
            assert told.headers["content-type"] == "application/problem+json"
            assert told.json()["do"]
        assert "cannot be written" in keyed.json()["detail"]
        assert again.status_code in {200, 503}
        assert ana.post(PATH, json=query(4)).json()["rows"] == first["rows"]
        assert charges(aud) == before
        answer = ana.post(PATH, json=query(5), headers={"Idempotency-Key": "full"})
        assert answer.status_code == 200
        assert ana.post(PATH, json=query(6)).status_code == 200
        assert charges(aud) == before + 2
        assert aud.post("/v1/datasets/clinic/ledger/verify").json()["ok"]


def test_a_worker_that_never_gets_ready_takes_no_questions_of_another(tmp_path):
    with served.serving(tmp_path, workers=2) as server:
        ana, counter = server.client("ana"), server.counter
        processes.until(lambda: len(counter.workers("clinic")) == 2)
        kept, _ = counter.workers("clinic")
        killed, over = set(), threading.Event()

        def kill():
            while not over.wait(0.02):
                for worker in set(counter.workers("clinic")) - killed - {kept}:
                    os.kill(worker, signal.SIGKILL)
                    killed.add(worker)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            processes.until(
                lambda: ana.post(PATH, json=query(1)).status_code == 200 and len(killed) > 2
            )
            before = len(killed)
            told = []
            while len(killed) < before + 2 or len(told) < 8:
                told.append(ana.post(PATH, json=query(len(told))).status_code)
        finally:
            over.set()
            killer.join()
    assert set(told) == {200}


def test_whoever_waits_when_the_workers_are_stopped_is_told(tmp_path):
    """A worker does not go on with its job; two jobs have not begun, and one comes late."""
    with served.serving(tmp_path) as server:
        counter = server.counter
        processes.until(lambda: server.client("ana").get("/v1/datasets/clinic").status_code == 200)
        (worker,) = counter.workers("clinic")
        os.kill(worker, signal.SIGSTOP)
        jobs = [AskJob(id=str(n), person="ana", dataset="clinic", message={}) for n in range(4)]
        pool = counter._pools["clinic"]
        for job in jobs[:3]:
            pool.submit(job)
        processes.until(lambda: jobs[0].begun)
        pool.close(wait=0.1)
        pool.submit(jobs[3])
        assert [type(job.error) for job in jobs] == [errors.EngineStopped] * 4


def test_a_state_that_is_deleted_is_noticed_and_a_signal_closes_everything(tmp_path):
    served.written(tmp_path)
    server = processes.ServerProcess(tmp_path, "ana")
    state = tmp_path / "site.state"
    try:
        with server.client("ana") as ana:
            assert ana.post(PATH, json=query(7)).status_code == 200
            (state / "security.log").rename(state / "security.log.1")
            (state / "state.sqlite").rename(state / "aside")
            told = ana.post(PATH, json=query(8))
            assert told.status_code == 503
            assert "state of this server is gone" in told.json()["detail"]
            assert ana.get("/v1/ready").status_code == 503
            (state / "aside").rename(state / "state.sqlite")
            assert ana.post(PATH, json=query(8)).status_code == 200
    finally:
        code = server.stop(signal.SIGINT)
    assert code == 0
    assert server.log() == ["log begun anew", "stop"]
    assert not (state / "clinic.sock").exists()
    with Ledger.open(tmp_path / "clinic.ledger") as ledger:
        assert ledger.verify().ok


def test_no_link_is_told_before_the_server_answers(tmp_path):
    """A certificate that cannot be used ends the command, and no secret was printed for nothing."""
    processes.certified(tmp_path)
    (tmp_path / "clinic.key").write_text("no key")
    served.written(tmp_path, site=TLS)
    found = subprocess.run(
        processes.PROGRAM, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert found.returncode == 4
    assert "TLS cannot be used" in found.stderr
    assert "welcome" not in found.stderr
    assert not (tmp_path / "site.state").exists()


def test_a_torn_line_of_the_log_is_named(tmp_path):
    path = tmp_path / "security.log"
    path.write_text('{"at":"2026","event":"start"}\n{"at":"20')
    log = SecurityLog(path)
    log.write("stop")
    log.close()
    assert [line["event"] for line in log.lines()] == ["start", "torn line", "stop"]


def test_a_policy_is_written_whole_or_not_at_all(tmp_path):
    """With no room for files, the command says so, and leaves no half of a policy."""
    (tmp_path / "visits.csv").write_text("patient,ward\n1,A\n2,B\n")
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM));"
        "from discreet.session.first_run.policy_proposal import write_policy;"
        "from discreet.plan.policy.policy import read_policy; from pathlib import Path;"
        "write_policy(Path('policy.toml'), read_policy('format = 1\\nunit = \"patient\"'))"
    )
    for size, names in (("20", set()), ("4096", {"policy.toml"})):
        found = subprocess.run(
            [sys.executable, "-c", program.replace("ROOM", size)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        assert ("cannot be written" in found.stderr) is not bool(names)
        assert {path.name for path in tmp_path.iterdir()} == names | {"visits.csv"}
