"""Checking a policy against the data, for the owner's eyes only.

Trust: kernel.  It reads private tables and returns exact numbers: whoever may call it may read the
data.  Nothing that answers questions imports it, and it opens no ledger.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from discreet.engines.choice import engine_for
from discreet.engines.connection import Performance
from discreet.engines.spark.performance import SparkPerformance
from discreet.engines.spark.sources import is_spark
from discreet.plan.owner_promises import promises_of
from discreet.plan.policy import Policy
from discreet.plan.schema import Schema
from discreet.query.relations import folded
from discreet.session.owner_check.cells import cell_findings
from discreet.session.owner_check.counting import Counting
from discreet.session.owner_check.limits import limit_findings
from discreet.session.owner_check.owners import (
    constant_findings,
    key_findings,
    link_findings,
    same_findings,
)
from discreet.session.owner_check.report import CheckReport, Finding
from discreet.session.policies import policy_of, unit_of
from discreet.session.schemas import schema_of
from discreet.session.sources import named_sources
from discreet.units import PrivacyUnit

__all__ = ["check"]


def check(
    source: object,
    *,
    unit: PrivacyUnit | None = None,
    policy: str | os.PathLike[str] | Policy | None = None,
    tables: str | Sequence[str] | None = None,
    performance: Performance | SparkPerformance | None = None,
) -> CheckReport:
    r"""Say which promises and declarations of a policy hold in the data.

    The report is NOT private: it holds exact numbers, and is for the owner of the data only.  It
    costs no budget, needs no ledger and writes nothing.

    Args:
        source: what ``discreet.open`` takes.
        unit: who is protected; may stand in the policy.
        policy: the owner's file, its text, or a Policy.
        tables: the name of the table, or which tables of a database are opened.
        performance: how the engine works.

    >>> import pyarrow as pa
    >>> visits = pa.table({"patient": [1, 1, 2], "born": [1970, 1971, 1980]})
    >>> rules = '''
    ... format = 1
    ... unit = "patient"
    ... [tables.visits.columns.born]
    ... type = "integer"
    ... constant = true
    ... '''
    >>> report = check({"visits": visits}, policy=rules)
    >>> [(each.column, each.detail) for each in report.broken]
    [('born', '50 % of units have several values (1 of 2)')]
    """
    rules = policy_of(policy)
    whose = unit_of(unit, rules)
    sources = named_sources(source, tables, [table.name for table in rules.tables])
    engine = engine_for(sources, performance)
    try:
        schema = schema_of(rules, whose, engine.tables(), engine.stored())
        engine.owned(schema)
        counting = Counting(engine, schema)
        divided = any(map(is_spark, sources.values()))
        found = (
            *_beyond_data(schema, whose),
            *_of_owners(counting, whose, divided=divided),
            *_of_tables(counting, rules, whose),
        )
    finally:
        engine.close()
    return CheckReport(findings=found)


def _beyond_data(schema: Schema, unit: PrivacyUnit) -> Iterator[Finding]:
    """Name the promises that one state of the data cannot show."""
    for promise in promises_of(schema, unit):
        if promise.kind in {"names", "stay"}:
            yield Finding(
                table=promise.table or "all",
                column=promise.column,
                promise=str(promise),
                holds=None,
                trusted=True,
                share=None,
                detail="one state of the data cannot show it",
            )


def _of_owners(counting: Counting, unit: PrivacyUnit, *, divided: bool) -> Iterator[Finding]:
    for table in counting.schema.tables:
        if not table.public and unit.columns:
            yield from constant_findings(counting, table)
            yield from link_findings(counting, table, divided=divided)
        yield from key_findings(counting, table)
    if unit.columns:
        yield from same_findings(counting)


def _of_tables(counting: Counting, rules: Policy, unit: PrivacyUnit) -> Iterator[Finding]:
    described = {
        folded(table.name): frozenset(folded(each.name) for each in table.columns)
        for table in rules.tables
    }
    for table in counting.schema.tables:
        declared = described.get(folded(table.name), frozenset())
        yield from cell_findings(counting, table, declared)
        if not table.public and unit.columns:
            yield from limit_findings(counting, table, rules.limits, declared)
