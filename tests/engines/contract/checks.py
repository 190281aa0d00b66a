"""The checks that every engine passes.

A *place* is where questions are answered (:mod:`tests.engines.contract.places`): it opens an engine
with the tables of a case, and one that will fail once it reads rows.
"""

import traceback
from dataclasses import replace

import pytest

from discreet.errors import EngineFailed, UnknownName, WrongType
from discreet.query.expression_types import ColumnTypes, columns, typed
from discreet.query.expressions import Column
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.requests.engine_request import DistinctCount, DistinctSum, EngineRequest, Leaves
from tests.engines.answers import flat
from tests.engines.contract.cases import CROWD, NOTHING, ONES, OWN, POISONED, PORTABLE, SECRET, ask
from tests.reference.engine import Reference

SENTENCE = """EngineFailed[E701]: the engine could not compute the answer.
  Why: what it says about the reason may hold values of the data.
  Do:  ask the owner of the table to look; the charge stays."""


def expected(asked):
    """Return what the plain reference answers."""
    return flat(Reference(asked.rows, asked.types).run(asked.request, order=PORTABLE))


def comparable(request):
    """Return a request in which nothing is chosen, if floats would decide what.

    The portable order is that of texts, and every engine writes floats in a way of its own.
    """
    types = ColumnTypes(columns(request.relation))
    kinds = [typed(part, types) for part in request.unit]
    kinds += [key.type for key in request.keys]
    kinds += [
        typed(each.expression, types)
        for each in request.measures
        if isinstance(each, DistinctCount)
    ]
    if Type.FLOAT not in kinds:
        return request
    measures = tuple(map(_all_of_it, request.measures))
    groups = None if request.groups is None else 10**6
    return replace(request, groups=groups, measures=measures)


def _all_of_it(measure):
    if isinstance(measure, DistinctCount | DistinctSum):
        return replace(measure, most=10**4)
    return replace(measure, rows=10**6) if isinstance(measure, Leaves) else measure


def check_agreement(place, cases):
    """All cases have the answer of the reference, in the portable order."""
    taken = [place.taken(asked) for asked in cases]
    if place.engine not in {"DuckDB", "reference"}:
        taken = [replace(asked, request=comparable(asked.request)) for asked in taken]
    wrong = [asked.name for asked in taken if place.answer(asked, PORTABLE) != expected(asked)]
    assert not wrong, wrong  # this file is not rewritten by pytest
    assert taken


def check_own_order(place, cases):
    """In its own order a unit keeps as much as in any other, and a salt gives one answer."""
    for asked in map(place.taken, cases):
        found, portable = (place.answer(asked, order) for order in (OWN, PORTABLE))
        assert found == place.answer(asked, OWN)
        assert sum(found["units"]) == sum(portable["units"])


def impossible():
    """Return questions that no engine can answer, and the errors of their refusals."""
    nowhere = Scan("nowhere", (("u", Type.INTEGER),))
    wrong = Scan("events", (("u", Type.INTEGER), ("b", Type.DATE)))
    missing = Scan("events", (("u", Type.INTEGER), ("other", Type.TEXT)))
    fields = {"unit": (Column("u"),), "keys": (), "groups": 1}
    return [
        (error, EngineRequest(relation=relation, measures=measures(column), **fields))
        for error, relation, column in (
            (UnknownName, nowhere, "u"),
            (WrongType, wrong, "b"),
            (WrongType, missing, "other"),
        )
    ]


def measures(column):
    """Return a count of rows, and one that looks at a column."""
    return (ONES, DistinctCount(name="x", expression=Column(column), most=1))


def check_refusals(place):
    """What cannot be answered is refused at planning, in the same words whatever the rows are.

    The engine fails once it reads rows; so nothing was read.
    """
    told = []
    for rows in (NOTHING, CROWD, POISONED):
        with place.broken(place.taken(ask("refused", rows=rows))) as engine:
            engine.check(ask("possible").request)
            for error, lowered in impossible():
                with pytest.raises(error) as caught:
                    engine.check(lowered)
                told.append(str(caught.value))
    assert told == told[:3] * 3
    assert len(set(told)) == 3


def secret():
    """Return a case whose rows hold a secret everywhere, also in what tells groups apart."""
    rows = [
        {**row, "k": SECRET, "t": f"{SECRET} {index}"} for index, row in enumerate(CROWD["events"])
    ]
    return ask("secret", rows={**CROWD, "events": rows})


def check_quiet(place, caplog):
    """Nothing but the keys of the answer holds a value: no name, no description, no log."""
    asked = place.taken(secret())
    with place.opened(asked) as engine:
        engine.learn_schema(asked.schema)
        engine.check(asked.request)
        raw = engine.run(asked.request, order=OWN)
        told = [repr(engine), str(engine), repr(raw), str(raw), repr(engine.tables()), caplog.text]
    assert raw.keys[0].to_pylist() == [SECRET]
    assert [text for text in told if SECRET in text] == []


def check_failure(place, caplog):
    """A failure is one sentence, whatever failed, and the engine survives it."""
    with place.broken(place.taken(secret())) as engine:
        for _ in range(2):
            check_sentence(engine, ask("any").request)
    assert SECRET not in caplog.text


def check_sentence(engine, lowered):
    """The engine fails with the one sentence, and nothing behind it."""
    with pytest.raises(EngineFailed) as caught:
        engine.run(lowered, order=OWN)
    assert str(caught.value) == SENTENCE
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def check_closing(place):
    """Closing twice does nothing more, and a closed engine fails with the same sentence."""
    asked = ask("closed")
    engine = place.opened(asked)
    engine.learn_schema(asked.schema)
    engine.close()
    engine.close()
    check_sentence(engine, asked.request)
