"""Documents: one model for all programs, which those of other releases read too."""

import json
from datetime import date
from decimal import Decimal

import pytest

import discreet as dp
from discreet.documents import (
    BudgetDocument,
    PlanDocument,
    ProblemDocument,
    QuestionDocument,
    ReleaseDocument,
)
from discreet.errors import NotAllowed, OverBudget, WrongKind
from tests.service import served
from tests.session import clinic

PLAN = {
    "format": 1,
    "kind": "plan",
    "digest": "d" * 64,
    "unit": "one person (patient) under add_remove",
    "scope": "everything",
    "price": {"epsilon": "1/2", "delta": None, "rho": None},
    "confidence": "19/20",
    "errors": [{"output": "n", "half_width": 18.0, "words": "± 18"}],
    "text": "SELECT ...",
}
RELEASE = {
    "format": 1,
    "kind": "release",
    "columns": [{"name": "day", "type": "date"}, {"name": "n", "type": "integer"}],
    "rows": [{"day": "2026-01-02", "n": 5, "n_low": 1, "n_high": 9}],
    "price": {"epsilon": "1/2"},
    "confidence": "19/20",
    "replayed": False,
    "private": True,
    "entry": 4,
    "receipt": "r",
    "plan": "d" * 64,
    "left": {"format": 1, "kind": "budget", "part": 0.5, "text": "epsilon 1 of 2"},
}


@pytest.mark.parametrize(("kind", "document"), [(PlanDocument, PLAN), (ReleaseDocument, RELEASE)])
def test_what_this_release_writes_is_read_by_all_later_ones(kind, document):
    """These fields stay, with these names and meanings; others may come."""
    read = kind.read(document)
    assert kind.read(json.loads(json.dumps(read.written()))) == read
    assert kind.read({**document, "invented": {"later": 1}}) == read
    assert set(document) <= set(read.written())
    with pytest.raises(WrongKind, match="format 2"):
        kind.read({**document, "format": 2})
    with pytest.raises(WrongKind, match="price"):
        kind.read({**document, "price": 3})


def test_a_release_is_a_table():
    table = ReleaseDocument.read(RELEASE).to_arrow()
    assert table.to_pylist() == [{"day": date(2026, 1, 2), "n": 5, "n_low": 1, "n_high": 9}]
    empty = ReleaseDocument.read({**RELEASE, "rows": []})
    assert empty.to_arrow().num_rows == 0
    assert empty.to_polars().columns == ["day", "n"]


def test_a_question_is_read_strictly():
    """A server that left out what it does not know would answer another question."""
    asked = {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.1"}
    assert QuestionDocument.read(asked).written() == asked
    for odd in ({"invented": 1}, {"format": 2}, {"epsilon": True}, {"size": "3"}, {"confirm": 1}):
        with pytest.raises(WrongKind):
            QuestionDocument.read({**asked, **odd})


def test_values_of_a_question_travel_with_their_types():
    values = {"a": None, "b": True, "c": 7, "d": "A", "e": ["d", "2024-02-01"], "f": ["m", "0.1"]}
    asked = QuestionDocument.read({"question": "SELECT", "params": values})
    assert asked.written()["params"] == values
    known = {"a": None, "b": True, "c": 7, "d": "A", "e": date(2024, 2, 1), "f": Decimal("0.1")}
    assert asked.options()["params"] == known
    assert QuestionDocument.read({"question": "SELECT", "params": known}) == asked
    for odd in (7, "A", [["()", "1"]], [["d", "tomorrow"]], [["m", 3]], [{}], [object()], [[]]):
        with pytest.raises(WrongKind):
            QuestionDocument.read({"question": "SELECT", "params": odd})


def test_a_problem_is_an_error_again():
    shortage = {
        "scope": "yours",
        "account": "data/ana",
        "needed": {"epsilon": "1"},
        "left": {"epsilon": "0.5"},
        "ways_out": [{"change": "less", "cost": {"epsilon": "0.5"}}],
    }
    error = OverBudget(what="a.", why="b.", do="c.", shortage=shortage)
    again = ProblemDocument.read(ProblemDocument.of(error, status=402).written()).error()
    assert (type(again), again.what, again.shortage) == (OverBudget, "a.", shortage)


ADDED = {"invented": {"later": [1, 2]}}
"""What a later release adds to each document that it writes."""


def test_an_old_client_meets_a_new_server(tmp_path, monkeypatch):
    """The server writes fields that this client has never heard of, through real HTTP."""
    with (
        served.serving(tmp_path) as server,
        dp.connect(server.url, token=server.token("ana")) as connection,
    ):
        transport = connection._transport
        exchange = transport._exchange

        def newer(method, path, data, headers):
            status, text = exchange(method, path, data, headers)
            document = json.loads(text)
            document |= ADDED
            for part in ("price", "left", "remaining"):
                if isinstance(document.get(part), dict):
                    document[part] |= ADDED
            return status, json.dumps(document).encode()

        monkeypatch.setattr(type(transport), "_exchange", lambda _, *given: newer(*given))
        assert connection.plan(clinic.COUNT, epsilon="0.5").price.epsilon == "1/2"
        answer = connection.ask(clinic.COUNT, epsilon="0.5")
        assert answer.rows[0]["n"] == answer.to_arrow().to_pylist()[0]["n"]
        assert isinstance(connection.remaining, BudgetDocument)
        with pytest.raises(NotAllowed):
            connection.ask(clinic.COUNT, epsilon="1.5")


def test_a_server_of_another_format_is_refused_in_words(tmp_path, monkeypatch):
    with (
        served.serving(tmp_path) as server,
        dp.connect(server.url, token=server.token("ana")) as connection,
    ):
        monkeypatch.setattr(
            type(connection._transport), "call", lambda *_, **__: {**PLAN, "format": 2}
        )
        with pytest.raises(WrongKind, match="format 2"):
            connection.plan(clinic.COUNT, epsilon="0.5")


def test_a_new_server_answers_what_an_old_client_sends(tmp_path):
    """The calls of a client of this release, as it writes them."""
    with served.serving(tmp_path) as server:
        ana = server.client("ana")
        place = "/v1/datasets/clinic/queries"
        for body in (
            {"question": clinic.COUNT, "epsilon": "0.5"},
            {"question": clinic.COUNT, "epsilon": 0.5, "confirm": False, "size": None},
            {"format": 1, "question": clinic.COUNT, "error": {"n": "20"}},
        ):
            found = ana.post(place, json=body).json()
            assert {"format", "kind", *RELEASE} <= set(found)
            planned = ana.post(f"{place}?dry_run=true", json=body).json()
            assert set(PLAN) <= set(planned)
