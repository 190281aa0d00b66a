"""Sources have an identity: what was opened is what is read, or nothing is."""

import os
import threading

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from discreet.engines.duckdb import Connection, DuckDB
from discreet.engines.engine import HashOrder, Performance
from discreet.engines.sources import identity
from discreet.engines.sources.csv_structure import check_header
from discreet.engines.sources.frames import MemoryStamp, copy_table
from discreet.engines.sources.identity import FileStamp, found_files
from discreet.errors import EngineFailed, SourceChanged, UnreadableSource
from discreet.query.expressions import Column
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, Total
from tests.engines.answers import flat

ORDER = HashOrder(salt=3)
ONE = Performance(threads=1)
COLUMNS = (("patient", Type.INTEGER), ("age", Type.INTEGER))
QUESTION = EngineRequest(
    relation=Scan("people", COLUMNS),
    unit=(Column("patient"),),
    keys=(),
    groups=1,
    measures=(Total(name="n", row=Column("age"), low=0, high=200),),
)
ROWS = {"patient": [1, 2, 3], "age": [30, 40, 90]}
SWAPPED = {"age": [30, 40, 90], "patient": [1, 2, 3]}


def total(engine):
    return flat(engine.run(QUESTION, order=ORDER))["totals"]["n"]


def write_csv(path, rows):
    pd.DataFrame(rows).to_csv(path, index=False)


def write_parquet(path, rows):
    pq.write_table(pa.table(rows), path)


def write_database(path, rows):
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as made:
        made.register("rows", pa.table(rows))
        made.execute("CREATE TABLE people AS FROM rows")


WRITERS = {"csv": write_csv, "parquet": write_parquet, "duckdb": write_database}


@pytest.fixture(params=sorted(WRITERS))
def kind(request):
    return request.param


@pytest.fixture
def source(tmp_path, kind):
    path = tmp_path / f"people.{kind}"
    WRITERS[kind](path, ROWS)
    return path


def source_of(path):
    """CSV files are texts, which a scan reads as whole numbers."""
    return {"people": str(path)}


def rewritten(path, rows):
    """Write a file anew, under another inode."""
    other = path.with_name(f"other{path.suffix}")
    WRITERS[path.suffix[1:]](other, rows)
    other.replace(path)


def in_place(path, rows):
    """Write into the file that is there."""
    other = path.with_name(f"other{path.suffix}")
    WRITERS[path.suffix[1:]](other, rows)
    path.write_bytes(other.read_bytes())


def touched(path, rows):
    """Write the same bytes again, and set back every time that a program can set."""
    before = path.stat()
    path.write_bytes(path.read_bytes())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def removed(path, rows):
    path.unlink()


CHANGES = [rewritten, in_place, touched, removed]


def test_a_file_that_stays_is_read(source):
    with DuckDB(source_of(source), ONE) as engine:
        assert total(engine) == total(engine) == [160]
        assert engine.identities(["PEOPLE"]) == engine.identities(["people"])
        assert engine.identities(["nobody"]) == {}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changed_since_it_was_opened_is_refused(source, change):
    with DuckDB(source_of(source), ONE) as engine:
        change(source, SWAPPED)
        for look in (lambda: engine.identities(["people"]), lambda: total(engine)):
            with pytest.raises(SourceChanged) as caught:
                look()
            assert caught.value.what.startswith("the data of people is not what it was")


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("late", [False, True])
def test_a_file_that_changes_while_it_is_read_gives_no_answer(source, monkeypatch, change, late):
    fetched = Connection.fetch

    def watched(self, *arguments):
        found = fetched(self, *arguments) if late else None
        change(source, SWAPPED)
        return fetched(self, *arguments) if found is None else found

    with DuckDB(source_of(source), ONE) as engine:
        monkeypatch.setattr(Connection, "fetch", watched)
        with pytest.raises(SourceChanged):
            total(engine)


def test_a_file_that_is_written_all_the_time_gives_no_wrong_answer(tmp_path):
    """Whatever moment the writer chooses: the answer is that of the state that was opened."""
    path = tmp_path / "people.csv"
    write_csv(path, ROWS)
    ended = threading.Event()
    stay, swap = path.read_bytes(), b"age,patient\n30,1\n40,2\n90,3\n"

    def write():
        while not ended.is_set():
            for content in (swap, stay):
                path.write_bytes(content)

    with DuckDB(source_of(path), ONE) as engine:
        writer = threading.Thread(target=write)
        for _ in range(5):
            assert total(engine) == [160]
        writer.start()
        try:
            answers = set()
            for _ in range(40):
                try:
                    answers.add(tuple(total(engine)))
                except SourceChanged:
                    answers.add(None)
        finally:
            ended.set()
            writer.join()
    assert answers <= {None, (160,)}
    assert None in answers


def test_a_file_that_was_just_written_is_looked_at_again(tmp_path, monkeypatch):
    """Two changes within one tick of the clock would look alike."""
    path = tmp_path / "people.csv"
    write_csv(path, ROWS)
    stamp = FileStamp(lambda: (str(path),), kind="csv")
    content = path.read_bytes()
    path.write_bytes(content)  # at once, the same bytes, in the same inode
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    assert not stamp.is_unchanged()
    looks = []
    seen = identity.file_state

    def busy(at):
        looks.append(at)
        path.write_bytes(content)
        return seen(at)

    monkeypatch.setattr(identity, "file_state", busy)
    with pytest.raises(UnreadableSource, match="being written"):
        FileStamp(lambda: (str(path),), kind="csv")
    assert len(looks) > 10


def test_a_failure_that_has_another_reason_stays_one(source, monkeypatch):
    def fail(*_):
        raise ValueError

    with DuckDB(source_of(source), ONE) as engine:
        monkeypatch.setattr(Connection, "fetch", fail)
        with pytest.raises(EngineFailed):
            total(engine)


def test_the_log_of_a_database_belongs_to_it(tmp_path):
    path = tmp_path / "people.duckdb"
    write_database(path, ROWS)
    with DuckDB(source_of(path), ONE) as engine:
        assert total(engine) == [160]
        (tmp_path / "people.duckdb.wal").write_bytes(b"anything")
        with pytest.raises(SourceChanged):
            total(engine)


# --- patterns ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_pattern_reads_the_files_that_it_was_opened_with(tmp_path, kind):
    paths = [tmp_path / f"part-{number}.{kind}" for number in range(3)]
    for path in paths[:2]:
        WRITERS[kind](path, ROWS)
    with DuckDB({"people": str(tmp_path / f"part-*.{kind}")}, ONE) as engine:
        assert total(engine) == [320]
        WRITERS[kind](paths[2], ROWS)
        with pytest.raises(SourceChanged):
            total(engine)
        paths[2].unlink()
        assert total(engine) == [320]
        paths[1].rename(tmp_path / f"other.{kind}")
        with pytest.raises(SourceChanged):
            total(engine)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_of_several_names_is_read_once(tmp_path, kind):
    path = tmp_path / f"part-0.{kind}"
    WRITERS[kind](path, ROWS)
    (tmp_path / f"part-1.{kind}").symlink_to(path)
    (tmp_path / f"part-2.{kind}").hardlink_to(path)
    assert found_files(str(tmp_path / "part-*")) == (str(path.resolve()),)
    with DuckDB({"people": str(tmp_path / f"part-*.{kind}")}, ONE) as engine:
        assert total(engine) == [160]


def test_a_link_that_leads_elsewhere_is_a_change(tmp_path):
    for name, rows in (("old", ROWS), ("new", SWAPPED)):
        write_csv(tmp_path / f"{name}.csv", rows)
    link = tmp_path / "people.csv"
    link.symlink_to("old.csv")
    with DuckDB(source_of(link), ONE) as engine:
        assert total(engine) == [160]
        link.unlink()
        link.symlink_to("new.csv")
        with pytest.raises(SourceChanged):
            total(engine)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_are_found_by_their_names(tmp_path, kind):
    WRITERS[kind](tmp_path / f"part-0.{kind}", ROWS)
    WRITERS[kind](tmp_path / f"part-1.{kind}", SWAPPED)
    with DuckDB({"people": str(tmp_path / f"part-*.{kind}")}, ONE) as engine:
        assert list(engine.tables()["people"]) == ["patient", "age"]
        assert total(engine) == [160 + sum(SWAPPED["age"])]


# --- names ------------------------------------------------------------------------------------

DATA = ["", " ", "17", "-1.5", "1e5", "12,5", "$3.50", "7%", "2024-02-29", "29.02.2024", "2/29/24"]
DATA += ["2024-02-29T12:00:00Z", "2024-02-29 12:00", "12:30", "12:30:01.5 pm"]


@pytest.mark.parametrize("cell", DATA)
def test_a_first_line_that_looks_like_data_is_refused(tmp_path, cell):
    path = tmp_path / "people.csv"
    path.write_text(f"ward,{cell}\nA,1\n")
    with pytest.raises(UnreadableSource) as caught:
        DuckDB({"people": str(path)}, ONE)
    assert "looks like data" in caught.value.what
    assert "line of names" in caught.value.do
    assert not cell.strip() or cell not in str(caught.value)


@pytest.mark.parametrize("names", ["a,a", "a,A"])
def test_names_that_are_there_twice_are_refused(tmp_path, names):
    path = tmp_path / "people.csv"
    path.write_text(f"{names}\n1,2\n")
    with pytest.raises(UnreadableSource, match="one name"):
        DuckDB({"people": str(path)}, ONE)


def test_names_with_numbers_in_them_are_names():
    check_header(
        ["year_2024", "2nd", "q1", "e5", "nan", "infinity", "patient id", "cost (€)", "1a"]
    )


def test_a_nameless_first_column_as_pandas_writes_it_has_a_name(tmp_path):
    pd.DataFrame(ROWS).to_csv(tmp_path / "people.csv")
    with DuckDB({"people": str(tmp_path / "people.csv")}, ONE) as engine:
        assert list(engine.tables()["people"]) == ["unnamed", *ROWS]
        assert total(engine) == [sum(ROWS["age"])]


# --- frames -----------------------------------------------------------------------------------


def shared():
    """Return an array, and frames that may share its memory."""
    ages = np.array(ROWS["age"])
    patients = np.array(ROWS["patient"])
    table = pa.table({"patient": patients, "age": ages})
    frame = pd.DataFrame({"patient": patients, "age": ages}, copy=False)
    return ages, {
        "arrow": table,
        "batch": table.to_batches()[0],
        "pandas": frame,
        "polars": pl.DataFrame({"patient": patients, "age": ages}),
        "dataset": ds.InMemoryDataset(table),
    }


@pytest.mark.parametrize("kind", sorted(shared()[1]))
def test_a_frame_that_is_changed_by_its_owner_stays_what_it_was(kind):
    ages, frames = shared()
    with DuckDB({"people": frames[kind]}, ONE) as engine:
        before = total(engine)
        ages[:] = 0
        if kind == "pandas":
            frames[kind].loc[:, "age"] = 0
        assert total(engine) == before == [160]
        assert engine.identities(["people"])["people"].state is None


def test_a_relation_and_a_lazy_frame_stay_what_they_were():
    """What they are computed from changes between opening and asking."""
    database = duckdb.connect()
    database.execute("CREATE TABLE t AS SELECT 1 AS patient, 7 AS age")
    ages = pl.DataFrame({"patient": [1], "age": [7]})
    lazy = ages.lazy().map_batches(lambda _: ages)
    for frame in (database.table("t"), nw.from_native(database.table("t")), lazy):
        with DuckDB({"people": frame}, ONE) as engine:
            database.execute("INSERT INTO t VALUES (2, 100)")
            ages = pl.DataFrame({"patient": [2], "age": [100]})
            assert total(engine) == [7]
        database.execute("DELETE FROM t WHERE patient = 2")
        ages = pl.DataFrame({"patient": [1], "age": [7]})


def test_a_copy_has_all_types():
    texts = pa.array(["é", None, "", "abc"])
    table = pa.table(
        {
            "text": texts,
            "large": texts.cast(pa.large_string()),
            "view": texts.cast(pa.string_view()),
            "flag": [True, None, False, False],
            "whole": pa.array([1, None, -3, 4], pa.int8()),
            "half": pa.array([1.5, None, 0.0, 2.0], pa.float32()),
            "day": pa.array([1, None, 3, 4], pa.date32()),
            "moment": pa.array([1, None, 3, 4], pa.timestamp("us")),
            "exact": pa.array([1, None, 3, 4]).cast(pa.decimal128(20)),
        }
    )
    pieces = pa.concat_tables([table.slice(0, 1), table.slice(1, 2), table.slice(3)])
    assert copy_table(pieces).equals(table)
    assert MemoryStamp(copy_table(pieces)).content() == MemoryStamp(copy_table(table)).content()
    assert (
        MemoryStamp(copy_table(table.slice(0, 0))).content()
        != MemoryStamp(copy_table(table)).content()
    )
    for place, field in enumerate(table.schema):
        values = table.column(place).to_pylist()
        other = table.set_column(place, field.name, pa.array([*values[:-1], None], field.type))
        assert MemoryStamp(copy_table(other)).content() != MemoryStamp(copy_table(table)).content()
        other = table.set_column(place, field.name, pa.array(values[::-1], field.type))
        assert MemoryStamp(copy_table(other)).content() != MemoryStamp(copy_table(table)).content()


def test_what_lies_under_a_null_is_not_content():
    known = pa.py_buffer(b"\x01")
    values = [pa.array([7, under]).buffers()[1] for under in (8, 9)]
    one, other = (pa.Array.from_buffers(pa.int64(), 2, [known, value]) for value in values)
    assert (
        MemoryStamp(pa.table({"a": one})).content() == MemoryStamp(pa.table({"a": other})).content()
    )


@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_files_of_a_dataset_are_looked_at(tmp_path, elsewhere):
    path = tmp_path / "people.parquet"
    write_parquet(path, ROWS)
    system = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    dataset = ds.dataset("people.parquet", filesystem=system) if elsewhere else ds.dataset(path)
    with DuckDB({"people": dataset}, ONE) as engine:
        assert total(engine) == [160]
        content = engine.identities(["people"])["people"].content()
        write_parquet(path, SWAPPED)
        with pytest.raises(SourceChanged):
            total(engine)
    with DuckDB({"people": dataset}, ONE) as engine:
        assert engine.identities(["people"])["people"].content() != content
        path.unlink()
        with pytest.raises(SourceChanged):
            total(engine)


def test_a_dataset_of_datasets_is_refused(tmp_path):
    write_parquet(tmp_path / "people.parquet", ROWS)
    both = [ds.dataset(tmp_path / "people.parquet"), ds.dataset(pa.table(ROWS))]
    with pytest.raises(UnreadableSource, match="several datasets"):
        DuckDB({"people": ds.dataset(both)}, ONE)


# --- content ----------------------------------------------------------------------------------


def test_the_content_of_files_does_not_depend_on_their_names_and_times(tmp_path, kind):
    contents = []
    for name in ("old", "new"):
        path = tmp_path / f"{name}.{kind}"
        if name == "new":
            path.write_bytes((tmp_path / f"old.{kind}").read_bytes())
        else:
            WRITERS[kind](path, ROWS)
        with DuckDB(source_of(path), ONE) as engine:
            found = engine.identities(["people"])["people"]
            contents.append((found.content(), found.state))
    (one, first), (other, second) = contents
    assert one == other
    assert first != second
