"""A24: are questions answered in which the rows of one person meet those of another?

Trust: public.

A join, a subquery, a window or a union that mixes people moves the rows of many when one comes or
goes, and no limit holds for it.  Each such question must be refused before anything is charged and
before any row is read: the rows are gone when it comes.  Questions that keep everybody's rows apart
stand beside them, and must be planned, or refusing would be easy.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from discreet.accounting import Budget
from discreet.errors import DiscreetError, NotPerUnit, PolicyError, QuestionError
from discreet.session import open as opened
from discreet_audit.findings import Finding

_POLICY: Final = """
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
_FILES: Final = {
    "visits": "patient,visit,ward,cost\n1,1,A,2\n",
    "drugs": "patient,ward,dose\n1,A,3\n",
    "wards": "ward,beds\nA,3\n",
}
_COUNT: Final = "SELECT COUNT(*) AS n FROM "

MIXED: Final = (
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

APART: Final = (
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


def attack(*, quick: bool) -> Finding:  # noqa: ARG001  (it takes a moment in any case)
    """Ask about files that are gone."""
    wrong: list[str] = []
    mixing = 0
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{name}.csv" for name in _FILES}
        for name, path in paths.items():
            path.write_text(_FILES[name], encoding="utf-8")
        ledger, budget = Path(folder) / "joins.ledger", Budget(epsilon=99)
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
            kinds = {str(entry["kind"]) for entry in session.ledger.entries()}  # type: ignore[union-attr]
    wrong += ["something was charged"] * ("charge" in kinds)
    return Finding(
        claimed="whatever mixes the rows of people is refused, unread and unpaid",
        measured=f"{len(MIXED)} questions that mix people, {mixing} refused for it and the others "
        f"before; {len(APART)} that do not: "
        f"{len(wrong)} violations{': ' * bool(wrong)}{'; '.join(wrong[:3])}",
        passed=not wrong,
        numbers={
            "mixed": len(MIXED),
            "refused_as_mixing": mixing,
            "apart": len(APART),
            "violations": len(wrong),
        },
        not_covered="other ways to mix people; tests compare random relations with each person "
        "taken out",
    )
