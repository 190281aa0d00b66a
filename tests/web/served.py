"""A site for the tests: made-up visits, four people, and names that try to break out of pages."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from discreet.service.counter import ServiceCounter
from discreet.service.http.app import create_app
from discreet.service.site import read_site
from discreet.web.pages import mount

HOSTILE = "<img src=x onerror=document.title='broken'>"
"""A category that runs a script wherever it is not escaped."""
PASSWORD = "correct horse battery staple"  # noqa: S105  of made-up people
PEOPLE = {"olga": "owner", "stan": "steward", "ana": "analyst", "aud": "auditor", "vi": "viewer"}

POLICY = f"""
format = 1
unit = "patient"
[session]
data = "visits.csv"
ledger = "visits.ledger"
[budget]
epsilon = 1
delta = "1e-9"
[limits]
max_groups = 3
max_rows = 4
[tables.visits.columns]
patient = {{ type = "integer" }}
ward = {{ type = "text", categories = ["A", "B", "{HOSTILE}"] }}
cost = {{ type = "float", low = 0, high = 900, nullable = false }}
[about]
title = "Visits {HOSTILE}"
curator = "St. Made-Up {HOSTILE}"
"""

SITE = """
format = 1
[datasets.clinic]
policy = "clinic.toml"
data = "visits.csv"
ledger = "visits.ledger"
[limits]
workers = 1
tick = 0
calls_per_minute = 6000
logins_per_minute = 6000
"""


SECOND = """
[datasets.archive]
policy = "clinic.toml"
data = "archive.csv"
ledger = "archive.ledger"
"""


def write_site(folder: Path, *, second: bool = False) -> Path:
    """Write data, policy and site file into a folder; return the path of the last."""
    write_visits(folder / "visits.csv")
    write_visits(folder / "archive.csv", rows=50)
    (folder / "clinic.toml").write_text(POLICY)
    people = "".join(f'[people.{name}]\nroles = ["{role}"]\n' for name, role in PEOPLE.items())
    (folder / "site.toml").write_text(SITE + SECOND * second + people)
    return folder / "site.toml"


def write_visits(
    path: Path, rows: int = 3000, wards: tuple[str, ...] = ("A", "A", "B", HOSTILE)
) -> None:
    """Write made-up visits of patients to wards."""
    lines = [f'{n * 7919 % 900},"{wards[n % len(wards)]}",{n * 31 % 900}' for n in range(rows)]
    path.write_text("\n".join(["patient,ward,cost", *lines, ""]))


@contextmanager
def listening(app_for) -> Iterator[str]:
    """Serve an application on a free port of this machine; ``app_for(port)`` makes it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(app_for(port), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def served(folder: Path, *, second: bool = False) -> Iterator[tuple[str, ServiceCounter]]:
    """Serve the site of a folder, in which everybody has a password."""
    counter = ServiceCounter(read_site(write_site(folder, second=second)))
    try:
        for name in PEOPLE:
            counter.directory.passwords.put(name, PASSWORD)
        app = create_app(counter, mount=mount)
        with listening(lambda _port: app) as address:
            yield address, counter
    finally:
        counter.close()
