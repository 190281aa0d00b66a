"""Write ``docs/sql.md`` from the dialect that the tests check: ``python docs/write_sql.py``."""

from __future__ import annotations

import tomllib
from pathlib import Path

from discreet.query.functions import AGGREGATES, FUNCTIONS, RELEASED, WINDOWS, Function

ROOT = Path(__file__).resolve().parent.parent
HEAD = """# Supported SQL

A question is a `SELECT` with aggregates, plain or with GoogleSQL's `WITH DIFFERENTIAL_PRIVACY`
clause. Anything not listed here is refused before anything is spent; the message underlines the
place, gives the reason, and suggests an alternative. This page is generated from the cases that the
tests check (`python docs/write_sql.py`).

Names are not case-sensitive and may be quoted, as "name" or with backticks; strings go between
single quotes. A question or a session may use another dialect, with its quotes, operators and order
of NULL: `clinic.ask(text, dialect="bigquery")`. Functions have the same meaning in every dialect.

No value makes a question fail: an operation without a result (a division by zero, a string that is
not a number, a sum beyond 64 bits, a string longer than 8,192 bytes) returns NULL.

Questions about public tables alone are answered exactly and cost nothing, and so is `SELECT 1`; to
get rows of a public table, name its columns. A `SELECT` with its own clause in an outermost `WITH`
is a separate question that is answered first: the outer question can use the groups that it
releases, as in `WITH k AS (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) city FROM visits
GROUP BY city) SELECT city, AVG(cost) FROM visits JOIN k USING (city) GROUP BY city`, or with `city
IN (SELECT city FROM k)`. Both must fit the budget before either is charged; each is a separate
entry in the ledger. If the first one releases no group, only it is charged. Its numbers are in its
own answer.
"""

BETWEEN = """
## Whose rows are whose

Below the outermost `SELECT`, every step must treat each privacy unit separately: it can use the
rows of one person and public tables. Join private tables on the columns that name the person, or on
a key that belongs to one person; the policy declares them with `unit`, `key` and `link`. If a key
in the data has several owners despite the policy, pairs of rows of different people are left out,
so the promise to each of them still holds. Joins and unions turn one row into at most `max_fan_out`
rows: 100, unless `[limits]` sets another number. Windows leave out people with more than
2<sup>24</sup> rows, or more than 2<sup>27</sup> bytes of text in them.

Subqueries after `EXISTS`, `NOT EXISTS`, `IN` and `NOT IN` filter the tables in `FROM`. A public
table can be compared in any way, and each row is kept or dropped separately; if it is compared
in another way than with `=`, it counts as joined. A private table must be compared by the unit,
or by a link or a key that belongs to one person: then only a person's own rows decide which of
them are kept. `NOT IN` treats NULL as SQL does and ignores rows without an owner. Tables in a
comma join are joined by the conditions of `WHERE` that compare them, in an order that uses keys
as far as possible. The examples use these tables:
"""
TPCH = """
## TPC-H

The 22 queries of TPC-H, verbatim, with customers protected: a row of `customer` or `orders` names
its customer, a row of `lineitem` is linked to an order, and all other tables are public. The groups
of Q3, Q10 and Q18 are single orders or customers; these queries are answered, but a group of one
person is almost never released. Q11 and Q16 read public tables only: they are answered exactly and
cost nothing.

| query | |
|---|---|"""
REASONS = {
    "public rows": "refused: it asks for rows of public tables instead of groups; read them",
    "single rows": "refused: the rows that it returns depend on exact numbers about many people",
    "a private value": "refused: a subquery returns a private number; ask for that number first",
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
    parts.append("## Refused\n\n| SQL | example | error | alternative |\n|---|---|---|---|")
    for entry in data["refused"]:
        sql = " ".join(entry["sql"].split())
        code = f"[{entry['code']}](errors/{entry['code']}.md)"
        parts.append(f"| {cell(entry['rule'])} | {quoted(sql)} | {code} | {cell(entry['do'])} |")
    parts.append(f"{BETWEEN}\n```toml\n{data['tables']['policy'].strip()}\n```\n")
    parts += [
        f"**{entry['rule']}**\n\n```sql\n{entry['sql'].strip()}\n```\n" for entry in data["apart"]
    ]
    parts.append(f"{MIXED}\n| SQL | example | alternative |\n|---|---|---|")
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
        ("Row functions", FUNCTIONS),
        ("Functions of released numbers", RELEASED),
        ("Aggregates", AGGREGATES),
        ("Window functions", WINDOWS),
    ):
        parts.append(f"\n## {title}\n\n| name | returns | description |\n|---|---|---|")
        parts += [row(function) for function in table.values()]
    return "\n".join(parts) + "\n"


def row(function: Function) -> str:
    """Return one line of a table of functions."""
    gives = function.gives if isinstance(function.gives, str) else function.gives.value
    return f"| {quoted(function.name)} | {gives} | {cell(function.meaning)} |"


def cell(text: str) -> str:
    """Return a string escaped for a table cell."""
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


def quoted(text: str) -> str:
    """Return code for a table cell; a string with backticks takes longer quotes."""
    ticks = "``" if "`" in text else "`"
    return f"{ticks} {text[:160]} {ticks}".replace("|", "\\|")


if __name__ == "__main__":
    (ROOT / "docs/sql.md").write_text(page(), encoding="utf-8")
