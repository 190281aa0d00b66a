"""A small made-up clinic, in which people break every limit that planning could believe in."""

import pyarrow as pa

import discreet as dp
from discreet.noise import KeyedEntropy
from discreet.query.types import Type

COLUMNS = """
[tables.visits.columns.ward]
type = "text"
categories = ["A", "B"]
[tables.visits.columns.age]
type = "integer"
low = 0
high = 99
[tables.visits.columns.paid]
type = "boolean"
nullable = false
"""
POLICY = f"""
format = 1
unit = "patient"
[limits]
max_groups = 2
max_rows = 3
{COLUMNS}
"""
TYPES = {
    "visits": {
        "patient": Type.INTEGER,
        "ward": Type.TEXT,
        "age": Type.INTEGER,
        "paid": Type.BOOLEAN,
    }
}


def visit(patient, ward, age, paid):
    """One row."""
    return {"patient": patient, "ward": ward, "age": age, "paid": paid}


def crowd(patients=60):
    """Two visits of every patient."""
    return [
        visit(who, "AB"[(who + again) % 2], 7 * who % 100, (who + again) % 3 == 0)
        for who in range(patients)
        for again in range(2)
    ]


def arrow(rows):
    """The rows as a table."""
    schema = {"patient": pa.int64(), "ward": pa.string(), "age": pa.int64(), "paid": pa.bool_()}
    return pa.table(
        {name: pa.array([row[name] for row in rows], kind) for name, kind in schema.items()}
    )


def opened(folder=None, rows=None, *, policy=POLICY, **more):
    """A session of the clinic: with a ledger in a folder, or in test mode."""
    table = arrow(crowd() if rows is None else rows)
    place = {"test_mode": True} if folder is None else {"ledger": folder / "clinic.ledger"}
    return dp.open({"visits": table}, policy=policy, **place, **more)


def planned(session, **more):
    """The plan of a small synthetic table."""
    usual = {"rho": "0.5", "bins": 4, "method": dp.synthetic.MST()}
    if "epsilon" in more:
        del usual["rho"]
    return dp.plan_synthesis(session, "visits", **{**usual, **more})


def stream(label):
    """Random words that are the same every time."""
    return KeyedEntropy(key=bytes(32), label=label)
