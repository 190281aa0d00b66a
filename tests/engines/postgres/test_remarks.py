"""What the server remarks beside its answers is printed nowhere."""

import subprocess
import sys

from tests.engines.postgres.rows import make

PROGRAM = """
import sys
from discreet.engines.hash_order import HashOrder
from discreet.engines.postgres.engine import Postgres
from discreet.requests.engine_request import EngineRequest, Total
from discreet.query.expressions import Literal
from discreet.query.relations import Scan
from discreet.query.types import Type

count = Total(name="n", row=Literal(1), low=0, high=1)
scan = Scan("people", (("age", Type.INTEGER),))
lowered = EngineRequest(relation=scan, unit=(), keys=(), groups=None, measures=(count,))
with Postgres({"people": sys.argv[1]}) as engine:
    print(engine.run(lowered, order=HashOrder(salt=1)).totals["n"][0])
"""


def test_remarks_of_the_server_are_not_printed(postgres, owner, place):
    """A role may be set up to be told everything, numbers of rows among it."""
    make(postgres, "people", {"age": "int"})
    owner(
        "INSERT INTO people VALUES (1), (2), (3)",
        "DROP ROLE IF EXISTS curious",
        "CREATE ROLE curious LOGIN SUPERUSER PASSWORD 'curious'",
        "ALTER ROLE curious SET client_min_messages = 'debug5'",
        "ALTER ROLE curious SET log_executor_stats = on",
        "ALTER ROLE curious SET debug_print_plan = on",
    )
    address = place("people", role="curious", password="curious")  # noqa: S106
    try:
        told = subprocess.run(
            [sys.executable, "-c", PROGRAM, address], capture_output=True, text=True, check=True
        )
    finally:
        owner("DROP ROLE curious")
    assert told.stdout == "3\n"
    assert told.stderr == ""
