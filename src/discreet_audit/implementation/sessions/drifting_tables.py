"""A25: what changes between sessions, so that a ledger protects others than it promised to?

Trust: public.

One ledger, and tables that are opened a second time with something changed: the file, its format,
its columns, the column that names people, who is public, the unit, its relation, the budget.  What
contradicts the record must be refused before anything is charged.  Where a change is allowed, what
was charged before still counts: nobody gets a budget a second time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from discreet.accounting import Budget
from discreet.accounting.budgets.amounts import amount_value
from discreet.errors import DiscreetError
from discreet.session import Session
from discreet.session import open as opened
from discreet.units import person
from discreet_audit.findings import Finding

_RULES: Final = """
format = 1
unit = "who"
[limits]
max_rows = 2
max_groups = 1
[tables.t]
{table}
[tables.t.columns]
who = {{type = "integer"}}
other = {{type = "integer"}}
place = {{type = "text", categories = ["a", "b"]{constant}}}
"""
_POLICY: Final = _RULES.format(table="", constant="")
_ROWS: Final = "who,other,place\n1,7,a\n2,8,b\n"
_QUESTION: Final = "SELECT COUNT(*) AS n FROM t"
_BUDGET: Final = Budget(epsilon=2)

Change = Callable[[Path], dict[str, Any]]
"""Changes a folder with a table, and returns what it is opened with then."""


def _rewritten(folder: Path) -> dict[str, Any]:
    (folder / "t.csv").write_text(_ROWS + "3,9,a\n", encoding="utf-8")
    return {}


def _semicolons(folder: Path) -> dict[str, Any]:
    (folder / "t.csv").write_text(_ROWS.replace(",", ";"), encoding="utf-8")
    return {}


def _more_columns(folder: Path) -> dict[str, Any]:
    rows = _ROWS.replace("place\n", "place,more\n").replace("a\n", "a,1\n").replace("b\n", "b,2\n")
    (folder / "t.csv").write_text(rows, encoding="utf-8")
    return {}


def _moved(folder: Path) -> dict[str, Any]:
    (folder / "t.csv").rename(folder / "u.csv")
    return {"source": folder / "u.csv"}


def _changes(**options: Any) -> Change:
    return lambda _: options


REFUSED: Final[dict[str, Change]] = {
    "another column names people": _changes(policy=_POLICY.replace('"who"', '"other"', 1)),
    "another column names people in this table": _changes(
        policy=_RULES.format(table='unit = ["other"]', constant="")
    ),
    "each row is a unit": _changes(policy=_POLICY.replace('"who"', '"row"', 1)),
    "another relation": _changes(
        policy=_POLICY.replace('unit = "who"\n', ""), unit=person("who", relation="replace")
    ),
    "another budget": _changes(budget=Budget(epsilon=3)),
    "a budget that is kept otherwise": _changes(budget=Budget(rho=2)),
    "the table is public": _changes(
        policy=_RULES.format(table="public = true", constant="").replace('unit = "who"\n', ""),
        unit=person("who"),
    ),
}
"""What contradicts the record."""

ALLOWED: Final[dict[str, Change]] = {
    "nothing": _changes(),
    "a row more": _rewritten,
    "another separator": _semicolons,
    "a column more": _more_columns,
    "another path": _moved,
    "a column that is constant now": _changes(
        policy=_RULES.format(table="", constant=", constant = true")
    ),
    "a lower limit": _changes(policy=_POLICY.replace("max_rows = 2", "max_rows = 1")),
}
"""What may change; what was spent stays spent."""


def attack(*, quick: bool) -> Finding:  # noqa: ARG001  (it takes a moment in any case)
    """Open a ledger a second time after every change."""
    wrong = [f"{name}: opened" for name, change in REFUSED.items() if _answered(change)]
    for name, change in ALLOWED.items():
        spent, told = _again(change)
        wrong += [f"{name}: {told}"] * bool(told)
        wrong += [f"{name}: {spent} spent of two answers at 1"] * (spent < 1)
    wrong += ["a frozen table that changed: opened"] * _answered(_rewritten, frozen=True)
    wrong += ["a file that changed in a session: read"] * _read_though_changed()
    return Finding(
        claimed="what contradicts the record is refused; what was charged before a change counts "
        "after it",
        measured=f"{len(REFUSED) + 2} changes to be refused, {len(ALLOWED)} to be allowed: "
        f"{len(wrong)} violations{': ' * bool(wrong)}{'; '.join(wrong[:3])}",
        passed=not wrong,
        numbers={
            "refused": len(REFUSED) + 2,
            "allowed": len(ALLOWED),
            "violations": len(wrong),
        },
        not_covered="sources other than CSV files, which have tests of their own; people who are "
        "named otherwise in new data, which the owner promises they are not",
    )


def _open(folder: Path, policy: str = _POLICY, **changes: Any) -> Session:
    options = {"policy": policy, "budget": _BUDGET, "ledger": folder / "t.ledger", **changes}
    return opened(options.pop("source", folder / "t.csv"), tables="t", **options)


def _answered(change: Change, *, frozen: bool = False) -> bool:
    """Ask once, change something, and say whether another question is answered then."""
    policy = _RULES.format(table="frozen = true", constant="") if frozen else _POLICY
    with tempfile.TemporaryDirectory() as outer:
        folder = Path(outer)
        (folder / "t.csv").write_text(_ROWS, encoding="utf-8")
        with _open(folder, policy) as session:
            session.ask(_QUESTION, epsilon=1)
        try:
            with _open(folder, **{"policy": policy, **change(folder)}) as session:
                session.ask(_QUESTION, epsilon="0.5")
        except DiscreetError:
            return False
        return True


def _again(change: Change) -> tuple[Fraction, str]:
    """Ask before a change and twice after it; return what is spent, and what is wrong."""
    with tempfile.TemporaryDirectory() as outer:
        folder = Path(outer)
        (folder / "t.csv").write_text(_ROWS, encoding="utf-8")
        with _open(folder) as session:
            session.ask(_QUESTION, epsilon=1)
        granted = 0
        with _open(folder, **change(folder)) as session:
            for number in range(1, 12):
                try:
                    session.ask(f"{_QUESTION} WHERE other > {number}", epsilon="0.25")
                except DiscreetError:
                    break
                granted += 1
            left = session.ledger.left()  # type: ignore[union-attr]
            spent = amount_value(left.budget.limit[0] - left.amounts[0])
        return spent, f"{granted} more answers at a quarter" * (granted > 4)


def _read_though_changed() -> bool:
    """Change a file while it is open, and say whether a question about it is answered."""
    with tempfile.TemporaryDirectory() as outer:
        folder = Path(outer)
        (folder / "t.csv").write_text(_ROWS, encoding="utf-8")
        with _open(folder) as session:
            _rewritten(folder)
            try:
                session.ask(_QUESTION, epsilon=1)
            except DiscreetError:
                return False
            return True
