"""Questions by clicks, and as code to copy.

Trust: public.  Questions made by clicks are read, planned and refused like all others.  Code to
copy contains no token: its user supplies one.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from discreet.errors import UnknownName, WrongKind
from discreet.query.types import Type
from discreet.requests.table_schema import ColumnFacts, Schema, TableFacts
from discreet.service.site import Site

AGGREGATES: Final[Mapping[str, str]] = {
    "count": "how many rows",
    "people": "how many people",
    "sum": "total",
    "avg": "mean",
    "median": "median",
}
"""What can be clicked, and what a page calls it."""
_OF_COLUMN: Final = {"sum": "SUM({})", "avg": "AVG({})", "median": "MEDIAN({})"}
_MOST_GROUPS: Final = 2


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Clicked:
    """What was clicked.

    >>> from discreet.query.types import Type
    >>> ward = ColumnFacts(name="ward", type=Type.TEXT)
    >>> cost = ColumnFacts(name="cost", type=Type.FLOAT)
    >>> schema = Schema([TableFacts(name="visits", columns=(ward, cost), unit=("patient",))])
    >>> print(Clicked(table="visits", aggregate="avg", column="cost", groups=("ward",))
    ...     .sql(schema))
    SELECT `ward`, AVG(`cost`) AS mean_cost FROM `visits` GROUP BY `ward`
    """

    table: str
    aggregate: str = "count"
    column: str = ""
    groups: tuple[str, ...] = ()

    def sql(self, schema: Schema) -> str:
        """Return the question as SQL, with names that are in the schema alone."""
        table = schema.table(self.table)
        if table is None:
            raise UnknownName(
                what="there is no such table here.",
                why="a question is about the tables of this dataset.",
                do=f"choose one of: {', '.join(each.name for each in schema.tables)}.",
            )
        groups = [_column(table, name) for name in dict.fromkeys(self.groups) if name]
        if len(groups) > _MOST_GROUPS:
            raise WrongKind(
                what=f"more than {_MOST_GROUPS} columns to group by were chosen.",
                why="each column multiplies the groups, and every group gets its own noise.",
                do="choose fewer, or write SQL.",
            )
        computed = self._computed(table)
        names = [_quoted(column.name) for column in groups]
        ending = f" GROUP BY {', '.join(names)}" if names else ""
        return f"SELECT {', '.join([*names, computed])} FROM {_quoted(table.name)}{ending}"  # noqa: S608  names of the schema

    def _computed(self, table: TableFacts) -> str:
        if self.aggregate == "count":
            return "COUNT(*) AS number"
        if self.aggregate == "people":
            if not table.unit:
                raise WrongKind(
                    what="this table does not name people.",
                    why="only a column that names people says how many there are.",
                    do="count rows instead.",
                )
            return f"COUNT(DISTINCT {_quoted(table.unit[0])}) AS people"
        form = _OF_COLUMN.get(self.aggregate)
        if form is None:
            raise UnknownName(
                what="there is no such statistic here.",
                why="the builder offers a few; SQL has more.",
                do=f"choose one of: {', '.join(AGGREGATES.values())}.",
            )
        column = _column(table, self.column)
        if not column.type.is_number:
            raise WrongKind(
                what=f"{column.name} is not a number.",
                why="totals, means and medians are of numbers.",
                do="choose a column of numbers, or count rows.",
            )
        word = AGGREGATES[self.aggregate]
        return f"{form.format(_quoted(column.name))} AS {_alias(word, column.name)}"


def group_columns(table: TableFacts) -> list[ColumnFacts]:
    """Return the columns whose groups are public: they have categories, or are booleans.

    >>> ward = ColumnFacts(name="ward", type=Type.TEXT, categories=("A", "B"))
    >>> [each.name for each in group_columns(TableFacts(name="visits", columns=(ward,)))]
    ['ward']
    """
    return [
        column
        for column in table.columns
        if column.categories is not None or column.type is Type.BOOLEAN
    ]


def number_columns(table: TableFacts) -> list[ColumnFacts]:
    """Return the columns that can be added up: numbers with public bounds, not the unit's.

    >>> age = ColumnFacts(name="age", type=Type.INTEGER, low=0, high=110)
    >>> [each.name for each in number_columns(TableFacts(name="people", columns=(age,)))]
    ['age']
    """
    return [
        column
        for column in table.columns
        if column.type.is_number and column.bounded and column.name not in table.unit
    ]


def _column(table: TableFacts, name: str) -> ColumnFacts:
    for column in table.columns:
        if column.name == name:
            return column
    raise UnknownName(
        what=f"a column that was chosen is not in {table.name}.",
        why="only columns that the table declares can be asked about.",
        do=f"choose one of: {', '.join(column.name for column in table.columns)}.",
    )


def _quoted(name: str) -> str:
    return f"`{name}`"


def _alias(word: str, name: str) -> str:
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)
    return f"{word}_{plain}"


_TOKEN: Final = "DISCREET_TOKEN"  # noqa: S105  the name of a variable


def copies_of(
    question: str, price: Mapping[str, Any], *, site: Site, dataset: str
) -> dict[str, str]:
    """Return a question as code: for a client, or for a reader of the files."""
    price = {name: value for name, value in price.items() if name != "confirm"}
    if site.loopback_person is None:
        return served_copies(question, price, server=site.address.url, dataset=dataset)
    found = site.datasets[dataset]
    data = found.data if isinstance(found.data, str) else dict(found.data)
    return local_copies(question, price, data=data, policy=str(found.policy), ledger=found.ledger)


def served_copies(
    question: str, price: Mapping[str, Any], *, server: str, dataset: str
) -> dict[str, str]:
    """Return the same question in three languages, by their names.

    >>> told = served_copies("SELECT COUNT(*) AS n FROM t", {"epsilon": "0.1"},
    ...                      server="https://data.example", dataset="clinic")
    >>> list(told)
    ['Python', 'SQL', 'curl']
    >>> print(told["SQL"])
    SELECT COUNT(*) AS n FROM t
    """
    asked = question.strip()
    body = json.dumps({"question": asked, **price})
    address = f"{server}/v1/datasets/{dataset}/queries"
    return {
        "Python": (
            "import os\n\nimport discreet as dp\n\n"
            f"server, token = {server!r}, os.environ[{_TOKEN!r}]\n"
            f"with dp.connect(server, token=token, dataset={dataset!r}) as data:\n"
            f"    print(data.ask({asked!r}{_arguments(price)}))\n"
        ),
        "SQL": asked,
        "curl": (
            f"curl --fail-with-body -X POST {shlex.quote(address)} \\\n"
            f'  -H "Authorization: Bearer ${_TOKEN}" -H "Content-Type: application/json" \\\n'
            f'  -H "Idempotency-Key: $(date +%s%N)" \\\n  -d {shlex.quote(body)}\n'
        ),
    }


def local_copies(
    question: str, price: Mapping[str, Any], *, data: object, policy: str, ledger: str
) -> dict[str, str]:
    """Return the same question for a reader of the files.

    >>> told = local_copies("SELECT COUNT(*) AS n FROM t", {"epsilon": "0.1"},
    ...                     data="t.csv", policy="policy.toml", ledger="t.ledger")
    >>> print(told["command"])
    discreet ask 'SELECT COUNT(*) AS n FROM t' --policy policy.toml --epsilon 0.1
    """
    asked = question.strip()
    options = ["--policy", policy]
    for name, value in price.items():
        if isinstance(value, Mapping):
            options += [part for each in value.items() for part in ("--error", "=".join(each))]
        else:
            options += [f"--{name}", str(value)]
    return {
        "Python": (
            "import discreet as dp\n\n"
            f"with dp.open({data!r}, policy={policy!r}, ledger={ledger!r}) as data:\n"
            f"    print(data.ask({asked!r}{_arguments(price)}))\n"
        ),
        "SQL": asked,
        "command": shlex.join(["discreet", "ask", asked, *options]),
    }


def _arguments(price: Mapping[str, Any]) -> str:
    return "".join(f", {name}={value!r}" for name, value in price.items())
