"""A small clinic behind a server in this process, on a port of this machine."""

import contextlib
import threading
import time
from dataclasses import replace
from fractions import Fraction

import httpx
import pyarrow.parquet as pq
import uvicorn

from discreet.service import Grant, ServiceCounter, create_app, read_site
from discreet.service.http.server import listening_socket, uvicorn_config
from tests.session import clinic

PEOPLE = {
    "olga": "owner",
    "sue": "steward",
    "ana": "analyst",
    "ben": "analyst",
    "aud": "auditor",
    "vic": "viewer",
}
SITE = """
format = 1
[address]
port = 0
[limits]
workers = 1
tick = 0
calls_per_minute = 1000000
[datasets.clinic]
policy = "policy.toml"
data = { visits = "visits.parquet" }
ledger = "clinic.ledger"
""" + "".join(f'[people.{name}]\nroles = ["{role}"]\n' for name, role in PEOPLE.items())
POLICY = clinic.POLICY.replace('epsilon = "2"', 'epsilon = "2000"')
PASSWORD = "correct horse battery"  # noqa: S105


def granted(server, name, *roles, datasets=None):
    """Give somebody roles, as a site file that is read again would; without roles they are out."""
    people = {
        each: grant for each, grant in server.counter.directory._site.people.items() if each != name
    }
    if roles:
        where = None if datasets is None else frozenset(datasets)
        people[name] = Grant(roles=frozenset(roles), datasets=where)
    server.counter.directory._site = replace(server.counter.directory._site, people=people)


def written(folder, *, policy=POLICY, site=SITE, table=None):
    """Write data, policy and site into a folder, and return the path of the site."""
    pq.write_table(clinic.visits() if table is None else table, folder / "visits.parquet")
    (folder / "policy.toml").write_text(policy)
    (folder / "site.toml").write_text(site)
    return folder / "site.toml"


class Served:
    """A running server, and clients of its people."""

    def __init__(self, site, *, log=None, mount=None):
        self.counter = ServiceCounter(site)
        self.app = create_app(self.counter, mount=mount and (lambda app, _: mount(app)), log=log)
        self._socket = listening_socket(site)
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._server = uvicorn.Server(uvicorn_config(self.app, site))
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        self._clients = []

    def token(self, name, scope=None):
        caller = self.counter.directory.find(name)
        return self.counter.tokens.make(caller, scope=caller.allowed if scope is None else scope)

    def client(self, name=None, *, token=None):
        token = token or (self.token(name) if name else None)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        client = httpx.Client(base_url=self.url, headers=headers, timeout=120)
        self._clients.append(client)
        return client

    def caller(self, name):
        return self.counter.directory.find(name)

    def close(self):
        for client in self._clients:
            client.close()
        self._server.should_exit = True
        self._thread.join(20)
        self._socket.close()
        self.counter.close(wait=2)


@contextlib.contextmanager
def serving(folder, *, tick="0", table=None, policy=POLICY, log=None, mount=None, **limits):
    """Serve the clinic from a folder, and stop at the end."""
    path = folder / "site.toml"
    if not path.exists():
        written(folder, table=table, policy=policy)
    site = read_site(path)
    changed = replace(site.limits, tick=Fraction(tick), **limits)
    server = Served(replace(site, limits=changed), log=log, mount=mount)
    try:
        yield server
    finally:
        server.close()
