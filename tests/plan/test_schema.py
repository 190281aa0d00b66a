"""Tables and columns are found by their names, in any case."""

from discreet.plan.schema import ColumnFacts, Schema, TableFacts
from discreet.query.types import Type
from tests.plan.clinic import SCHEMA


def test_names_are_found_in_any_case():
    assert SCHEMA.table("VISITS").column("Cost").high == 100
    assert SCHEMA.table("nothing") is None
    assert SCHEMA.table("visits").column("nothing") is None


def test_a_column_is_shared_only_if_it_is_in_all_private_tables_that_have_it():
    constant = ColumnFacts(name="Born", type=Type.INTEGER, constant=True)
    varying = ColumnFacts(name="born", type=Type.INTEGER)
    one, other = (TableFacts(name=name, columns=(constant,)) for name in "ab")
    public = TableFacts(name="c", columns=(varying,), public=True)
    assert Schema([one, other, public]).constant == ("born",)
    assert Schema([one, TableFacts(name="b", columns=(varying,))]).constant == ()
    assert SCHEMA.constant == ("born", "height", "sex")
