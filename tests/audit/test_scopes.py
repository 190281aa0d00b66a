"""Does anybody count who does not pay?

A question about a part of the people is charged to a box, and those outside keep their budget.  So
nobody outside may count: all of them are taken out, and no total may move.  And whoever is inside
pays: after questions about parts, what is left for a part is what its people have left, and a
question about all is refused where one part has nothing left.  A condition on a column in which the
rows of a person differ must not narrow a box.
"""

# ruff: noqa: S608 (questions of our own)

import tempfile
from fractions import Fraction
from pathlib import Path

import pyarrow as pa

from discreet.accounting import Budget
from discreet.accounting.amounts import amount_value
from discreet.errors import OverBudget
from discreet.ledger import Ledger
from discreet.session import open as opened
from tests.audit.clinic import totals_of

_POLICY = """
format = 1
unit = "who"
[limits]
max_rows = 4
max_groups = 2
[tables.t.columns]
who = {type = "integer"}
region = {type = "text", categories = ["north", "south"], constant = true}
ward = {type = "text", categories = ["A", "B"]}
cost = {type = "integer", low = 0, high = 9}
"""
_NORTH = "region = 'north'"
NARROW = (
    f"SELECT COUNT(*) AS n FROM t WHERE {_NORTH}",
    f"SELECT ward, SUM(cost) AS s FROM t WHERE {_NORTH} GROUP BY ward",
    f"SELECT COUNT(*) AS n FROM (SELECT * FROM t WHERE {_NORTH}) AS s WHERE cost > 1",
    f"SELECT COUNT(*) AS n FROM t AS a JOIN t AS b ON a.who = b.who WHERE a.{_NORTH}",
    (
        f"SELECT COUNT(*) AS n FROM (SELECT who FROM t WHERE {_NORTH} UNION ALL "
        f"SELECT who FROM t WHERE {_NORTH}) AS u"
    ),
    "SELECT COUNT(*) AS n FROM t WHERE NOT (region = 'south' OR region IS NULL)",
)
"""Questions about people in the north; some of them may be charged to all."""
WIDE = (
    "SELECT COUNT(*) AS n FROM t",
    "SELECT COUNT(*) AS n FROM t WHERE ward = 'A'",
    "SELECT COUNT(*) AS n FROM t WHERE ward = 'A' AND cost > 2",
    f"SELECT COUNT(*) AS n FROM t WHERE {_NORTH} OR ward = 'A'",
    (
        f"SELECT COUNT(*) AS n FROM (SELECT who FROM t WHERE {_NORTH} UNION ALL "
        "SELECT who FROM t) AS u"
    ),
    (
        f"SELECT COUNT(*) AS n FROM t AS a LEFT JOIN (SELECT * FROM t WHERE {_NORTH}) AS b "
        "ON a.who = b.who"
    ),
)
"""Questions that everybody has to pay for."""


def table(*, south):
    """Return rows of people in the north, and perhaps in the south, in both wards each."""
    rows = [
        {"who": who, "region": "north" if who % 2 else "south", "ward": ward, "cost": who % 10}
        for who in range(20)
        for ward in "AB"
        if who % 2 or south
    ]
    return pa.Table.from_pylist(rows)


def test_who_does_not_pay_does_not_count(found):
    """People outside the scope of a question do not count, and those inside pay."""
    wrong, narrow = _outside()
    found.attack(
        f"{len(NARROW)} questions about a part, {narrow} charged to it; {len(WIDE)} about all",
        [*wrong, *_paid()],
        not_covered="scopes of several columns and linked tables, which tests plant wrongly",
    )


def _outside():
    """Compare totals with and without those whom a box leaves out."""
    wrong = []
    narrow = 0
    options = {"policy": _POLICY, "test_mode": True}
    with (
        opened({"t": table(south=True)}, **options) as everybody,
        opened({"t": table(south=False)}, **options) as some,
    ):
        for sql in (*NARROW, *WIDE):
            plan = everybody.plan(sql, epsilon=1)
            here, there = (totals_of(each, plan) for each in (everybody, some))
            if plan.scope.conditions:
                narrow += 1
                wrong += [f"{sql}: somebody counts who does not pay"] * (here != there)
                wrong += [f"{sql}: charged to a part"] * (sql in WIDE)
    wrong += ["no question was charged to a part"] * (narrow < 3)
    return wrong, narrow


def _paid():
    """Ask about a part until it has nothing left; the others keep theirs, and all do not."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        ledger, budget = Path(folder) / "scopes.ledger", Budget(epsilon=2)
        source = {"t": table(south=True)}
        with opened(source, policy=_POLICY, budget=budget, ledger=ledger) as session:
            north = session.plan(NARROW[0], epsilon=1).scope
            south = session.plan(NARROW[0].replace("north", "south"), epsilon=1).scope
            session.ask(NARROW[0], epsilon="1.5")
            wrong += ["the part does not pay"] * (_left(session, north) != Fraction(1, 2))
            wrong += ["others pay for the part"] * (_left(session, south) != 2)
            wrong += ["all have more than the part"] * (_left(session, None) != Fraction(1, 2))
            for sql in (NARROW[1], WIDE[0], WIDE[1]):
                try:
                    session.ask(sql, epsilon=1)
                except OverBudget:
                    continue
                wrong.append(f"{sql}: granted though the part has nothing left")
    return wrong


def _left(session, scope):
    ledger = session.ledger
    assert isinstance(ledger, Ledger)
    return amount_value(ledger.left(scope=scope).amounts[0])
