"""What changes between sessions, so that a ledger protects others than it promised to?

One ledger, and tables that are opened a second time with something changed: the file, its format,
its columns, the column that names people, who is public, the unit, its relation, the budget.  What
contradicts the record must be refused before anything is charged.  Where a change is allowed, what
was charged before still counts: nobody gets a budget a second time.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting import Budget
from discreet.accounting.amounts import amount_value
from discreet.errors import DiscreetError
from discreet.session import open as opened
from discreet.units import person

_RULES = """
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
_POLICY = _RULES.format(table="", constant="")
_ROWS = "who,other,place\n1,7,a\n2,8,b\n"
_QUESTION = "SELECT COUNT(*) AS n FROM t"
_BUDGET = Budget(epsilon=2)

Change = Callable[[Path], dict[str, Any]]
"""Changes a folder with a table, and returns what it is opened with then."""


def _rewritten(folder):
    (folder / "t.csv").write_text(_ROWS + "3,9,a\n", encoding="utf-8")
    return {}


def _semicolons(folder):
    (folder / "t.csv").write_text(_ROWS.replace(",", ";"), encoding="utf-8")
    return {}


def _more_columns(folder):
    rows = _ROWS.replace("place\n", "place,more\n").replace("a\n", "a,1\n").replace("b\n", "b,2\n")
    (folder / "t.csv").write_text(rows, encoding="utf-8")
    return {}


def _moved(folder):
    (folder / "t.csv").rename(folder / "u.csv")
    return {"source": folder / "u.csv"}


def _changes(**options):
    return lambda _: options


REFUSED = {
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

ALLOWED = {
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


@pytest.mark.parametrize("name", REFUSED)
def test_what_contradicts_the_ledger_is_refused(name):
    assert not _answered(REFUSED[name])


@pytest.mark.parametrize("name", ALLOWED)
def test_what_was_spent_before_a_change_stays_spent(name):
    spent, more = _again(ALLOWED[name])
    assert spent >= 1
    assert more <= 4


def test_a_table_that_changed_while_open_or_frozen_is_refused(found):
    """A ledger refuses tables that contradict its record."""
    wrong = ["a frozen table that changed: opened"] * _answered(_rewritten, frozen=True)
    wrong += ["a file that changed in a session: read"] * _read_though_changed()
    found.attack(
        f"{len(REFUSED) + 2} changes to refuse, {len(ALLOWED)} to allow",
        wrong,
        not_covered="new data in which people have new names",
    )


def _open(folder, policy=_POLICY, **changes):
    options = {"policy": policy, "budget": _BUDGET, "ledger": folder / "t.ledger", **changes}
    return opened(options.pop("source", folder / "t.csv"), tables="t", **options)


def _answered(change, *, frozen=False):
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


def _again(change):
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
            left = session.ledger.left()
            spent = amount_value(left.budget.limit[0] - left.amounts[0])
        return spent, granted


def _read_though_changed():
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
