"""Write ``docs/reference/policy.md`` from the keys themselves: ``python docs/write_policy.py``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from discreet.plan.policy.owner_promises import FORMS
from discreet.plan.policy.policy import POLICY_KEYS, Limits
from discreet.query.sql.dialects import DIALECTS
from discreet.query.types import Type
from discreet.requests.table_schema import DECIMALS, ENCODINGS, SEPARATORS, THOUSANDS

ROOT = Path(__file__).resolve().parent.parent
HEAD = """# The policy file

Made by `python docs/write_policy.py` from the keys that are read: each with its type, what holds
without it, and a sentence. A policy is TOML, and every other key is refused. Numbers are exact:
`0.1` is one tenth, and may also be written as text (`"1e-9"`, `"1/3"`). [Asking a
table](../guide/write-a-policy.md) has an example, and [what only the owner can
promise](../guide/promises.md) says which of these lines are taken on trust.
"""


def _one_of(values: Iterable[str]) -> str:
    return "one of " + ", ".join(
        "`" + json.dumps(value).replace("|", "\\|") + "`" for value in values
    )


REQUIRED, NONE = "required", "none"
HEADERS = {
    "": ("The top of the file", "These lines come before all headers."),
    "session": ("[session]", "What the command line opens; paths are relative to the policy."),
    "budget": ("[budget]", "The total that a new ledger is made with; an existing one must agree."),
    "limits": ("[limits]", "What one unit adds to an answer, and what one question may cost."),
    "who": ("[who]", "Who may ask."),
    "about": (
        "[about]",
        "What explanations and labels print. No price depends on it, and all is optional.",
    ),
    "tables.NAME": ("[tables.NAME]", "One header for each table, such as `[tables.visits]`."),
    "tables.NAME.size": (
        "[tables.NAME.size]",
        "About how large the table is, rounded: plans say by it what to expect. No price uses it.",
    ),
    "tables.NAME.link": ("[tables.NAME.link]", "Instead of a unit: all three keys or none."),
    "tables.NAME.csv": ("[tables.NAME.csv]", "How the CSV files of the table are written."),
    "tables.NAME.columns.NAME": (
        "[tables.NAME.columns.NAME]",
        (
            'One header for each column, or a line `age = { type = "integer" }` under '
            "`[tables.NAME.columns]`."
        ),
    ),
}
KEYS = {
    "": {
        "format": ("`1`", REQUIRED, "The version of this format."),
        "unit": (
            "text, or list of texts",
            "given when opening",
            'The columns that name who is protected, or `"row"` if each row is somebody.',
        ),
        "unit_form": (
            f"{_one_of(FORMS)}; a list for several columns",
            NONE,
            "The normal form in which all tables name the unit, however they store it.",
        ),
        "relation": (
            _one_of(("add_remove", "replace")),
            '`"add_remove"`',
            "Which tables are neighbors: one unit more or less, or one in the place of another.",
        ),
        "frozen": ("true or false", "`false`", "Whether the tables may never change."),
        "dialect": (_one_of(DIALECTS), NONE, "The dialect of questions that name none."),
        "session": ("table", NONE, "See below."),
        "budget": ("table", "given when opening, or that of the ledger", "See below."),
        "limits": ("table", NONE, "See below."),
        "who": ("table", NONE, "See below."),
        "approved": (
            "table of texts",
            "all questions",
            (
                'Each line, such as `ages = "SELECT ... WHERE age >= :age"`, is a question that '
                "may be asked, with any value for each parameter; every other one is refused."
            ),
        ),
        "about": ("table", NONE, "See below."),
        "same": (
            "table of lists of texts",
            NONE,
            (
                'Each line, such as `sex = ["visits.sex", "patients.sex"]`, promises that these '
                "constant columns hold one value for each unit."
            ),
        ),
        "tables": ("table of tables", NONE, "What is public about each table; see below."),
    },
    "session": {
        "data": (
            "text, or table of texts",
            NONE,
            'The file or address of the data, or `{ visits = "v.csv" }` for several tables.',
        ),
        "ledger": ("text", NONE, "The file or address of the ledger."),
        "ledger_id": (
            "text",
            NONE,
            "The id that the ledger must have; it is then never made anew.",
        ),
    },
    "budget": {
        "epsilon": ("number above 0", "this or `rho`", "The largest epsilon in total."),
        "delta": (
            "number from 0, below 1",
            "`0`",
            "With epsilon, its delta; with rho, what questions that need a delta may spend.",
        ),
        "rho": ("number above 0", "this or `epsilon`", "The largest rho in total (zCDP)."),
        "per": (
            "text",
            NONE,
            (
                "The column of all private tables that names a period: the unit is a person in a "
                "period, and each period has the whole budget."
            ),
        ),
    },
    "about": {
        "title": ("text", NONE, "What the data is called."),
        "entity": ("text", "the unit's column", "One of those who are protected, in a word."),
        "period": ("text", NONE, "The time that the data is about."),
        "curator": ("text", NONE, "Who holds the data."),
        "contact": ("text", NONE, "Whom to ask."),
        "purpose": ("text", NONE, "What the answers are for."),
        "description": ("text", NONE, "What is published, in a sentence or two."),
        "region": ("text", NONE, "Where the data comes from."),
        "sector": ("text", NONE, "Health, say, or education."),
        "published": (
            "text",
            "the time of the last entry",
            "When the first answer was published, as `2026-01-31`.",
        ),
        "data_source": (
            _one_of(("Static", "Dynamic")),
            NONE,
            "Whether new rows come in over time.",
        ),
        "raw_access": ("list of texts", NONE, "Who can see the data as it is."),
        "released_to": ("text", NONE, "Who gets the answers."),
        "actors": ("text", NONE, "Who takes part, whom they trust, and why."),
        "unprotected": ("list of texts", NONE, "What is published elsewhere without noise."),
        "tuning": ("text", NONE, "Whether the data was looked at to choose bounds or questions."),
        "justification": ("text", NONE, "Why the budget is what it is."),
        "limits": ("text", NONE, "What readers should not conclude."),
        "authors": ("list of texts", NONE, "Who wrote this."),
        "sources": ("list of texts", NONE, "Where more is published about it."),
    },
    "limits": {
        "max_groups": (
            "whole number from 1",
            NONE,
            "The groups in which one unit counts; without it, questions that need it are refused.",
        ),
        "max_rows": (
            "whole number from 1",
            NONE,
            "The rows of one unit that count in a group; without it, as above.",
        ),
        "max_fan_out": (
            "whole number from 1",
            f"`{Limits().max_fan_out}`",
            "The most rows that joins may make of one row.",
        ),
        "min_epsilon_per_question": (
            "number above 0",
            f"`{float(Limits().min_epsilon)}`",
            "The least epsilon of one question behind a server; a rho is at least half its square.",
        ),
        "max_epsilon_per_question": (
            "number above 0",
            NONE,
            "The largest epsilon of one question; without it, one above 10 needs `confirm`.",
        ),
        "max_rho_per_question": (
            "number above 0",
            NONE,
            "The largest rho of one question; without it, one above 10 needs `confirm`.",
        ),
        "delta_per_question": (
            "number between 0 and 1",
            NONE,
            "The delta of a question that names none, and the largest that one may name.",
        ),
        "confidence": (
            "number between 0 and 1",
            f"`{float(Limits().confidence)}`",
            "The confidence of intervals, unless a question names another.",
        ),
        "min_people": (
            "whole number from 1",
            NONE,
            "Groups with a smaller noisy count of people are not shown.",
        ),
        "max_answer_rows": (
            "whole number from 1",
            NONE,
            "The most rows of an answer; a question that may have more needs a LIMIT.",
        ),
        "ceilings": (
            "list of names",
            '`["max_groups", "max_rows"]`',
            "Which of these two a question may lower and not raise; `[]`: it may raise both.",
        ),
    },
    "who": {
        "analysts": ("list of texts", "anybody", "The names of those who may open the tables."),
    },
    "tables.NAME": {
        "public": ("true or false", "`false`", "Whether anybody may see all of the table."),
        "unit": (
            "list of texts",
            "that of the policy",
            "The columns that name the unit, if they have other names here.",
        ),
        "link": ("table", NONE, "How rows find their unit in another table; see below."),
        "path": (
            "text",
            NONE,
            (
                "The path of the table, such as `db.clinic.visits`. A path in a question has to be "
                "the end of it; without one, everything before the name is ignored."
            ),
        ),
        "key": ("list of texts", NONE, "Columns in which no two rows agree."),
        "frozen": ("true or false", "that of the policy", "Whether the table may never change."),
        "max_rows": ("whole number from 1", "that of `[limits]`", "The limit for this table."),
        "max_groups": ("whole number from 1", "that of `[limits]`", "The limit for this table."),
        "size": ("table", NONE, "See below."),
        "csv": ("table", NONE, "See below."),
        "columns": ("table of tables", NONE, "What is public about each column; see below."),
    },
    "tables.NAME.size": {
        "people": ("whole number from 1", NONE, "About how many people have rows in it."),
        "rows": ("whole number from 1", NONE, "About how many rows it has."),
    },
    "tables.NAME.link": {
        "column": ("text", REQUIRED, "The column of this table that points to a row of another."),
        "parent": (
            "text",
            REQUIRED,
            "That other table, which is private and has a unit or a link.",
        ),
        "key": (
            "text",
            REQUIRED,
            (
                "The column of the other table that is pointed to; the owner promises that each "
                "of its values belongs to one unit."
            ),
        ),
    },
    "tables.NAME.csv": {
        "separator": (
            _one_of(SEPARATORS),
            "what the line of names shows",
            "The delimiter between cells.",
        ),
        "encoding": (_one_of(ENCODINGS), '`"utf-8"`', "The encoding of the text."),
        "decimal": (_one_of(DECIMALS), '`"."`', "The sign before the decimals of a number."),
        "thousands": (_one_of(THOUSANDS), '`""`', "The sign between the thousands of a number."),
        "dates": (
            'text such as `"DD.MM.YYYY"`',
            '`""`',
            "How days are written, in addition to 2024-02-29.",
        ),
    },
    "tables.NAME.columns.NAME": {
        "type": (_one_of(kind.value.lower() for kind in Type), REQUIRED, "The type of its values."),
        "low": (
            "number; day for a date or timestamp",
            NONE,
            (
                "The lower bound, which needs `high`; numbers below are moved to it. Of days, "
                "the first: if groups follow from bounds, rows of other days are left out."
            ),
        ),
        "high": (
            "number; day for a date or timestamp",
            NONE,
            "The upper bound, which needs `low`, in the same way.",
        ),
        "categories": (
            "list of integers, texts, days, or true and false",
            NONE,
            "The public values: groups of the column are these, and rows with others are in none.",
        ),
        "nullable": (
            "true or false",
            "`true`, or `false` with categories",
            "Whether it may be NULL; with categories, rows with NULL are left out unless it may.",
        ),
        "constant": (
            "true or false",
            "`false`",
            "The owner promises that all rows of a unit agree in this column.",
        ),
    },
}
"""Each key of a policy: its type, what holds without it, and a sentence."""


def page() -> str:
    """Return the page about the keys of a policy, in the order in which the code lists them."""
    return "".join([HEAD, *(part for header in POLICY_KEYS for part in _keys(header))])


def _keys(header: str) -> Iterator[str]:
    title, sentence = HEADERS[header]
    yield f"\n## {title}\n\n{sentence}\n\n| key | type | without it | |\n|---|---|---|---|\n"
    for key in POLICY_KEYS[header]:
        yield f"| `{key}` | {' | '.join(KEYS[header][key])} |\n"


if __name__ == "__main__":
    (ROOT / "docs/reference/policy.md").write_text(page(), encoding="utf-8")
