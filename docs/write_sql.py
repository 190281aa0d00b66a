"""Write ``docs/sql.md`` from the dialect that the tests check: ``python docs/write_sql.py``."""

from __future__ import annotations

import tomllib
from pathlib import Path

from discreet.query.functions import AGGREGATES, FUNCTIONS, RELEASED, WINDOWS, Function

ROOT = Path(__file__).resolve().parent.parent
HEAD = """# The SQL that is answered

A question is a `SELECT` with aggregates, plain or with GoogleSQL's `WITH DIFFERENTIAL_PRIVACY`
clause. Anything not listed here is refused before anything is spent; the message underlines the
place, gives the reason, and says what to write instead. This page is generated from the cases that
the tests check (`python docs/write_sql.py`).

Names are not case-sensitive and may be quoted, as "name" or with backticks; text goes between
single quotes. A question or a session may name another dialect, whose quotes, operators and order
of NULL then hold: `clinic.ask(text, dialect="bigquery")`. What a function means follows from its
name alone.

No value makes a question fail: an operation without a result (a division by zero, a text that is
not a number, a sum beyond 64 bits, a function that would make a text longer than 8,192 bytes) gives
NULL.

Questions about public tables alone are answered exactly and cost nothing; their rows can be had by
naming their columns. A `SELECT` with a clause of its own in an outermost `WITH` is a question of
its own, bought first: the other one may be about the groups that it releases, as in
`WITH k AS (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) city FROM visits GROUP BY city)
SELECT city, AVG(cost) FROM visits JOIN k USING (city) GROUP BY city`, or with
`city IN (SELECT city FROM k)`. Both must fit the budget before either is charged, each as an entry
of its own. If the first one releases no group, it alone is charged. Released numbers are in its
own answer.
"""

BETWEEN = """
## Whose rows are whose

Below the outermost `SELECT`, every step must treat each privacy unit separately: it may look at the
rows of one person and at public tables. Join private tables on the columns that name the person, or
on a key that belongs to one person; the policy says which, with `unit`, `key` and `link`. If a key
in the data has several owners although the policy says otherwise, pairs of rows of different people
are left out, so the promise to each of them still holds. Joins and unions turn one row into at most
`max_fan_out` rows: 100, unless `[limits]` says otherwise. Windows leave out whoever has more than
2<sup>24</sup> rows, or 2<sup>27</sup> bytes of text in them.

Subqueries behind `EXISTS`, `NOT EXISTS`, `IN` and `NOT IN` choose rows of the tables in `FROM`. A
public table may be compared in any way, and each row is kept or not by itself. A private table is
compared by the unit, or by a link or a key that belongs to one person: then whether a row stays
depends on the rows of its own person. `NOT IN` follows SQL where NULL is concerned; rows that
belong to nobody are not there for it. Tables behind commas are joined by those conditions of
`WHERE` that compare them, in an order in which most are found by their keys. With these tables:
"""
TPCH = """
## TPC-H

The 22 queries of TPC-H, word by word, where customers are protected: a row of `customer` or
`orders` names its customer, a row of `lineitem` is linked to an order, and all other tables are
public. The groups of Q3, Q10 and Q18 are single orders or customers; they are answered, but a group
of one person is hardly ever shown. Q11 and Q16 read public tables alone: they are answered exactly,
and cost nothing.

| query | |
|---|---|"""
REASONS = {
    "public rows": "refused: it asks for rows of public tables, and not for groups; read them",
    "single rows": "refused: which rows it shows depends on numbers without noise of many people",
    "a private value": "refused: a number inside it is an answer of its own; ask for it first",
}
MIXED = """Steps that mix people are refused with [E504](errors/E504.md):
"""


def page() -> str:
    """Return the page."""
    data = tomllib.loads((ROOT / "tests/query/dialect.toml").read_text(encoding="utf-8"))
    parts = [HEAD, "## Answered\n"]
    parts += [
        f"**{entry['rule']}**\n\n```sql\n{entry['sql'].strip()}\n```\n"
        for entry in data["accepted"]
    ]
    parts.append("## Refused\n\n| what | for example | code | instead |\n|---|---|---|---|")
    for entry in data["refused"]:
        sql = " ".join(entry["sql"].split())
        code = f"[{entry['code']}](errors/{entry['code']}.md)"
        parts.append(f"| {cell(entry['rule'])} | {quoted(sql)} | {code} | {cell(entry['do'])} |")
    parts.append(f"{BETWEEN}\n```toml\n{data['tables']['policy'].strip()}\n```\n")
    parts += [
        f"**{entry['rule']}**\n\n```sql\n{entry['sql'].strip()}\n```\n" for entry in data["apart"]
    ]
    parts.append(f"{MIXED}\n| what | for example | instead |\n|---|---|---|")
    for entry in data["mixed"]:
        sql = quoted(" ".join(entry["sql"].split()))
        parts.append(f"| {cell(entry['rule'])} | {sql} | {cell(entry['do'])} |")
    parts.append(TPCH)
    queries = tomllib.loads((ROOT / "tests/tpch/queries.toml").read_text(encoding="utf-8"))["query"]
    parts += [
        f"| Q{entry['number']} | {REASONS.get(entry.get('refused', ''), 'answered')} |"
        for entry in queries
    ]
    for title, table in (
        ("Functions of a row", FUNCTIONS),
        ("Functions of released numbers", RELEASED),
        ("Aggregates", AGGREGATES),
        ("Functions of a window", WINDOWS),
    ):
        parts.append(f"\n## {title}\n\n| name | gives | meaning |\n|---|---|---|")
        parts += [row(function) for function in table.values()]
    return "\n".join(parts) + "\n"


def row(function: Function) -> str:
    """Return one line of a table of functions."""
    gives = function.gives if isinstance(function.gives, str) else function.gives.value
    return f"| {quoted(function.name)} | {gives} | {cell(function.meaning)} |"


def cell(text: str) -> str:
    """Return text that stands in a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


def quoted(text: str) -> str:
    """Return code that stands in a table; a text with backticks takes longer quotes."""
    ticks = "``" if "`" in text else "`"
    return f"{ticks} {text[:160]} {ticks}".replace("|", "\\|")


if __name__ == "__main__":
    (ROOT / "docs/sql.md").write_text(page(), encoding="utf-8")
