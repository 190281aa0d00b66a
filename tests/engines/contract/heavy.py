"""A question that takes minutes with many rows, and no time with few."""

import pyarrow as pa

import discreet as dp
from discreet.query.types import Type

TYPES = {"u": Type.INTEGER, "i": Type.INTEGER}
FEW, MANY = 5, 200_000
QUESTION = "SELECT COUNT(*) AS n FROM events AS a JOIN events AS b ON a.u = b.u AND a.i < b.i"
POLICY = "format = 1\n[limits]\nmax_rows = 100\nmax_fan_out = 1_000_000"


def rows(count):
    """Return the rows of one unit."""
    return pa.table({"u": [1] * count, "i": list(range(count))})


def pairs(count):
    """Return how many pairs of rows there are."""
    return count * (count - 1) // 2


def ready(session):
    """Do nothing; everything is imported by then."""


def asked(session, events, folder):
    """Ask about pairs of rows, with a ledger."""
    opened = dp.open(
        {"events": events},
        unit=dp.person("u"),
        budget=dp.Budget(epsilon=90000, delta=1e-9),
        ledger=f"{folder}/events.ledger",
        policy=POLICY,
    )
    with opened:
        answer = opened.ask(QUESTION, epsilon=60000, confirm=True)
        return {
            "n": answer.to_arrow().column("n").to_pylist(),
            "kinds": [
                entry["kind"] for entry in opened.ledger.entries() if entry["kind"] != "describe"
            ],
        }
