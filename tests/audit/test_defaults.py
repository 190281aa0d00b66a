"""What happens where bounds, groups or types are left out?

A default that looks at the data tells the data.  Here everything that is left out must be refused,
before anything is charged and before any row is read: the rows are gone when the question comes.
"""

import tempfile
from pathlib import Path

from discreet.accounting import Budget
from discreet.errors import DiscreetError, PolicyError, QuestionError, WrongKind
from discreet.session import open as opened

_POLICY = """
format = 1
unit = "who"
{limits}
[tables.t.columns]
who = {{type = "integer"}}
x = {{type = "float"}}
name = {{type = "text"}}
"""
_LIMITS = "[limits]\nmax_rows = 3\nmax_groups = 2"
_CASES = (
    ("no bounds of a sum", "SELECT SUM(x) AS s FROM t", {"epsilon": 1}, _LIMITS),
    ("no bounds of a mean", "SELECT AVG(x) AS s FROM t", {"epsilon": 1}, _LIMITS),
    ("no bounds of a spread", "SELECT STDDEV(x) AS s FROM t", {"epsilon": 1}, _LIMITS),
    ("no bounds of a median", "SELECT MEDIAN(x) AS s FROM t", {"epsilon": 1}, _LIMITS),
    ("no bounds of a maximum", "SELECT MAX(x) AS s FROM t", {"epsilon": 1}, _LIMITS),
    ("no bounds of an expression", "SELECT SUM(x * x + 1) AS s FROM t", {"epsilon": 1}, _LIMITS),
    ("no number of rows", "SELECT COUNT(*) AS n FROM t", {"epsilon": 1}, ""),
    (
        "no number of groups",
        "SELECT name, COUNT(*) AS n FROM t GROUP BY name",
        {"epsilon": 1, "delta": "1e-9"},
        "[limits]\nmax_rows = 3",
    ),
    (
        "private groups without delta",
        "SELECT name, COUNT(*) AS n FROM t GROUP BY name",
        {"epsilon": 1, "delta": 0},
        _LIMITS,
    ),
    (
        "private groups of floats without delta",
        "SELECT x, COUNT(*) AS n FROM t GROUP BY x",
        {"epsilon": 1, "delta": 0},
        _LIMITS,
    ),
    ("no price", "SELECT COUNT(*) AS n FROM t", {}, _LIMITS),
    (
        "a text as a number",
        "SELECT SUM(name, contribution_bounds_per_row => (0, 1)) AS s FROM t",
        {"epsilon": 1},
        _LIMITS,
    ),
)


def test_what_is_left_out_is_refused_unread_and_unpaid(found):
    """Bounds, groups and prices that are left out are refused before data is read."""
    wrong = []
    for name, question, price, limits in _CASES:
        if reason := _wrong(question, price, _POLICY.format(limits=limits)):
            wrong.append(f"{name}: {reason}")
    found.attack(
        f"{len(_CASES)} omissions",
        wrong,
        not_covered="what an owner writes into the policy after looking at the data",
    )


def _wrong(question, price, policy):
    """Ask about a table whose rows are gone; say what is wrong, if anything is."""
    with tempfile.TemporaryDirectory() as folder:
        path, ledger = Path(folder) / "t.csv", Path(folder) / "t.ledger"
        path.write_text("who,x,name\n1,2.5,a\n", encoding="utf-8")
        budget = Budget(epsilon=10, delta="1e-6")
        with opened(path, tables="t", policy=policy, budget=budget, ledger=ledger) as session:
            path.unlink()
            try:
                session.ask(question, **price)
            except (QuestionError, PolicyError, WrongKind):
                pass
            except DiscreetError as error:
                return f"refused late, as {type(error).__name__}"
            else:
                return "answered"
            kinds = [str(entry["kind"]) for entry in session.ledger.entries()]
    asked = [kind for kind in kinds if kind not in {"open", "describe"}]  # opening describes tables
    return f"recorded {', '.join(asked)}" if asked else ""
