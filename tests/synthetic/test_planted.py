"""A wrong belief about rows and groups costs accuracy alone, on every engine; engines agree."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from discreet.engines.engine import HashOrder
from discreet.session import programs
from discreet.synthetic.joint import JointHistogram, joint_request, moved_by
from discreet.synthetic.planning import domain_of, question_of_rows
from tests.engines.contract.cases import Asked
from tests.engines.contract.places import DuckDBPlace, PostgresPlace, ReferencePlace, SparkPlace
from tests.servers.spark import local_session
from tests.synthetic import clinic

ORDER = HashOrder(salt=5, portable=True)


def believed(monkeypatch, **facts):
    """Let planning believe that people have fewer rows than they do."""
    honest = programs.contribution_bounds
    monkeypatch.setattr(
        programs,
        "contribution_bounds",
        lambda *given, **named: replace(honest(*given, **named), **facts),
    )


def request_and_domain():
    with clinic.opened() as session:
        rows = session.program_rows(question_of_rows(session, "visits", None, None))
        domain, _ = domain_of(session, rows, 4)
        return joint_request(rows, domain), domain


def crowded(people):
    """Everybody has many rows of many kinds."""
    return [
        clinic.visit(who, "AB"[number % 2], 9 * number % 100, number % 3 == 0)
        for who in people
        for number in range(20)
    ]


def joint_of(place, request, domain, rows):
    with clinic.opened(rows=[]) as session:
        known = session.schema
    asked = Asked(
        name="joint", request=request, rows={"visits": rows}, types=clinic.TYPES, known=known
    )
    engine = place.opened(place.taken(asked))
    try:
        engine.learn_schema(asked.schema)
        engine.check(request)
        return JointHistogram.of(engine.run(request, order=ORDER), domain.coded.sizes)
    finally:
        engine.close()


@pytest.fixture(params=["reference", "duckdb", "spark", "postgres"])
def place(request):
    if request.param == "spark":
        return SparkPlace(local_session())
    if request.param == "postgres":
        return PostgresPlace(request.getfixturevalue("postgres"))
    return {"reference": ReferencePlace, "duckdb": DuckDBPlace}[request.param]()


@pytest.mark.parametrize("facts", [{"groups": 1, "rows": 1}, {"groups": 2, "rows": 1}])
def test_a_wrong_limit_costs_accuracy_alone(monkeypatch, facts):
    """People have twenty rows each; planning believes in one or two, and engines enforce that."""
    believed(monkeypatch, **facts)
    request, domain = request_and_domain()
    claimed = facts["groups"] * facts["rows"]
    assert moved_by(request) == claimed
    for place in (ReferencePlace(), DuckDBPlace()):
        whole = joint_of(place, request, domain, crowded(range(4)))
        for gone in range(4):
            rest = crowded(who for who in range(4) if who != gone)
            less = joint_of(place, request, domain, rest)
            for marginal in itertools.chain([()], itertools.combinations(range(3), 2)):
                change = whole.marginal(marginal) - less.marginal(marginal)
                assert np.abs(change).sum() <= claimed


def test_all_engines_return_one_histogram(place):
    request, domain = request_and_domain()
    rows = [*crowded(range(5)), clinic.visit(9, "Z", 5, True), clinic.visit(9, None, 5, True)]
    found = joint_of(place, request, domain, rows)
    expected = joint_of(ReferencePlace(), request, domain, rows)
    for marginal in ((), (0,), (1,), (2,), (0, 1, 2)):
        assert (found.marginal(marginal) == expected.marginal(marginal)).all()
