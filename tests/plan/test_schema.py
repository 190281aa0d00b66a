"""Tables and columns are found by their names, in any case."""

from discreet.query.types import Type
from discreet.requests.table_schema import ColumnFacts, Link, Schema, TableFacts
from tests.plan.clinic import SCHEMA


def test_names_are_found_in_any_case():
    assert SCHEMA.table("VISITS").column("Cost").high == 100
    assert SCHEMA.table("nothing") is None
    assert SCHEMA.table("visits").column("nothing") is None


def test_a_value_leads_to_keys_through_all_links():
    def table(name, *columns, **more):
        facts = tuple(ColumnFacts(name=each, type=Type.INTEGER) for each in columns)
        return TableFacts(name=name, columns=facts, **more)

    calls = table("Calls", "Id", "caller", unit=("caller",), key=("id",))
    notes = table("notes", "note", "call", link=Link(column="Call", parent="calls", key="id"))
    words = table("words", "note", link=Link(column="note", parent="Notes", key="note"))
    pairs = table("pairs", "a", "b", unit=("a",), key=("a", "b"))
    schema = Schema([calls, notes, words, pairs])
    assert schema.keys_of(words, "NOTE") == schema.keys_of(notes, "note") == {("notes", "note")}
    assert schema.keys_of(notes, "call") == schema.keys_of(calls, "id") == {("calls", "id")}
    assert schema.keys_of(pairs, "a") == schema.keys_of(calls, "caller") == frozenset()
    same = table("words", "note", link=Link(column="note", parent="notes", key="call"))
    chained = Schema([calls, notes, same])
    assert chained.keys_of(same, "note") == {("notes", "call"), ("calls", "id")}
