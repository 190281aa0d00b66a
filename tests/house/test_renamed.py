"""Former public names: each warns for one release, and is what it is called now."""

import copy
import importlib
import subprocess
import sys
import warnings

import pyarrow as pa
import pytest

import discreet

RENAMED = {
    ("discreet.accounting", "Book"): "PrivacyFilter",
    ("discreet.accounting", "Comparison"): "WorkloadComparison",
    ("discreet.accounting", "read"): "decode",
    ("discreet.accounting", "written"): "encode",
    ("discreet.attacks", "Asked"): "AskedQuestion",
    ("discreet.attacks", "Question"): "AuditedQuestion",
    ("discreet.attacks.claims", "Approximate"): "ApproximateClaim",
    ("discreet.attacks.claims", "Pure"): "PureClaim",
    ("discreet.ledger", "Release"): "StoredAnswer",
    ("discreet.ledger", "Standing"): "AccountBalance",
    ("discreet.ledger.verify", "Standing"): "AccountBalance",
}
MOVED = {
    "discreet.attacks.implementation": "discreet_audit.implementation",
    "discreet.attacks.report": "discreet_audit.report",
    "discreet.attacks.suite": "discreet_audit.suite",
    "discreet.attacks.twins": "discreet_audit.twins",
}
PAIRS = pytest.mark.parametrize(
    ("room", "former", "name"),
    [(room, former, name) for (room, former), name in RENAMED.items()],
    ids=[former for _, former in RENAMED],
)


@PAIRS
def test_a_former_name_warns_and_is_the_new_one(room, former, name):
    module = importlib.import_module(room)
    with pytest.warns(DeprecationWarning, match=rf"{room}\.{former} is called {name} now") as seen:
        value = getattr(module, former)
    assert value is getattr(module, name)
    assert {warning.filename for warning in seen} == {__file__}  # where the name is used


@PAIRS
def test_it_warns_every_time(room, former, name):
    module = importlib.import_module(room)
    for _ in range(2):
        with pytest.warns(DeprecationWarning, match=former):
            getattr(module, former)
    assert former not in vars(module)


@PAIRS
def test_it_can_be_imported_by_name(room, former, name):
    with pytest.warns(DeprecationWarning, match=former):
        exec(f"from {room} import {former}", {})  # noqa: S102 (the names above)


@PAIRS
def test_only_the_new_name_is_listed(room, former, name):
    module = importlib.import_module(room)
    for listed in (module.__all__, dir(module)):
        assert name in listed
        assert former not in listed


PLAN = {
    "about": "descriptions",
    "lowered": "request",
    "reached": "having_threshold",
    "shown": "layout",
    "standing": "budget_preview",
}


def test_attributes_of_a_plan_keep_their_former_names():
    visits = pa.table({"patient": [1, 1, 2]})
    policy = 'format = 1\nunit = "patient"\n[tables.visits.columns]\npatient = {type = "integer"}'
    with discreet.open({"visits": visits}, policy=policy, test_mode=True) as clinic:
        plan = clinic.plan("SELECT COUNT(DISTINCT patient) AS n FROM visits", epsilon=1)
    for former, name in PLAN.items():
        with pytest.warns(DeprecationWarning, match=rf"Plan\.{former} is called {name} now"):
            assert getattr(plan, former) is getattr(plan, name)
    assert not hasattr(plan, "other")
    assert copy.deepcopy(plan) == plan


def test_no_new_name_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for (room, _), name in RENAMED.items():
            getattr(importlib.import_module(room), name)


def test_a_program_that_uses_a_former_name_still_runs():
    program = (
        "import discreet as dp; dp.accounting.Book(dp.Budget(epsilon=1), unit=dp.row())"  # as ever
    )
    ran = subprocess.run(
        [sys.executable, "-W", "always", "-c", program], capture_output=True, text=True, check=True
    )
    assert "DeprecationWarning" in ran.stderr


@pytest.mark.parametrize(("former", "name"), MOVED.items(), ids=list(MOVED))
def test_the_audit_of_ourselves_lies_beside_the_library(former, name):
    assert importlib.util.find_spec(name) is not None
    assert importlib.util.find_spec(former) is None


def test_the_reference_engine_is_no_public_name():
    engines = importlib.import_module("discreet.engines")
    assert not hasattr(engines, "Reference")
    assert discreet.__version__ == "0.1.0", "a release has passed: remove the former names"
