"""Opening a session: data, rules and ledger are put together and checked against each other.

Trust: kernel.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from discreet.accounting import Budget
from discreet.engines.dispatch import engine_for
from discreet.engines.engine import Performance, SparkPerformance
from discreet.engines.sources.identity import Identity
from discreet.errors import WrongKind
from discreet.ledger.ledger import Ledger
from discreet.ledger.store import is_server
from discreet.plan.policy.policy import Policy
from discreet.query.relations import folded
from discreet.query.sql.dialects import dialect_of
from discreet.requests.table_schema import Schema
from discreet.session.opening_arguments import (
    budget_of,
    check_analyst,
    declared_sources,
    named_sources,
    policy_of,
    session_of,
    unit_of,
)
from discreet.session.public_tables import check_keys, check_sources_apart, check_stays_private
from discreet.session.record import NoLedger, Record, Rehearsal, check_account
from discreet.session.schemas import schema_of
from discreet.session.session import Session
from discreet.session.table_records import record_schema, record_source_states
from discreet.units import PrivacyUnit


def open(  # noqa: A001, PLR0913  discreet.open: everything that belongs to a session
    source: object = None,
    *,
    unit: PrivacyUnit | None = None,
    budget: Budget | None = None,
    policy: str | os.PathLike[str] | Policy | None = None,
    ledger: str | os.PathLike[str] | Ledger | None = None,
    account: str | None = None,
    analyst: str | None = None,
    test_mode: bool = False,
    tables: str | Sequence[str] | None = None,
    performance: Performance | SparkPerformance | None = None,
    dialect: str | None = None,
) -> Session:
    """Open tables of people, to ask about them.

    The ledger is created once, at an unused path, with the unit and the budget of the policy, and
    reopened with its balance; if the policy has its id it is only opened.  It records the schema of
    every private table opened with it, which cannot be public under it later.  It belongs to the
    people in these tables: use one ledger for them, even if they come in several files.

    Args:
        source: a path or a pattern of CSV or Parquet files, a DuckDB database, or a frame of any
            library that hands out Arrow's stream, such as pandas, Polars, DuckDB or Ibis; a Spark
            data frame; the address of a table on a PostgreSQL server; or a mapping from names to
            these.  Without one, the data and the ledger are those that the
            policy names under ``[session]``, as on the command line.
        unit: who is protected; may come from the policy.
        budget: the limit on the total loss; may come from the policy, or from an existing ledger.
        policy: the owner's file, its text, or a Policy.
        ledger: the path of the record, ``postgresql://...``, or a Ledger, which is left open.
            Without one, questions can be planned and not asked.
        account: the account that pays, such as "data/flu/ana"; the first one unless given.
        analyst: who asks, if the policy lists analysts.
        test_mode: answer at any price, keep no budget, and say of every answer that it is not
            private; for tests on generated data.
        tables: the name of the table, or which tables of a database are opened.
        performance: how the engine works, such as ``discreet.engines.Performance(threads=1)``; it
            never changes an answer.
        dialect: the SQL dialect of questions, such as "bigquery" or "postgres"; without one, that
            of the policy; without either, double quotes or backticks enclose names, single quotes
            enclose text.

    >>> import pyarrow as pa
    >>> from discreet.units import row
    >>> open(pa.table({"age": [34, 71]}), unit=row(), tables="people", test_mode=True)
    <session: people; test mode: no budget is kept, and nothing that is answered is private>
    """
    if dialect is not None:
        dialect_of(dialect)
    rules = policy_of(policy)
    if source is None:
        source, own, folder = session_of(policy, rules)
        if ledger is None and own is not None and not test_mode:
            ledger = own if is_server(own) else folder / own
    whose, limits = unit_of(unit, rules), budget_of(budget, rules)
    check_analyst(analyst, rules)
    if test_mode:
        _refuse_ledger(ledger, account)
    named = named_sources(source, tables, [table.name for table in rules.tables])
    sources = declared_sources(named, rules.tables)
    engine = engine_for(sources, performance)
    try:
        schema = schema_of(rules, whose, engine.tables(), engine.stored())
        engine.learn_schema(schema)
        identities = engine.identities([folded(table.name) for table in schema.tables])
        check_sources_apart(schema, identities, named)
        check_keys(engine, schema)
        record: Record = Rehearsal()
        if not test_mode:
            record = _record(ledger, account, whose, limits, schema, rules, identities)
        states = _states(record, identities, schema, keeps=record is ledger)
    except BaseException:
        engine.close()
        raise
    return Session(
        engine=engine,
        schema=schema,
        policy=rules,
        unit=whose,
        ledger=record,
        account=account,
        keeps=isinstance(ledger, Ledger),
        states=states,
        dialect=rules.dialect if dialect is None else dialect,
    )


def _states(
    record: Record, identities: Mapping[str, Identity], schema: Schema, *, keeps: bool
) -> Mapping[str, str]:
    """Record what was opened; if that fails, close a ledger that was opened for it."""
    try:
        return record_source_states(record, identities, schema)
    except BaseException:
        if isinstance(record, Ledger) and not keeps:
            record.close()
        raise


def _refuse_ledger(ledger: object, account: object) -> None:
    if ledger is not None or account is not None:
        raise WrongKind(
            what="test mode is given a ledger, or an account.",
            why="what is answered in test mode is not private, and must not look as if it were.",
            do="leave them out, or leave out test_mode.",
        )


def _record(  # noqa: PLR0913, PLR0917  what a ledger is opened with
    ledger: str | os.PathLike[str] | Ledger | None,
    account: str | None,
    unit: PrivacyUnit,
    budget: Budget | None,
    schema: Schema,
    policy: Policy,
    identities: Mapping[str, Identity],
) -> Ledger | NoLedger:
    if ledger is None:
        return NoLedger()
    named = None if policy.session is None else policy.session.ledger_id
    if isinstance(ledger, Ledger):
        ledger.check_terms(unit=unit, budget=budget, id=named)
        opened = ledger
    else:
        root = None if account is None else account.partition("/")[0]
        opened = Ledger.open(ledger, unit=unit, budget=budget, account=root, id=named)
    try:
        check_account(opened, account)
        check_stays_private(opened, schema, identities)
        record_schema(opened, schema, unit)
    except BaseException:
        if opened is not ledger:
            opened.close()
        raise
    return opened
