"""Planning many different aggregates takes a time that is linear in their number, and short."""

import time

import pyarrow as pa
import pytest

from discreet import session as sessions
from discreet.aggregates import quantile as quantiles
from discreet.plan.pricing.quantile_tree import QuantileLevels

POLICY = """
format = 1
unit = "patient"
[limits]
max_groups = 3
max_rows = 4
[tables.visits.columns]
patient = { type = "integer" }
cost = { type = "float", low = 0, high = 900, nullable = false }
"""
TERMS = {
    "products": "SUM(cost * {})",
    "sums": "SUM(cost + {})",
    "means": "AVG(cost * {})",
}


def seconds(session, term, count):
    outputs = ", ".join(f"{term.format(at)} AS s{at}" for at in range(1, count + 1))
    started = time.process_time()
    session.plan(f"SELECT {outputs} FROM visits", epsilon=1)  # noqa: S608
    return time.process_time() - started


@pytest.mark.parametrize("term", TERMS.values(), ids=TERMS)
def test_eight_hundred_different_aggregates_are_planned_in_linear_time(tmp_path, term):
    """In a ledger that has charges, too."""
    table = pa.table({"patient": [1, 2], "cost": [3.0, 4.0]})
    policy = POLICY + "[budget]\nepsilon = 5\n"
    with sessions.open(
        {"visits": table}, policy=policy, ledger=tmp_path / "visits.ledger"
    ) as session:
        seconds(session, term, 2)
        session.ask("SELECT SUM(cost) AS s FROM visits", epsilon=1)
        few, many = (min(seconds(session, term, count) for _ in range(2)) for count in (200, 800))
        assert many < 8 * few  # how many seconds that are is for the benchmark to say


def test_the_work_for_many_quantiles_is_linear_in_their_number(tmp_path, monkeypatch):
    """Two hundred quantiles are one part: it is tried, and its leaves are put in order, once."""
    tried, ordered = [], []
    within, risen = QuantileLevels.within_rho, quantiles._risen
    monkeypatch.setattr(
        QuantileLevels, "within_rho", lambda *given: tried.append(1) or within(*given)
    )
    monkeypatch.setattr(quantiles, "_risen", lambda *given: ordered.append(1) or risen(*given))
    table = pa.table({"patient": [1, 2], "cost": [3.0, 4.0]})
    policy = POLICY + "[budget]\nepsilon = 5\n"
    with sessions.open(
        {"visits": table}, policy=policy, ledger=tmp_path / "visits.ledger"
    ) as session:
        answer = session.ask("SELECT APPROX_QUANTILES(cost, 200) AS q FROM visits", epsilon=1)
    assert len(answer["q"][0].as_py()) == 201
    assert len(tried) <= 4
    assert len(ordered) <= 2


def test_columns_are_found_in_a_table_of_many_in_linear_time(tmp_path):
    """Each name is looked up, and not compared with all the others."""
    names = [f"c{at}" for at in range(800)]
    table = pa.table({"patient": [1, 2], **{name: [3.0, 4.0] for name in names}})
    columns = "".join(f'{name} = {{ type = "float", low = 0, high = 9 }}\n' for name in names)
    policy = POLICY.partition("cost")[0] + columns + "[budget]\nepsilon = 5\n"
    with sessions.open({"visits": table}, policy=policy, ledger=tmp_path / "ledger") as session:

        def spent(count):
            outputs = ", ".join(f"SUM({name}) AS s_{name}" for name in names[:count])
            started = time.process_time()
            session.plan(f"SELECT {outputs} FROM visits", epsilon=1)  # noqa: S608
            return time.process_time() - started

        spent(2)
        few, many = (min(spent(count) for _ in range(2)) for count in (200, 800))
        assert many < 8 * few
