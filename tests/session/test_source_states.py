"""A session answers about the data that it opened, and says so when that has changed."""

import threading
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
import discreet.session as sessions
from discreet.engines.duckdb import Connection, DuckDB
from discreet.errors import BadPolicy, SourceChanged, WrongKind
from discreet.ledger import Ledger
from discreet.session.answer_pipeline import AnswerPipeline

POLICY = """
format = 1
unit = "patient"
[budget]
epsilon = "20"
[limits]
max_groups = 1
max_rows = 1
[tables.visits.columns.patient]
type = "integer"
[tables.visits.columns.ill]
type = "integer"
[tables.wards]
public = true
key = ["ward"]
"""
FROZEN = POLICY.replace("[tables.wards]", "[tables.visits]\nfrozen = true\n[tables.wards]")
COUNT = "SELECT COUNT(*) AS n FROM visits WHERE ill = 1"
JOINED = "SELECT COUNT(*) AS n FROM visits JOIN wards ON visits.ward = wards.ward"
HEALTHY = "patient,ill,ward\n" + "".join(f"{who},0,A\n" for who in range(1, 201))
SWAPPED = "ill,patient,ward\n" + "".join(f"1,{who},A\n" for who in range(1, 201))


@pytest.fixture
def visits(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text(HEALTHY)
    return path


def opened(path, policy=POLICY, **named):
    tables = named.pop("source", {"visits": str(path)})
    ledger = named.pop("ledger", path.parent / "clinic.ledger")
    return sessions.open(tables, policy=policy, ledger=ledger, **named)


def spent(session):
    left = session.remaining
    return Fraction(left.budget.limit[0] - left.amounts[0], 10**24)


def test_one_person_cannot_move_a_file_that_was_rewritten(visits):
    """Two columns are swapped: under the old names all rows were those of one person."""
    with opened(visits) as session:
        visits.write_text(SWAPPED)
        with pytest.raises(SourceChanged) as caught:
            session.ask(COUNT, epsilon=1)
        assert spent(session) == 0
        assert "visits" in caught.value.what
    with opened(visits) as session:
        session.ask(COUNT, epsilon=1)
        assert spent(session) == 1


def test_a_plan_that_was_made_before_the_change_is_refused(visits):
    with opened(visits) as session:
        plan = session.plan(COUNT, epsilon=1)
        visits.write_text(SWAPPED)
        with pytest.raises(SourceChanged):
            session.ask(plan)
        assert spent(session) == 0


def test_a_change_after_the_charge_gives_no_answer_and_the_next_session_completes_it(
    visits, monkeypatch
):
    charged = AnswerPipeline._begin

    def late(self, *arguments):
        found = charged(self, *arguments)
        visits.write_text(HEALTHY.replace("1,0,A", "1,1,A"))
        return found

    with opened(visits) as session:
        with monkeypatch.context() as patched:
            patched.setattr(AnswerPipeline, "_begin", late)
            with pytest.raises(SourceChanged):
                session.ask(COUNT, epsilon=1)
        assert spent(session) == 1
        assert "release" not in [entry["kind"] for entry in session.ledger.entries()]
    with opened(visits) as session:
        assert not session.ask(COUNT, epsilon=1).replayed
        assert spent(session) == 1
        assert session.ledger.verify().ok


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_change_while_the_data_is_read_gives_no_answer(visits, monkeypatch, place):
    fetched = Connection.fetch

    def watched(self, *arguments):
        if place == "before":
            visits.write_text(SWAPPED)
        found = fetched(self, *arguments)
        if place == "after":
            visits.write_text(SWAPPED)
        return found

    with opened(visits) as session:
        monkeypatch.setattr(Connection, "fetch", watched)
        with pytest.raises(SourceChanged) as caught:
            session.ask(COUNT, epsilon=1)
        assert caught.value.__cause__ is None
        assert spent(session) == 1


def test_a_writer_that_never_rests(visits):
    """Every answer is about the file as it was opened; all others are refused."""
    ended = threading.Event()

    def write():
        while not ended.is_set():
            visits.write_text(SWAPPED)
            visits.write_text(HEALTHY)

    answers = []
    with sessions.open({"visits": str(visits)}, policy=POLICY, test_mode=True) as session:
        answers.append(session.ask(COUNT, epsilon=10**6).rows()[0]["n"])
        writer = threading.Thread(target=write)
        writer.start()
        try:
            for turn in range(1, 20):
                try:
                    answers.append(session.ask(COUNT, epsilon=10**6 + turn).rows()[0]["n"])
                except SourceChanged:
                    answers.append(None)
        finally:
            ended.set()
            writer.join()
    assert set(answers) == {0, None}


def test_stored_answers_are_handed_out_whatever_the_data_is_now(visits):
    with opened(visits) as session:
        first = session.ask(COUNT, epsilon=1)
        visits.write_text(SWAPPED)
        again = session.ask(COUNT, epsilon=1)
        assert again.replayed
        assert again.rows() == first.rows()
        assert again.sources == first.sources == (("visits", "source 0"),)


# --- on record --------------------------------------------------------------------------------


def test_a_ledger_records_every_state_once(visits):
    for content in (HEALTHY, HEALTHY, SWAPPED):
        if visits.read_text() != content:
            visits.write_text(content)
        for _ in range(2):
            opened(visits).close()
    with opened(visits) as session:
        found = session.ledger.descriptions("source")
        assert [each["kind"] for each in found] == ["csv", "csv"]
        assert [sorted(each) for each in found] == [["columns", "kind", "state", "table"]] * 2
        assert found[0]["columns"] != found[1]["columns"]
        assert found[0]["state"] != found[1]["state"]
        assert session.ask(COUNT, epsilon=1).sources == (("visits", "source 1"),)
        assert session.ledger.verify().ok


def test_what_is_on_record_says_nothing_of_the_content(tmp_path):
    """A release names a state; it does not follow from the data."""
    rows = pa.table({"patient": [1], "ill": [0], "ward": ["A"]})
    names = set()
    for turn in range(2):
        with opened(tmp_path / f"{turn}", source={"visits": rows}, ledger=None, policy=POLICY):
            pass
        folder = tmp_path / f"folder {turn}"
        folder.mkdir()
        with opened(folder / "x", source={"visits": rows}) as session:
            names.add(session.ask(COUNT, epsilon=1).sources)
    assert len(names) == 2


# --- public tables ----------------------------------------------------------------------------


@pytest.fixture
def wards(tmp_path):
    path = tmp_path / "wards.csv"
    path.write_text("ward,beds\nA,3\nB,4\n")
    return path


def test_the_key_of_a_public_table_holds_in_the_run_that_uses_it(visits, wards):
    with opened(visits, source={"visits": str(visits), "wards": str(wards)}) as session:
        plan = session.plan(JOINED, epsilon=1)
        wards.write_text("ward,beds\n" + "A,3\n" * 50)
        with pytest.raises(SourceChanged) as caught:
            session.ask(plan)
        assert "wards" in caught.value.what
        session.ask(COUNT, epsilon=1)  # which does not read it
        assert spent(session) == 1
    with pytest.raises(BadPolicy, match="key"):
        opened(visits, source={"visits": str(visits), "wards": str(wards)})


def test_a_public_frame_is_what_was_checked(visits):
    names = np.array(["A", "B"], dtype="U1")
    beds = np.array([1, 2])
    policy = POLICY.replace('key = ["ward"]', 'key = ["beds"]')
    source = {"visits": str(visits), "wards": pa.table({"ward": names.tolist(), "beds": beds})}
    with sessions.open(source, policy=policy, test_mode=True) as session:
        beds[:] = 1
        question = "SELECT COUNT(*) AS n FROM visits JOIN wards ON visits.ill + 1 = wards.beds"
        assert session.ask(question, epsilon=10**9).rows()[0]["n"] == 200


def test_the_key_of_a_table_in_a_database_holds_too(visits, tmp_path):
    path = tmp_path / "wards.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE wards AS SELECT 'A' AS ward, 3 AS beds")
    with opened(visits, source={"visits": str(visits), "wards": str(path)}) as session:
        other = tmp_path / "other.duckdb"
        with duckdb.connect(str(other)) as made:
            made.execute("CREATE TABLE wards AS SELECT 'A' AS ward, 3 AS beds FROM range(50)")
        other.replace(path)
        with pytest.raises(SourceChanged):
            session.ask(JOINED, epsilon=1)
        assert spent(session) == 0


# --- remeasuring ------------------------------------------------------------------------------


def test_draws_of_two_states_are_not_combined(visits):
    with opened(visits) as session:
        first = session.ask(COUNT, epsilon="0.5")
        session.remeasure(first, epsilon="0.5")
    visits.write_text(HEALTHY.replace("1,0,A", "1,1,A"))
    with opened(visits) as session:
        with pytest.raises(WrongKind, match="may have changed"):
            session.remeasure(session.ask(COUNT, epsilon="0.5"), epsilon="0.25")
        assert spent(session) == 1
        other = session.ask(COUNT, epsilon="0.125")
        with pytest.raises(WrongKind, match="different states"):
            session.remeasure(other, epsilon="0.5")  # which is on record, of the other state
        assert spent(session) == Fraction(9, 8)
        both = session.remeasure(first, epsilon="0.5")  # on record, both of one state
        assert both.replayed
        assert spent(session) == Fraction(9, 8)


def test_draws_of_one_state_are_combined_by_several_sessions(visits):
    with opened(visits) as session:
        first = session.ask(COUNT, epsilon="0.5")
    with opened(visits) as session:
        both = session.remeasure(first, epsilon="0.25")
        assert both.sources == first.sources
        assert spent(session) == Fraction(3, 4)


def test_nothing_tells_that_a_frame_is_the_same_in_another_session(tmp_path):
    rows = pa.table({"patient": [1, 2], "ill": [0, 1], "ward": ["A", "B"]})
    with opened(tmp_path / "x", source={"visits": rows}) as session:
        first = session.ask(COUNT, epsilon="0.5")
        session.remeasure(first, epsilon="0.25")
    with opened(tmp_path / "x", source={"visits": rows}) as session:
        with pytest.raises(WrongKind, match="frozen = true"):
            session.remeasure(first, epsilon="0.125")
        assert spent(session) == Fraction(3, 4)
        assert session.ledger.descriptions("source") == ()


def test_an_answer_without_states_of_its_tables_is_not_combined(visits, monkeypatch):
    with opened(visits) as session:
        monkeypatch.setattr(AnswerPipeline, "sources", lambda *_: ())
        first = session.ask(COUNT, epsilon="0.5")
        monkeypatch.undo()
        assert first.sources == ()
        with pytest.raises(WrongKind, match="may have changed"):
            session.remeasure(first, epsilon="0.25")


# --- frozen -----------------------------------------------------------------------------------


def frozen_records(path):
    with Ledger.open(path.parent / "clinic.ledger") as ledger:
        assert ledger.verify().ok
        return [each["digest"] is not None for each in ledger.descriptions("frozen")]


def test_a_frozen_table_may_not_change(visits):
    with opened(visits, FROZEN) as session:
        first = session.ask(COUNT, epsilon="0.5")
        assert first.sources == (("visits", "frozen 0"),)
    visits.write_text(SWAPPED)
    with pytest.raises(SourceChanged, match="is frozen"):
        opened(visits, FROZEN)
    visits.write_text(HEALTHY)  # the same bytes, in another state of the file
    with opened(visits, FROZEN) as session:
        session.remeasure(first, epsilon="0.25")
        visits.write_text(HEALTHY)
        with pytest.raises(SourceChanged):
            session.ask(COUNT, epsilon="0.125")
    assert frozen_records(visits) == [True]


def test_the_owner_unfreezes_in_the_policy(visits):
    opened(visits, FROZEN).close()
    for content in (SWAPPED, HEALTHY, SWAPPED):
        visits.write_text(content)
        with pytest.raises(SourceChanged):
            opened(visits, FROZEN)
        opened(visits).close()
        opened(visits, FROZEN).close()
        opened(visits, FROZEN).close()
    assert frozen_records(visits) == [True, False, True, False, True, False, True]


def test_everything_can_be_frozen_at_once(visits, wards):
    policy = POLICY.replace("[budget]", "frozen = true\n[budget]")
    source = {"visits": str(visits), "wards": str(wards)}
    opened(visits, policy, source=source).close()
    wards.write_text("ward,beds\nA,3\nB,5\n")
    with pytest.raises(SourceChanged, match="wards is frozen"):
        opened(visits, policy, source=source)
    some = policy.replace("[tables.wards]", "[tables.wards]\nfrozen = false")
    opened(visits, some, source=source).close()
    visits.write_text(SWAPPED)
    with pytest.raises(SourceChanged, match="visits is frozen"):
        opened(visits, some, source=source)


@pytest.mark.parametrize("kind", ["frame", "parquet", "duckdb"])
def test_other_sources_can_be_frozen(tmp_path, kind):
    def source(rows):
        table = pa.table({"patient": [1, 2], "ill": rows, "ward": ["A", "B"]})
        path = tmp_path / f"visits.{kind}"
        path.unlink(missing_ok=True)
        if kind == "frame":
            return {"visits": table}
        if kind == "parquet":
            pq.write_table(table, path)
        else:
            with duckdb.connect(str(path)) as made:
                made.register("rows", table)
                made.execute("CREATE TABLE visits AS FROM rows")
        return {"visits": str(path)}

    with opened(tmp_path / "x", FROZEN, source=source([0, 1])) as session:
        first = session.ask(COUNT, epsilon="0.5")
        session.remeasure(first, epsilon="0.25")
    if kind != "duckdb":  # whose files hold more than the rows
        with opened(tmp_path / "x", FROZEN, source=source([0, 1])) as session:
            session.remeasure(first, epsilon="0.125")
    with pytest.raises(SourceChanged, match="is frozen"):
        opened(tmp_path / "x", FROZEN, source=source([1, 0]))


# --- in stages --------------------------------------------------------------------------------


def test_a_change_between_two_stages_gives_no_answer_and_can_be_asked_again(visits, monkeypatch):
    policy = POLICY + '[tables.visits.columns.age]\ntype = "integer"\n'
    content = "patient,ill,ward,age\n" + "".join(f"{who},0,A,{who % 90}\n" for who in range(400))
    visits.write_text(content)
    question = "SELECT AVG(age) AS age FROM visits"
    price = {"epsilon": 1, "bounds": dp.estimate(epsilon=1)}
    run, calls = DuckDB.run, []

    def between(self, lowered, *, order):
        calls.append(lowered)
        if len(calls) == 2:
            visits.write_text(content)
        return run(self, lowered, order=order)

    with opened(visits, policy) as session:
        with monkeypatch.context() as patched:
            patched.setattr(DuckDB, "run", between)
            with pytest.raises(SourceChanged):
                session.ask(question, **price)
        assert len(calls) == 2
        assert session.ledger.closed == ()
    with opened(visits, policy) as session:
        found = session.ask(question, **price)
        assert found.sources == session.ask(question, **price).sources == (("visits", "source 1"),)
        assert spent(session) == 2
