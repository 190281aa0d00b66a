"""Questions that are meant to hang, to exhaust, or to break.

Each is refused in words, or answered within a cap of processor time.  What is answered is charged
once, what is refused is not, and afterwards the session answers an ordinary question as before.
"""

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa

from discreet.accounting import Budget
from discreet.errors import DiscreetError, EngineFailed
from discreet.session import open as opened
from tests.audit.clinic import POLICY, row_of, visits

_CAP = 60.0
_PUBLIC = """
[tables.areas]
public = true
key = ["area"]
[tables.areas.columns]
area = {type = "integer"}
"""
_COUNT = "SELECT COUNT(*) AS n FROM visits"
_SMALL = ("1e-3", "1e-6", "1e-12", "1e-30", "1e-100", "1e-300")


class _Asked(NamedTuple):
    """A question, what it is called, and its price."""

    name: str
    sql: str
    price: Mapping[str, Any] = MappingProxyType({"epsilon": 1, "delta": "1e-9"})


class _Attempt(NamedTuple):
    """What became of a question."""

    name: str
    outcome: str
    seconds: float
    charges: int


def test_costly_questions_are_refused_or_answered_in_time(found, quick, tmp_path):
    """Questions meant to exhaust a session are refused or answered in time, and it goes on."""
    wrong, attempts = [], []
    rows = [row_of(999, note="a" * 100_000)] * 3
    areas = pa.table({"area": list(range(10_000 if quick else 1_000_000))})
    options = {
        "policy": POLICY + _PUBLIC,
        "budget": Budget(epsilon=10**6, delta="1/1000"),
        "ledger": tmp_path / "l.ledger",
    }
    with opened({"visits": visits(30, *rows), "areas": areas}, **options) as session:
        for number, asked in enumerate(_questions(quick=quick)):
            attempts.append(_asked(session, asked))
            ordinary = session.ask(f"{_COUNT} WHERE age <> {number}", epsilon="0.1")
            wrong += [f"after {asked.name}: no ordinary answer"] * (len(ordinary) != 1)
    wrong += [attempt.name + ": " + fault for attempt in attempts for fault in _faults(attempt)]
    slowest = max(attempts, key=lambda attempt: attempt.seconds)
    answered = sum(attempt.outcome == "answered" for attempt in attempts)
    found.attack(
        f"{len(attempts)} questions, {answered} answered; the slowest took {slowest.seconds:.1f} s "
        f"({slowest.name})",
        wrong,
        not_covered="larger tables; many askers at once",
    )


def _faults(attempt):
    if attempt.outcome not in {"answered", "refused"}:
        yield attempt.outcome
    if attempt.seconds > _CAP:
        yield f"{attempt.seconds:.0f} s"
    if attempt.charges != (attempt.outcome == "answered"):
        yield f"{attempt.outcome}, with {attempt.charges} charges"


def _asked(session, asked):
    before, begun = _charges(session), time.process_time()
    try:
        session.ask(asked.sql, **asked.price)
        outcome = "answered"
    except EngineFailed:
        outcome = "the engine fails"
    except DiscreetError:
        outcome = "refused"
    except (Exception, RecursionError) as error:  # noqa: BLE001  (what is looked for)
        outcome = f"{type(error).__name__} escapes"
    return _Attempt(asked.name, outcome, time.process_time() - begun, _charges(session) - before)


def _planned_joins(session, most=12):
    """Return how many joins of a table with itself are planned."""
    for times in range(1, most + 1):
        try:
            session.plan(_joined(times), epsilon=1)
        except DiscreetError:
            return times - 1
    return most


def _charges(session):
    entries = session.ledger.entries()
    return sum(entry["kind"] == "charge" for entry in entries)


def _questions(*, quick):
    yield from _prices(("1e-6", "1e-30") if quick else _SMALL)
    yield from _relations()
    yield from _expressions()
    ranks, sums = (50, 40) if quick else (1000, 90)
    quantiles = f"SELECT APPROX_QUANTILES(age, {ranks}) AS q FROM visits"  # noqa: S608 (ours)
    yield _Asked("many quantiles", quantiles)
    many = ", ".join(f"SUM(cost + {number}) AS s{number}" for number in range(sums))
    yield _Asked("many sums", f"SELECT {many} FROM visits")  # noqa: S608 (ours)


def _prices(small):
    for price in small:
        yield _Asked(f"epsilon {price}", _COUNT, {"epsilon": price})
        yield _Asked(f"rho {price}", _COUNT, {"rho": price})
        median = "SELECT MEDIAN(age) AS m FROM visits"
        yield _Asked(f"a median at {price}", median, {"epsilon": price})
        by_city = "SELECT city, AVG(cost) AS m FROM visits GROUP BY city"
        yield _Asked(f"delta {price}", by_city, {"epsilon": 1, "delta": price})
        yield _Asked(f"error {price}", _COUNT, {"error": {"n": price}})
    yield _Asked("a large epsilon", _COUNT, {"epsilon": "1e300"})
    yield _Asked("a large error", _COUNT, {"error": {"n": "1e300"}})


def _relations():
    areas = "(SELECT DISTINCT area FROM areas) a ON v.age = a.area GROUP BY a.area"
    sql = f"SELECT a.area, COUNT(*) AS n FROM visits v RIGHT JOIN {areas}"  # noqa: S608 (ours)
    yield _Asked("many public groups", sql)
    yield _Asked("a cross join", "SELECT COUNT(*) AS n FROM visits a, visits b")
    yield _Asked("a join with all", "SELECT COUNT(*) AS n FROM visits a JOIN visits b ON true")
    yield _Asked("many joins", _joined(10))
    nested = "SELECT * FROM visits"
    for number in range(60):
        nested = f"SELECT * FROM ({nested}) AS t{number}"  # noqa: S608 (ours)
    yield _Asked("nested questions", f"SELECT COUNT(*) AS n FROM ({nested}) AS t")  # noqa: S608
    yield _Asked("a large limit", f"{_COUNT} LIMIT 9223372036854775807")


def _expressions():
    for depth in (70, 20_000):
        deep = "(" * depth + "age" + ")" * depth
        yield _Asked(f"{depth} parentheses", f"{_COUNT} WHERE {deep} > 1")
    yield _Asked("a long sum", f"{_COUNT} WHERE {' + '.join(['age'] * 5_000)} > 1")
    yield _Asked("a long list", f"{_COUNT} WHERE age IN ({', '.join(map(str, range(9_000)))})")
    yield _Asked("many nots", f"{_COUNT} WHERE {'NOT ' * 5_000} age > 1")
    pattern = "%a" * 25 + "%b"
    yield _Asked("a slow pattern", f"{_COUNT} WHERE note LIKE '{pattern}'")
    yield _Asked("growing texts", f"{_COUNT} WHERE LENGTH({_growing(6)}) > 1")


def _joined(times):
    """Return a question about pairs, triples and so on of the rows of a person."""
    joins = " ".join(f"JOIN visits v{n} ON v{n}.patient = v.patient" for n in range(times))
    return f"SELECT COUNT(*) AS n FROM visits v {joins}"  # noqa: S608 (ours)


def _growing(times):
    """Return a text that doubles several times."""
    text = "note"
    for _ in range(times):
        text = f"REPLACE({text}, 'a', 'aa')"
    return text
