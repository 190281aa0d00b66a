"""The schema of a session: the columns that are there, with what the policy says of them."""

import pytest

from discreet.errors import BadPolicy, UnreadableSource
from discreet.plan.policy.policy import Policy, read_policy
from discreet.query.types import Type
from discreet.session.schemas import schema_of
from discreet.units import custom, person, row

VISITS = {"Patient": Type.INTEGER, "ward": Type.TEXT, "cost": Type.TEXT, "scan": None}
PATIENT = person("patient")


def policy(text):
    return read_policy(f"format = 1\n{text}")


def test_columns_without_facts_have_the_types_of_the_source():
    table = schema_of(Policy(), PATIENT, {"visits": VISITS}).table("visits")
    assert [(column.name, column.type) for column in table.columns] == [
        ("Patient", Type.INTEGER),
        ("ward", Type.TEXT),
        ("cost", Type.TEXT),
    ]
    assert table.unit == ("patient",)


def test_declared_facts_are_taken_over():
    rules = policy('[tables.visits.columns.COST]\ntype = "float"\nlow = 0\nhigh = 9')
    column = schema_of(rules, PATIENT, {"visits": VISITS}).table("visits").column("cost")
    assert (column.name, column.type, column.high) == ("cost", Type.FLOAT, 9)


@pytest.mark.parametrize(
    "text",
    [
        '[tables.visits.columns.price]\ntype = "float"',  # not there
        '[tables.visits.columns.scan]\ntype = "text"',  # cannot be read
        '[tables.visits.columns.patient]\ntype = "date"',  # not from a number
        '[tables.visits]\nkey = ["number"]',  # not there
        '[tables.visits.columns.ward]\ntype = "boolean"',
    ],
)
def test_a_policy_that_does_not_fit_the_data_is_refused(text):
    with pytest.raises(BadPolicy):
        schema_of(policy(text), PATIENT, {"visits": VISITS})


def test_every_private_table_names_its_unit():
    with pytest.raises(BadPolicy):
        schema_of(Policy(), PATIENT, {"wards": {"ward": Type.TEXT}})
    with pytest.raises(BadPolicy):
        schema_of(
            policy('[tables.visits]\nunit = ["patient", "ward"]'), PATIENT, {"visits": VISITS}
        )
    public = policy('[tables.wards]\npublic = true\nkey = ["ward"]')
    assert schema_of(public, PATIENT, {"wards": {"ward": Type.TEXT}}).table("wards").unit == ()


def test_rows_need_no_columns():
    assert schema_of(Policy(), row(), {"visits": VISITS}).table("visits").unit == ()


def test_another_table_may_call_the_unit_differently():
    rules = policy('unit = "patient"\n[tables.bills]\nunit = ["payer"]')
    found = schema_of(rules, PATIENT, {"visits": VISITS, "bills": {"payer": Type.INTEGER}})
    assert found.table("bills").unit == ("payer",)


def test_a_linked_table_needs_its_parent():
    rules = policy(
        '[tables.visits]\n[tables.bills.link]\ncolumn = "visit"\nparent = "visits"\nkey = "id"'
    )
    bills = {"visit": Type.INTEGER, "sum": Type.FLOAT}
    visits = {**VISITS, "id": Type.INTEGER}
    assert schema_of(rules, PATIENT, {"visits": visits, "bills": bills}).table("bills").link
    with pytest.raises(BadPolicy):
        schema_of(rules, PATIENT, {"bills": bills})
    with pytest.raises(BadPolicy):
        schema_of(rules, PATIENT, {"visits": VISITS, "bills": bills})
    with pytest.raises(BadPolicy):
        schema_of(rules, PATIENT, {"visits": visits, "bills": {"sum": Type.FLOAT}})
    with pytest.raises(BadPolicy):
        schema_of(rules, PATIENT, {"visits": visits, "bills": {**bills, "visit": Type.FLOAT}})


@pytest.mark.parametrize(
    ("source", "declared", "fine"),
    [
        (Type.INTEGER, None, True),
        (Type.TEXT, None, True),
        (Type.TEXT, "integer", True),  # 07 and 7: the owner says that they are numbers
        (Type.INTEGER, "text", True),
        (Type.FLOAT, None, False),
        (Type.FLOAT, "integer", False),
        (Type.INTEGER, "boolean", False),
        (Type.INTEGER, "float", False),
        (Type.TEXT, "float", False),
        (Type.TIMESTAMP, "date", False),
        (Type.TEXT, "date", False),
        (Type.DATE, None, True),
    ],
)
def test_people_who_differ_stay_different(source, declared, fine):
    text = "" if declared is None else f'[tables.visits.columns.patient]\ntype = "{declared}"'
    sources = {"visits": {"patient": source}}
    if fine:
        assert schema_of(policy(text), PATIENT, sources)
    else:
        with pytest.raises(BadPolicy):
            schema_of(policy(text), PATIENT, sources)


def test_a_unit_of_two_columns():
    day = custom("person-day", columns=["patient", "day"])
    sources = {"visits": {"patient": Type.INTEGER, "day": Type.DATE}}
    assert schema_of(Policy(), day, sources).table("visits").unit == ("patient", "day")


def test_columns_that_differ_in_case_only_are_refused():
    with pytest.raises(UnreadableSource):
        schema_of(Policy(), row(), {"visits": {"a": Type.TEXT, "A": Type.TEXT}})


BILLS = (
    '[tables.visits]\nkey = ["visit"]\n'
    '[tables.bills.link]\ncolumn = "visit"\nparent = "visits"\nkey = "visit"\n'
)
PARENT = {"patient": Type.INTEGER, "visit": Type.INTEGER}


def test_a_link_has_the_type_of_its_key():
    schema_of(policy(BILLS), PATIENT, {"visits": PARENT, "bills": {"visit": Type.INTEGER}})
    with pytest.raises(BadPolicy, match="which names the same"):
        schema_of(policy(BILLS), PATIENT, {"visits": PARENT, "bills": {"visit": Type.TEXT}})


def test_rows_that_are_units_have_no_links():
    with pytest.raises(BadPolicy, match="protected by itself"):
        schema_of(policy(BILLS), row(), {"visits": PARENT, "bills": {"visit": Type.INTEGER}})


def test_a_unit_has_one_type_in_all_tables():
    """Otherwise 7 and '7' would be taken for two people, who pay apart."""
    other = policy('[tables.calls]\nunit = ["caller"]')
    schema_of(other, PATIENT, {"visits": VISITS, "calls": {"caller": Type.INTEGER}})
    with pytest.raises(BadPolicy, match="which names the same"):
        schema_of(other, PATIENT, {"visits": VISITS, "calls": {"caller": Type.TEXT}})
