"""Files that Spark reads have an identity, too: Spark itself goes by the places of columns."""

import pyarrow as pa
import pytest

import discreet.session as sessions
from discreet.engines.spark_frames import SparkStamp, file_status
from discreet.errors import BadPolicy, SourceChanged
from discreet.query.expressions import Column
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, Total
from tests.engines.answers import flat
from tests.engines.spark.sparks import ORDER, engine, facts
from tests.servers.spark import local_session

TYPES = {"patient": Type.INTEGER, "age": Type.INTEGER}
KNOWN = facts("people", TYPES, unit=("patient",))
QUESTION = EngineRequest(
    relation=Scan("people", tuple(TYPES.items())),
    unit=(Column("patient"),),
    keys=(),
    groups=1,
    measures=(Total(name="n", row=Column("age"), low=0, high=200),),
)
ROWS = "patient,age\n1,30\n2,40\n3,90\n"
SWAPPED = "age,patient\n30,1\n40,2\n90,3\n"
BY_AGE = "SELECT age, COUNT(*) AS n FROM people GROUP BY age"
POLICY = """
format = 1
unit = "patient"
[budget]
epsilon = 20
[limits]
max_groups = 1
max_rows = 1
[tables.houses]
public = true
key = ["house"]
[tables.houses.columns.house]
type = "integer"
"""


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "people of today.csv"
    found.write_text(ROWS)
    return found


@pytest.fixture
def people(path):
    session = local_session()
    return session.read.csv(str(path), header=True, schema="patient INT, age INT")


def total(found):
    return flat(found.run(QUESTION, order=ORDER))["totals"]["n"]


def test_a_file_that_spark_reads_may_not_change(people, path):
    with engine({"people": people}, KNOWN) as opened:
        assert total(opened) == [160]
        path.write_text(SWAPPED)
        with pytest.raises(SourceChanged):
            total(opened)
        with pytest.raises(SourceChanged):
            opened.identities(["people"])


def test_a_file_that_changes_while_spark_reads_it_gives_no_answer(people, path, monkeypatch):
    with engine({"people": people}, KNOWN) as opened:
        watched = type(opened).run_monitored

        def late(self, action):
            rows = watched(self, action)
            path.write_text(SWAPPED)
            return rows

        monkeypatch.setattr(type(opened), "run_monitored", late)
        with pytest.raises(SourceChanged):
            total(opened)


def test_files_that_are_added_are_not_read(tmp_path):
    session = local_session()
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "0.csv").write_text(ROWS)
    frame = session.read.csv(str(folder), header=True, schema="patient INT, age INT")
    with engine({"people": frame}, KNOWN) as opened:
        (folder / "1.csv").write_text(ROWS.replace("1,", "11,"))
        assert total(opened) == [160]
        session.catalog.refreshByPath(str(folder))
        assert total(opened) == [160]


def test_a_session_on_spark(people, path, tmp_path):
    houses = tmp_path / "houses.csv"
    houses.write_text("house,beds\n1,10\n")
    source = {"people": people, "houses": str(houses)}
    joined = "SELECT COUNT(*) AS n FROM people JOIN houses ON people.age = houses.house"
    with sessions.open(source, policy=POLICY, ledger=tmp_path / "l") as session:
        first = session.ask("SELECT COUNT(*) AS n FROM people", epsilon="0.5")
        assert [state for _, state in first.sources] == ["source 0"]
        houses.write_text("house,beds\n" + "30,10\n" * 20)
        with pytest.raises(SourceChanged, match="houses"):
            session.ask(joined, epsilon=1)
        path.write_text(SWAPPED)
        with pytest.raises(SourceChanged, match="people"):
            session.ask(BY_AGE, epsilon=1, delta="1e-9")
        assert session.remaining.epsilon == pytest.approx(19.5)


def test_a_data_frame_cannot_be_frozen(people):
    with pytest.raises(BadPolicy, match="frozen"):
        sessions.open(
            {"people": people},
            unit=None,
            test_mode=True,
            policy='format = 1\nunit = "patient"\nfrozen = true',
        )


def test_frames_without_files_have_no_state_of_their_own(people, path):
    made = local_session().createDataFrame(pa.table({"patient": [1], "age": [2]}))
    assert SparkStamp(made).state is None
    assert SparkStamp(made).is_unchanged()
    assert SparkStamp(people).state == SparkStamp(people).state
    assert SparkStamp(people.where("age > 3")).state != SparkStamp(people).state
    name, size, modified = file_status(people, path.as_uri())
    assert (name, size) == (path.as_uri(), len(ROWS))
    assert modified == path.stat().st_mtime_ns // 10**6
