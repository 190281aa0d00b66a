"""Audits that are begun on a page end with their server, however it ends."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from discreet.service import ServiceCounter, create_app, read_site
from discreet.web import mount
from discreet.web.evidence.audit_run import AuditRun
from discreet.web.local_server import local_application
from tests.attacks.groups import alive, left_after
from tests.web.served import listening, write_site


def audits(folder):
    """Return the processes whose command line names something in a folder, and an audit."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = file.read_bytes()
            if str(folder).encode() in words and b"--quick" in words:
                found.append(int(file.parent.name))
    return found


def begun(folder):
    """Return the process of an audit in a folder, which may be slow: it is the least of all."""
    until = time.monotonic() + 60
    while not audits(folder):
        assert time.monotonic() < until
        time.sleep(0.05)
    [process] = audits(folder)
    assert os.getpgid(process) == process
    return process


@pytest.fixture
def folder(tmp_path):
    """A site, in whose folder no audit is left after the test."""
    write_site(tmp_path)
    yield tmp_path
    for process in audits(tmp_path):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def test_an_audit_that_is_stopped_leaves_nobody(folder):
    run = AuditRun(folder / "audit")
    run.begin()
    process = begun(folder)
    assert run.seconds is not None
    run.begin()
    assert audits(folder) == [process]
    run.stop()
    assert run.seconds is None
    assert left_after(process) == []
    run.stop()


def test_an_audit_that_does_not_stop_is_killed(folder):
    run = AuditRun(folder / "audit")
    run.begin()
    process = begun(folder)
    os.kill(process, signal.SIGSTOP)
    run.stop()
    assert alive(process) == []


def test_pages_of_a_server_end_their_audit_when_it_stops(folder):
    counter = ServiceCounter(read_site(folder / "site.toml"))
    try:
        app = create_app(counter, mount=mount)
        with listening(lambda _port: app):
            app.routes[-1].app.state.desk.audit.begin()
            process = begun(folder)
        assert left_after(process, seconds=0) == []
        assert app.state.threads._shutdown
    finally:
        counter.close()


def test_a_workbench_ends_its_audit_when_it_is_closed(folder):
    with local_application(folder / "clinic.toml", port=8000) as app:
        app.state.desk.audit.begin()
        process = begun(folder)
    assert left_after(process, seconds=0) == []


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_an_audit_does_not_outlive_a_workbench(sent, folder):
    """Begun by its button; killed, too."""
    command = ["workbench", str(folder / "clinic.toml"), "--no-browser"]
    server = subprocess.Popen(
        [sys.executable, "-m", "discreet.cli", *command],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        url = re.search(r"http\S+/", server.stdout.readline())[0]
        with httpx.Client(base_url=url, timeout=30, headers={"Origin": url[:-1]}) as client:
            page = until_answered(client)
            token = re.search(r'name="csrf"[^>]*value="([^"]+)"', page)[1]
            assert client.post("/audit/run", data={"csrf": token}).status_code == 303
        process = begun(folder)
        server.send_signal(sent)
        server.wait(30)
        assert left_after(process, seconds=60) == []
    finally:
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.communicate()


def until_answered(client):
    """Return the page of audits, once the server answers."""
    until = time.monotonic() + 30
    while True:
        try:
            return client.get("/audit").text
        except httpx.ConnectError:
            assert time.monotonic() < until
            time.sleep(0.05)
