"""SQL clients ask a private table as they ask a database, through PostgreSQL's protocol.

Needs the extras ``service`` and ``postgres``. Any client of PostgreSQL would do; this is psycopg.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import psycopg

POLICY = """
format = 1
unit = "patient"
[who]
analysts = ["ana"]
[session]
data = { visits = "visits.csv" }
ledger = "clinic.ledger"
[budget]
epsilon = 2
delta = 1e-9
[limits]
max_groups = 3
max_rows = 4
[tables.visits.columns]
patient = { type = "integer" }
ward = { type = "text", categories = ["A", "B", "C"] }
"""
QUESTION = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
PASSWORD = "correct horse battery"  # noqa: S105  of a server that lives for a minute


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


def token_of(url: str) -> str:
    """Log in, and make the token that SQL clients send as their password."""
    with httpx.Client(base_url=url, timeout=60) as client:
        while True:
            try:
                told = client.post("/v1/login", json={"name": "ana", "password": PASSWORD})
                break
            except httpx.ConnectError:
                time.sleep(0.1)
        headers = {"X-CSRF-Token": told.json()["csrf"]}
        scope = {"scope": ["schema", "plan", "ask", "budget"]}
        return str(client.post("/v1/tokens", json=scope, headers=headers).json()["token"])


def main(folder: Path) -> None:
    """Serve a table, look around, see the price, ask, and ask again for nothing."""
    rows = (f"{visit % 3000},{'AABC'[visit % 4]}" for visit in range(9000))
    (folder / "visits.csv").write_text("\n".join(["patient,ward", *rows]))
    policy = folder / "clinic.toml"
    policy.write_text(POLICY)
    discreet = [sys.executable, "-m", "discreet.cli"]
    command = [*discreet, "password", str(policy), "ana"]
    subprocess.run(command, input=PASSWORD, text=True, check=True, env=dict(os.environ))  # noqa: S603
    port, sql_port = free_port(), free_port()
    ports = ["--port", str(port), "--sql-port", str(sql_port)]
    command = [*discreet, "serve", str(policy), *ports]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:  # noqa: S603
        token = token_of(f"http://127.0.0.1:{port}")
        place = f"host=127.0.0.1 port={sql_port} dbname=clinic user=ana"
        begun = time.monotonic()
        with psycopg.connect(place, password=token, autocommit=True) as db:
            db.add_notice_handler(lambda note: print(note.severity, note.message_primary))
            print(db.execute("SELECT table_name FROM information_schema.tables").fetchall())
            db.execute("SET discreet.epsilon = '0.1'")
            print(*(line for (line,) in db.execute(f"EXPLAIN {QUESTION}")), sep="\n")
            print(db.execute(QUESTION).fetchall())
            db.execute("SET discreet.intervals = on")
            print(db.execute(QUESTION).fetchall())
        print(f"{time.monotonic() - begun:.1f} s from the first connection to the last answer")
        server.terminate()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as found:
        main(Path(found))
