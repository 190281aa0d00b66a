"""Whatever is drawn for an answer is drawn anew: nothing follows from the question.

Every kind of draw has its question.  It is asked under two new ledgers about the same rows, so
draws that follow from the plan, its digest, the rows or the code are the same both times, and
fresh ones differ: each answer is among so many that two equal ones come less than once in a
million runs.
"""

import json

import pyarrow as pa
import pytest

import discreet as dp
from discreet.synthetic import AIM, MST, MWEM, DualQuery, Independent

GROUPS = 120
PEOPLE = 12
MANY = list(range(2000))
NAMES = [f"g{number}" for number in range(GROUPS)]
POLICY = f"""
format = 1
unit = "who"
[limits]
max_groups = 1
max_rows = 1
[tables.t.columns]
who = {{type = "integer"}}
g = {{type = "text", categories = {json.dumps(NAMES)}}}
h = {{type = "text"}}
v = {{type = "integer", low = 0, high = 999}}
w = {{type = "text", categories = ["A", "B", "C", "D"]}}
free = {{type = "integer"}}
a = {{type = "integer", categories = {MANY}, nullable = false}}
b = {{type = "integer", categories = {MANY}, nullable = false}}
"""
PRICE = {"epsilon": "0.5"}
QUESTIONS = {
    "counts": ("SELECT g, COUNT(*) AS n FROM t GROUP BY g", PRICE),
    "counts, Gaussian": ("SELECT g, COUNT(*) AS n FROM t GROUP BY g", {"rho": "0.01"}),
    "sums": ("SELECT g, SUM(v) AS n FROM t GROUP BY g", PRICE),
    "sums measured together": (
        "SELECT g, COUNT(*) AS n, SUM(v) AS s, COUNTIF(w = 'A') AS a FROM t GROUP BY g",
        {"rho": "0.01"},
    ),
    "sums of groups": (
        "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g) AS n FROM t GROUP BY g",
        {"rho": "0.01"},
    ),
    "groups that are shown": ("SELECT h FROM t GROUP BY h", PRICE | {"delta": "0.01"}),
    "groups that are shown, and counts": (
        "SELECT h, COUNT(*) AS n FROM t GROUP BY h",
        {"rho": "0.02", "delta": "0.01"},
    ),
    "groups above a threshold": (
        "SELECT a, b, COUNT(*) AS n FROM t GROUP BY a, b HAVING n >= 40",
        PRICE,
    ),
    "quantiles": ("SELECT g, MEDIAN(v) AS m FROM t GROUP BY g", PRICE),
    "trees of quantiles": ("SELECT g, APPROX_QUANTILES(v, 4) AS m FROM t GROUP BY g", PRICE),
    "modes": ("SELECT g, MODE(w) AS m FROM t GROUP BY g", PRICE),
    "extremes": ("SELECT g, MAX(v) AS m FROM t GROUP BY g", PRICE),
    "distinct values": ("SELECT g, COUNT(DISTINCT v) AS m FROM t GROUP BY g", PRICE),
    "answers between bounds that were found": (
        "SELECT g, SUM(free) AS s FROM t GROUP BY g",
        PRICE | {"bounds": dp.estimate(epsilon="0.25")},
    ),
}


def rows():
    """In each group twelve people, as evenly spread as can be."""
    who = range(GROUPS * PEOPLE)
    return pa.table(
        {
            "who": list(who),
            "g": [NAMES[at % GROUPS] for at in who],
            "h": [f"h{at % GROUPS}" for at in who],
            "v": [at * 37 % 1000 for at in who],
            "w": ["ABCD"[at // GROUPS % 4] for at in who],
            "free": [at * 37 % 1000 for at in who],
            "a": [at % 6 for at in who],
            "b": [at // 6 % 6 for at in who],
        }
    )


def opened(place):
    budget = dp.Budget(epsilon=50, delta="0.1")
    return dp.open({"t": rows()}, policy=POLICY, budget=budget, ledger=place)


def answered(place, sql, price):
    with opened(place) as session:
        return session.ask(sql, confirm=True, **price).to_arrow().to_pydict()


@pytest.mark.parametrize("kind", QUESTIONS)
def test_two_ledgers_get_different_answers(kind, tmp_path):
    sql, price = QUESTIONS[kind]
    one, other = (answered(tmp_path / name, sql, price) for name in ("a", "b"))
    assert one != other
    assert list(one) == list(other)


def test_bounds_that_are_found_are_drawn_anew(tmp_path):
    """Few people are in each bin, so whether one stands out is a matter of chance."""
    spread = rows().set_column(5, "free", pa.array([3 ** (at % 36) for at in range(720 * 2)]))
    sql = "SELECT SUM(free) AS s FROM t"
    price = {"epsilon": 1, "bounds": dp.estimate(epsilon="0.25")}
    found = set()
    for _ in range(12):  # the likeliest outcome has a chance of about 0.15
        with dp.open({"t": spread}, policy=POLICY, test_mode=True) as session:
            found.add(str(session.ask(sql, **price).plan.found))
    assert len(found) > 1


@pytest.mark.parametrize(
    "method",
    [AIM(), MST(), MWEM(rounds=3), DualQuery(), Independent()],
    ids=lambda method: type(method).__name__,
)
def test_two_synthetic_tables_of_the_same_rows_differ(method, tmp_path):
    tables = []
    for name in ("a", "b"):
        with opened(tmp_path / name) as session:
            plan = dp.plan_synthesis(
                session, "t", columns=["g", "v", "w"], method=method, epsilon=1, delta="1e-6"
            )
            tables.append(dp.synthesize(session, plan).table().to_pydict())
    assert tables[0] != tables[1]
