"""The tables of a ledger on a PostgreSQL server.

Trust: kernel.

``entry`` holds the rows.  The server itself refuses to change, delete or truncate them, a second
charge or release of a key, and a row that is not the next one or whose head does not follow; these
guards hold in replication sessions too, for every role that does not own the tables.
``turn`` is empty: whoever has locked it is the one writer.  (A lock on ``entry`` would have to wait
for the server's own upkeep of that table.)  ``checkpoint`` has at most one row, and ``meta`` one.
All of them lie in a schema of their own.  A role that uses a ledger needs SELECT on ``meta``,
SELECT and INSERT on ``entry``, SELECT, INSERT and UPDATE on ``checkpoint``, UPDATE on ``turn``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from discreet.errors import DamagedLedger, NotALedger
from discreet.ledger.stores.failures import newer_version_error
from discreet.ledger.stores.postgres_server import PostgresSession

_APPLICATION: Final = "discreet ledger"
_FORMAT: Final = 1
_ALONE: Final = "SELECT pg_advisory_xact_lock(hashtextextended('discreet ledger {schema}', 0))"

_COLUMNS: Final = {
    "meta": ["application text", "format integer", "single boolean"],
    "entry": [
        "seq bigint",
        "kind text",
        "key text",
        "question text",
        "line text",
        "head text",
        "answer bytea",
    ],
    "checkpoint": ["seq bigint", "state text", "single boolean"],
    "turn": ["nobody boolean"],
}
_GUARDS: Final = {
    "trigger append_only",
    "trigger in_order",
    "unique entry_pkey",
    "unique entry_head_key",
    "unique one_charge",
    "unique one_release",
    "plain table",
}

# Text is compared byte by byte ("C"): the order of a language may change with the server's system.
_TABLES: Final = """
CREATE TABLE {meta} (
    application text NOT NULL,
    format integer NOT NULL,
    single boolean PRIMARY KEY DEFAULT true CHECK (single)
);
CREATE TABLE {entry} (
    seq bigint CONSTRAINT entry_pkey PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C",
    question text COLLATE "C",
    line text COLLATE "C" NOT NULL,
    head text COLLATE "C" NOT NULL CONSTRAINT entry_head_key UNIQUE,
    answer bytea,
    CONSTRAINT of_release CHECK ((answer IS NOT NULL) = (kind = 'release'))
);
CREATE UNIQUE INDEX one_charge ON {entry} (key) WHERE kind = 'charge';
CREATE UNIQUE INDEX one_release ON {entry} (key) WHERE kind = 'release';
CREATE INDEX of_key ON {entry} (key) WHERE key IS NOT NULL;
CREATE INDEX asked ON {entry} (question) WHERE kind = 'charge' AND question <> '';
CREATE TABLE {checkpoint} (
    seq bigint NOT NULL,
    state text NOT NULL,
    single boolean PRIMARY KEY DEFAULT true CHECK (single)
);
CREATE TABLE {turn} (nobody boolean CHECK (false));

CREATE FUNCTION {append_only}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'entries are only ever appended' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {entry}
    FOR EACH STATEMENT EXECUTE FUNCTION {append_only}();

CREATE FUNCTION {in_order}() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    last_seq bigint;
    last_head text;
BEGIN
    SELECT seq, head INTO last_seq, last_head FROM {entry} ORDER BY seq DESC LIMIT 1;
    last_head := coalesce(last_head, repeat('0', 64)) || chr(10);
    IF NEW.seq <> coalesce(last_seq, 0) + 1
        OR NEW.head <> encode(sha256(convert_to(last_head || NEW.line, 'UTF8')), 'hex')
    THEN
        RAISE EXCEPTION 'an entry follows from the last one' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER in_order BEFORE INSERT ON {entry} FOR EACH ROW EXECUTE FUNCTION {in_order}();

ALTER TABLE {entry} ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE {entry} ENABLE ALWAYS TRIGGER in_order;
"""


def has_tables(session: PostgresSession) -> bool:
    """Return whether there is a ledger; refuse other things in its place and later formats."""
    tables = dict(
        session.ask(
            "SELECT c.relname::text, array(SELECT a.attname || ' ' || format_type(a.atttypid, NULL)"
            " FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
            " ORDER BY a.attnum) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = %s AND c.relkind IN ('r', 'p', 'v', 'm', 'f')",
            session.name,
        )
    )
    if not tables:
        return False
    if tables.get("meta") != _COLUMNS["meta"]:
        raise _something_else()
    match session.ask("SELECT application, format FROM {meta}"):
        case [(application, int(version))] if application == _APPLICATION and version > 0:
            if version > _FORMAT:
                raise newer_version_error(version, _FORMAT)
        case _:
            raise _something_else()
    if any(tables.get(name) != columns for name, columns in _COLUMNS.items()):
        raise _unguarded()
    if _guards(session) != _GUARDS:
        raise _unguarded()
    return True


def create_tables(session: PostgresSession, fill: Callable[[], None]) -> bool:
    """Make the tables and fill them in one transaction; return whether there were none."""
    if has_tables(session):
        return False
    session.begin(_ALONE)
    try:
        new = not has_tables(session)
        if new:
            if not session.ask("SELECT 1 FROM pg_namespace WHERE nspname = %s", session.name):
                session.ask("CREATE SCHEMA {schema}")
            session.ask(_TABLES)
            session.ask(
                "INSERT INTO {meta} (application, format) VALUES (%s, %s)", _APPLICATION, _FORMAT
            )
            fill()
    except BaseException:
        session.roll_back()
        raise
    session.commit()
    return new


def _guards(session: PostgresSession) -> set[str]:
    """Return which guards of the entries are in force."""
    rows = session.ask(
        "SELECT 'trigger ' || tgname FROM pg_trigger WHERE tgrelid = '{entry}'::regclass"
        " AND NOT tgisinternal AND tgenabled = 'A' "
        "UNION SELECT 'unique ' || relname FROM pg_index JOIN pg_class ON oid = indexrelid"
        " WHERE indrelid = '{entry}'::regclass AND indisunique AND indisvalid "
        "UNION SELECT 'plain table' FROM pg_class WHERE oid = '{entry}'::regclass"
        " AND relkind = 'r' AND relpersistence = 'p' AND NOT relrowsecurity AND NOT relhasrules"
    )
    return {name for (name,) in rows}


def _something_else() -> NotALedger:
    return NotALedger(
        what="the schema holds tables that are not those of a ledger.",
        why="a ledger is never written over something else.",
        do="give another name after '#' in the address.",
    )


def _unguarded() -> DamagedLedger:
    return DamagedLedger(
        what="the tables of the ledger, or the guards on its entries, are not as they were made.",
        why="entries that can be changed or lost do not tell what was spent.",
        do="verify the ledger with your receipts, and restore it from an export or a backup.",
    )
