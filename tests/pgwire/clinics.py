"""The clinic with a port for SQL clients."""

import contextlib

import psycopg

from discreet import pgwire
from tests.service import served

COUNT = "SELECT COUNT(*) AS n FROM visits"
SQL = "[sql_clients]\nport = 0\n"


@contextlib.contextmanager
def sql_clinic(folder, *, more=SQL, **limits):
    """Serve the clinic, also to SQL clients; ``port`` is theirs."""
    policy = limits.pop("policy", served.POLICY)
    table = limits.pop("table", None)
    served.written(folder, site=served.SITE + more, table=table, policy=policy)
    with served.serving(
        folder, mount=lambda app: pgwire.mount(app, app.state.counter), **limits
    ) as server:
        server.sql_port = server.app.state.sql_port
        yield server


def address(server, name="ana", *, token=None, database="clinic", **more):
    """Return what libpq connects to."""
    parts = {"host": "127.0.0.1", "port": server.sql_port, "user": name, "dbname": database}
    parts["password"] = token or server.token(name)
    return " ".join(f"{key}='{value}'" for key, value in {**parts, **more}.items())


def connected(server, name="ana", **more):
    return psycopg.connect(address(server, name, **more), autocommit=True)
