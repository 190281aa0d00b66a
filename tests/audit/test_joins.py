"""Are questions answered in which the rows of one person meet those of another?

A join, a subquery, a window or a union that mixes people moves the rows of many when one comes or
goes, and no limit holds for it.  Each such question must be refused before anything is charged and
before any row is read: the rows are gone when it comes.  Questions that keep everybody's rows apart
stand beside them, and must be planned, or refusing would be easy.
"""

from discreet.accounting import Budget
from discreet.errors import DiscreetError, NotPerUnit, PolicyError, QuestionError
from discreet.session import open as opened

_POLICY = """
format = 1
unit = "patient"
[limits]
max_rows = 3
max_groups = 2
[tables.visits.columns]
patient = {type = "integer"}
visit = {type = "integer"}
ward = {type = "text"}
cost = {type = "integer", low = 0, high = 9}
[tables.drugs.columns]
patient = {type = "integer"}
ward = {type = "text"}
dose = {type = "integer", low = 0, high = 9}
[tables.wards]
public = true
key = ["ward"]
"""
_FILES = {
    "visits": "patient,visit,ward,cost\n1,1,A,2\n",
    "drugs": "patient,ward,dose\n1,A,3\n",
    "wards": "ward,beds\nA,3\n",
}
_COUNT = "SELECT COUNT(*) AS n FROM "

MIXED = (
    "visits AS v JOIN drugs AS d ON v.ward = d.ward",
    "visits AS v CROSS JOIN drugs AS d",
    "visits AS v, drugs AS d",
    "visits AS v, drugs AS d WHERE v.cost = d.dose",
    "visits AS v JOIN drugs AS d ON v.patient < d.patient",
    "visits AS v JOIN drugs AS d ON v.patient <> d.patient",
    "visits AS v JOIN drugs AS d ON v.patient = d.dose",
    "visits AS v JOIN drugs AS d ON v.patient = d.patient OR v.ward = d.ward",
    "visits AS v JOIN drugs AS d ON v.patient + 0 = d.patient",
    "visits AS v JOIN drugs AS d ON NOT v.patient = d.patient",
    "visits AS v JOIN drugs AS d USING (ward)",
    "visits AS v NATURAL JOIN wards AS w RIGHT JOIN drugs AS d ON v.ward = d.ward",
    "wards AS w LEFT JOIN visits AS v ON v.ward = w.ward",
    "visits AS v RIGHT JOIN wards AS w ON v.ward = w.ward",
    "visits AS v FULL JOIN wards AS w ON v.ward = w.ward",
    "visits AS v WHERE cost > (SELECT AVG(cost) FROM visits)",
    "visits AS v WHERE cost > (SELECT MAX(dose) FROM drugs)",
    "visits AS v WHERE ward IN (SELECT ward FROM drugs)",
    "visits AS v WHERE NOT EXISTS (SELECT 1 FROM drugs AS d WHERE d.ward = v.ward)",
    "visits AS v WHERE EXISTS (SELECT 1 FROM drugs)",
    "(SELECT *, ROW_NUMBER() OVER (ORDER BY cost) AS k FROM visits) AS t WHERE k < 9",
    "(SELECT *, SUM(cost) OVER (PARTITION BY ward) AS k FROM visits) AS t WHERE k < 9",
    (
        "(SELECT *, LAG(cost) OVER (PARTITION BY ward ORDER BY visit) AS k FROM visits) AS t "
        "WHERE k = 1"
    ),
    "(SELECT ward, COUNT(*) AS k FROM visits GROUP BY ward) AS t WHERE k > 3",
    "(SELECT DISTINCT ward FROM visits) AS t",
    "(SELECT patient FROM visits LIMIT 5) AS t",
    "(SELECT ward FROM visits EXCEPT SELECT ward FROM drugs) AS t",
)
"""What mixes people: after FROM."""

APART = (
    "visits AS v JOIN drugs AS d ON v.patient = d.patient",
    "visits AS v JOIN drugs AS d ON v.patient = d.patient AND v.ward = d.ward",
    "visits AS v JOIN drugs AS d USING (patient)",
    "visits AS v JOIN wards AS w ON v.ward = w.ward",
    "visits AS v LEFT JOIN wards AS w ON v.ward = w.ward",
    "visits AS v WHERE EXISTS (SELECT 1 FROM drugs AS d WHERE d.patient = v.patient)",
    (
        "(SELECT *, ROW_NUMBER() OVER (PARTITION BY patient ORDER BY cost) AS k FROM visits) AS t "
        "WHERE k < 3"
    ),
    "(SELECT patient, COUNT(*) AS k FROM visits GROUP BY patient) AS t WHERE k > 1",
)
"""What keeps everybody's rows apart."""


def test_questions_that_mix_people_are_refused_unread(found, tmp_path):
    """Joins, subqueries and windows that mix the rows of people are refused before data is read."""
    wrong = []
    mixing = 0
    paths = {name: tmp_path / f"{name}.csv" for name in _FILES}
    for name, path in paths.items():
        path.write_text(_FILES[name], encoding="utf-8")
    ledger, budget = tmp_path / "joins.ledger", Budget(epsilon=99)
    with opened(dict(paths), policy=_POLICY, budget=budget, ledger=ledger) as session:
        for text in APART:
            try:
                session.plan(_COUNT + text, epsilon=1)
            except DiscreetError as error:
                wrong.append(f"{text}: refused, as {type(error).__name__}")
        for path in paths.values():
            path.unlink()
        for text in MIXED:
            try:
                session.ask(_COUNT + text, epsilon=1)
            except (QuestionError, PolicyError) as error:
                mixing += isinstance(error, NotPerUnit)
            except DiscreetError as error:
                wrong.append(f"{text}: refused late, as {type(error).__name__}")
            else:
                wrong.append(f"{text}: answered")
        wrong += [
            "something was charged"
            for entry in session.ledger.entries()
            if entry["kind"] == "charge"
        ]
    found.attack(
        f"{len(MIXED)} questions that mix people, {mixing} refused for it; {len(APART)} that do "
        "not are planned",
        wrong,
        not_covered="other ways to mix people, which tests of random relations look for",
    )
