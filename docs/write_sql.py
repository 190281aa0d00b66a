"""Write ``docs/sql.md`` from the dialect that the tests check: ``python docs/write_sql.py``."""

from __future__ import annotations

import tomllib
from pathlib import Path

from discreet.query.signatures import AGGREGATES, FUNCTIONS, WINDOWS, Function

ROOT = Path(__file__).resolve().parent.parent
HEAD = """# The SQL that is answered

A question is a `SELECT` with aggregates, plain or with GoogleSQL's `WITH DIFFERENTIAL_PRIVACY`
clause. What is not listed here is refused before anything is spent, with the place underlined, the
reason, and what to write instead. This page is made from the cases that the tests check
(`python docs/write_sql.py`).

Names are compared without regard to case, and quoted with backticks; text stands between single
quotes. Values never make a question fail: what has no result (a division by zero, a text that is no
number, a sum beyond 64 bits, a text that a function would make longer than 8,192 bytes) is NULL.
"""

BETWEEN = """
## Whose rows are whose

Below the outermost `SELECT`, everything has to treat each person by themselves: it looks at the
rows of one person and at public tables. Private tables are joined on what names the person, or on
a key that belongs to one person: the policy says which, with `unit`, `key` and `link`. If a key of
the data has several owners although the policy says otherwise, pairs of rows of different people
are left out, so that the promise to each of them is kept all the same. Joins and unions make at
most `max_fan_out` rows of one, 100 unless `[limits]` says otherwise. With these tables:
"""
MIXED = """What mixes people is refused with [E504](errors/E504.md):
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
    for title, table in (
        ("Functions of a row", FUNCTIONS),
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
