"""Stored formats, version 1: what this version writes stays readable, byte for byte.

``python -m tests.session.test_formats`` writes the files again, after a change of format that is
meant; ``docs/reference/formats.md`` describes them.
"""

import json
from pathlib import Path

import pytest

import discreet as dp
from discreet.accounting import decode, encode
from discreet.errors import WrongKind
from discreet.plan.plan import request_document
from discreet.plan.policy.policy import read_policy
from discreet.release.release import Release
from tests.session.clinic import visits

FILES = Path(__file__).parent / "formats"
QUESTION = (
    "SELECT ward, COUNT(*) AS n, AVG(cost) AS mean, PERCENTILE_CONT(cost, 0.5) AS middle "
    "FROM visits WHERE region = 'north' GROUP BY ward"
)
PRICE = {"epsilon": "0.5", "confidence": "0.9"}
FOUND = "SELECT SUM(visit) AS s FROM visits"
FOUND_PRICE = {"epsilon": "0.5", "bounds": dp.estimate(epsilon="0.25")}


def opened():
    return dp.open(
        {"visits": visits()}, policy=FILES / "policy.toml", analyst="ana", test_mode=True
    )


def document(plan):
    """Return what the digest of a plan rests on, and the digest."""
    return {
        "digest": plan.digest,
        "scope": plan.scope.written(),
        "tree": encode(plan.tree),
        **request_document(plan.request),
    }


def text(value):
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def files():
    """Return every file and its bytes, as this version writes them."""
    with opened() as session:
        plan, found = session.plan(QUESTION, **PRICE), session.plan(FOUND, **FOUND_PRICE)
        session.ask(found)
        yield "plan.json", text(document(plan)).encode()
        yield "release.json", session.ask(plan).written()
        yield "release_with_bounds.json", session.ledger.find(found.digest).answer


def test_a_policy_is_written_as_it_was_read():
    stored = (FILES / "policy.toml").read_text()
    assert str(read_policy(stored)) == stored


def test_a_question_is_planned_as_on_record():
    with opened() as session:
        plan = session.plan(QUESTION, **PRICE)
    stored = json.loads((FILES / "plan.json").read_bytes())
    assert document(plan) == stored
    assert encode(decode(stored["tree"])) == stored["tree"]


def test_a_release_is_written_as_it_was_read():
    stored = (FILES / "release.json").read_bytes()
    with opened() as session:
        release = Release.read(stored, session.plan(QUESTION, **PRICE))
    assert release.written() == stored
    assert release.columns[0].values.to_pylist() == ["A", "B", "C"]


def test_a_release_with_bounds_is_written_as_it_was_read():
    stored = (FILES / "release_with_bounds.json").read_bytes()
    with opened() as session:
        plan = session.plan(FOUND, **FOUND_PRICE)
        release = session._pipeline.read(stored, plan)
    assert json.loads(release.written()) == json.loads(stored)["answer"]
    found = [[b.about, str(b.low), str(b.high), b.seen, str(b.outside)] for b in release.plan.found]
    assert found == json.loads(stored)["bounds"]


def test_another_version_is_refused():
    stored = json.loads((FILES / "release.json").read_bytes()) | {"format": 2}
    with opened() as session, pytest.raises(WrongKind, match="version"):
        Release.read(json.dumps(stored).encode(), session.plan(QUESTION, **PRICE))


if __name__ == "__main__":
    for name, data in files():
        (FILES / name).write_bytes(data)
