"""Statements for warehouses that no test runs: printed, and parsed back as they were built."""

import pytest
from sqlglot import exp, parse_one

from discreet.engines.conformance import CASES
from discreet.engines.fragments import deep_trees, number, select
from discreet.engines.statements import statements
from discreet.engines.warehouses import WAREHOUSES
from discreet.errors import UnsupportedSQL

ASKED = [each for each in CASES if "all rows" in each.name or "groups" in each.name]


def reader(dialect):
    """Read tables by the names that the question has."""
    return lambda node: select(
        [dialect.named(dialect.column(name), name) for name, _ in node.columns] or [number(1)],
        node.table,
    )


def tables(statement):
    return [each.alias for each in statement.find_all(exp.CTE)]


@pytest.mark.parametrize("dialect", WAREHOUSES, ids=lambda each: each.name)
def test_statements_are_printed_and_read_again(dialect):
    printed = 0
    for case in ASKED:
        try:
            with deep_trees():
                built = statements(case.request, dialect, reader(dialect)).totals
        except UnsupportedSQL:
            continue
        names = tables(built)
        text = dialect.printed(built)
        again = parse_one(text, dialect=dialect.name)
        assert tables(again) == names
        assert names[-2:] == ["rows", "bounded"]
        printed += 1
    assert printed > len(ASKED) / 2
