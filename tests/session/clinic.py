"""A small made-up clinic: visits, bills that belong to visits, and public wards."""

import pyarrow as pa

import discreet.session as sessions

POLICY = """
format = 1
unit = "patient"
[budget]
epsilon = "2"
[limits]
max_groups = 2
max_rows = 3
max_epsilon_per_question = "1"
[tables.visits.columns.region]
type = "text"
categories = ["north", "south"]
constant = true
[tables.visits.columns.ward]
type = "text"
categories = ["A", "B", "C"]
[tables.visits.columns.cost]
type = "float"
low = 0
high = 100
nullable = false
"""

LINKED = """
[tables.visits]
key = ["visit"]
[tables.bills.link]
column = "visit"
parent = "visits"
key = "visit"
[tables.bills.columns.amount]
type = "integer"
low = 0
high = 50
[tables.wards]
public = true
key = ["ward"]
"""

COUNT = "SELECT COUNT(*) AS n FROM visits"
BY_WARD = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward"


def visits(patients=40):
    """Every patient has two visits; those of even patients are in ward A, of odd ones in B."""
    rows = [
        {
            "patient": who,
            "visit": 2 * who + again,
            "region": "north" if who % 4 < 2 else "south",
            "ward": "AB"[who % 2],
            "cost": 10.0 + who % 7,
        }
        for who in range(patients)
        for again in range(2)
    ]
    return pa.Table.from_pylist(rows)


def bills(patients=40):
    """Every visit has one bill."""
    numbers = range(2 * patients)
    return pa.table({"visit": list(numbers), "amount": [number % 50 for number in numbers]})


def wards():
    return pa.table({"ward": ["A", "B", "C", "D"], "beds": [10, 20, 30, 40]})


def opened(folder, **changes):
    """Open the visits with a ledger in a folder."""
    arguments = {"policy": POLICY, "ledger": folder / "clinic.ledger", **changes}
    source = arguments.pop("source", None) or {"visits": visits()}
    return sessions.open(source, **arguments)


def in_test_mode(policy=POLICY, **tables):
    """Open tables so that answers have no noise to speak of."""
    return sessions.open(tables or {"visits": visits()}, policy=policy, test_mode=True)


EXACT = {"epsilon": "1e20"}
