"""Every file is read as itself, whatever signs are in its name."""

import gzip

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as pf
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Performance
from discreet.engines.sources.files import pattern
from discreet.engines.sources.identity import found_files
from discreet.errors import SourceChanged, UnreadableSource
from discreet.query.relations import Scan
from discreet.query.types import Type

ONE = Performance(threads=1)
NAMES = (
    *("ab", "a[b]", "a?", "a*", "a**", "a{b}", "a[[]", "a]", "a[!b]", "a[^b]", "a[a-z]", "[", "]"),
    *("a]b[", "[]", "[*]", ".a[b]", "a'b", "a b", "a#b", "a%5Bb", "a$b", "~", "\u00e9[\u00fc]"),
)


def write_csv(path, value):
    path.write_text(f"id\n{value}\n")


def write_packed(path, value):
    path.write_bytes(gzip.compress(b"id\n%d\n" % value))


def write_parquet(path, value):
    pq.write_table(pa.table({"id": [value]}), path)


def write_database(path, value):
    with duckdb.connect() as made:
        made.execute(f"ATTACH '{str(path).replace(chr(39), chr(39) * 2)}' AS made")
        made.execute(f"CREATE TABLE made.t AS SELECT {value} AS id")


WRITERS = {
    "csv": write_csv,
    "csv.gz": write_packed,
    "parquet": write_parquet,
    "duckdb": write_database,
}
FILES = ["csv", "csv.gz", "parquet"]


def values(engine):
    scan = Scan("t", (("id", Type.INTEGER),))
    return sorted(engine.fetch(engine.dialect.printed(engine.scan(scan)), {})["id"].to_pylist())


def read(source):
    with DuckDB({"t": source}, ONE) as engine:
        return values(engine)


@pytest.fixture(params=["data[1]", "data*"])
def folder(tmp_path, request):
    """Return a folder beside others whose names its own would match as a pattern."""
    for name in ("data", "data1", "data[1]", "data?", "data*"):
        (tmp_path / name).mkdir()
    return tmp_path / request.param


def written(folder, kind):
    """Write a file for each name, with one value, into all folders beside one."""
    files = {}
    for other in sorted(folder.parent.iterdir()):
        for value, name in enumerate(NAMES):
            path = other / f"{name}.{kind}"
            here = other == folder
            WRITERS[kind](path, value if here else 1000 + value)
            if here:
                files[path] = value
    return files


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_each_file_is_read_as_itself_and_all_of_them_once(folder, kind):
    files = written(folder, kind)
    for path, value in files.items():
        assert read(path) == [value], path.name
    seen = [value for path, value in files.items() if not path.name.startswith(".")]
    assert read(str(folder / f"*.{kind}")) == sorted(seen)


@pytest.mark.parametrize("kind", FILES)
def test_paths_are_relative_to_any_folder(folder, kind, monkeypatch):
    files = written(folder, kind)
    monkeypatch.chdir(folder)
    assert read(f"ab.{kind}") == [files[folder / f"ab.{kind}"]]
    assert read(f"*a[[]b].{kind}") == [files[folder / f"a[b].{kind}"]]


def test_databases_are_read_as_themselves(folder):
    for other in (folder, folder.parent / "data", folder.parent / "data1"):
        for value, name in enumerate(("ab", "a[b]", "a*", "a{b}", "a'b")):
            here = other == folder
            write_database(other / f"{name}.duckdb", value if here else 1000 + value)
            if here:
                assert read(other / f"{name}.duckdb") == [value]


@pytest.mark.parametrize("kind", WRITERS)
def test_a_backslash_is_refused(tmp_path, kind):
    (tmp_path / "a").mkdir()
    WRITERS[kind](tmp_path / "a" / f"b.{kind}", 1)
    (tmp_path / "a" / f"b.{kind}").rename(tmp_path / f"a\\b.{kind}")
    WRITERS[kind](tmp_path / "a" / f"b.{kind}", 2)
    with pytest.raises(UnreadableSource, match="backslash"):
        read(tmp_path / f"a\\b.{kind}")


def test_a_question_mark_in_the_path_of_a_database_is_refused(tmp_path):
    """DuckDB calls the log of a?b.duckdb a.wal?b.duckdb."""
    (tmp_path / "a?b.duckdb").touch()
    with pytest.raises(UnreadableSource, match="question mark"):
        read(tmp_path / "a?b.duckdb")


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_takes_the_name_of_a_pattern_is_a_change(tmp_path, kind):
    WRITERS[kind](tmp_path / f"a1.{kind}", 1)
    with DuckDB({"t": str(tmp_path / f"a[1].{kind}")}, ONE) as engine:
        assert values(engine) == [1]
        WRITERS[kind](tmp_path / f"a[1].{kind}", 2)
        with pytest.raises(SourceChanged):
            engine.identities(["t"])


def test_folders_that_are_there_are_no_patterns(tmp_path):
    for name in ("a1", "a2", "b[1]", "b1"):
        (tmp_path / name).mkdir()
        write_csv(tmp_path / name / "x.csv", 1)
    both = tuple(str(tmp_path.resolve() / name / "x.csv") for name in ("a1", "a2"))
    assert found_files(str(tmp_path / "a[12]" / "*.csv")) == both
    for end in ("x.csv", "*.csv", "**/x.csv"):
        files = found_files(str(tmp_path / "b[1]" / end))
        assert files == (str(tmp_path.resolve() / "b[1]" / "x.csv"),)


def test_a_folder_that_cannot_be_listed_is_refused_at_opening(tmp_path, monkeypatch):
    """DuckDB finds a name with signs of a pattern by listing its folder."""
    write_csv(tmp_path / "a[1].csv", 1)
    monkeypatch.setattr("discreet.engines.sources.files._found", lambda *_: [])
    with pytest.raises(UnreadableSource, match="cannot be found"):
        read(tmp_path / "a[1].csv")


def test_a_pattern_matches_one_path():
    with duckdb.connect() as connection:
        for name in NAMES:
            matches = [
                other
                for other in NAMES
                if connection.execute("SELECT ? GLOB ?", [other, pattern(name)]).fetchall()
                == [(True,)]
            ]
            assert matches == [name]


@pytest.mark.parametrize("name", ["UP.CSV", "Up.Tsv", "UP.CSV.GZ", "UP.PARQUET"])
def test_the_case_of_an_ending_does_not_count(tmp_path, name):
    kind = name.lower().partition(".")[2].replace("tsv", "csv")
    WRITERS[kind](tmp_path / name, 7)
    assert read(tmp_path / name) == [7]


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("stored", ["0a1b2c", "0a1b2c.tsv", "0a1b2c.gz", "0a1b2c.zst"])
def test_a_link_says_what_it_leads_to(tmp_path, kind, stored):
    WRITERS[kind](tmp_path / stored, 7)
    (tmp_path / f"t.{kind}").symlink_to(stored)
    assert read(tmp_path / f"t.{kind}") == [7]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("twice", ["name", "symbolic link", "hard link"])
def test_a_dataset_with_a_file_twice_is_refused(tmp_path, kind, twice):
    one, other = tmp_path / f"one.{kind}", tmp_path / f"other.{kind}"
    WRITERS[kind](one, 7)
    match twice:
        case "name":
            other = one
        case "symbolic link":
            other.symlink_to(one)
        case "hard link":
            other.hardlink_to(one)
    with pytest.raises(UnreadableSource, match="twice"):
        read(ds.dataset([str(one), str(other)], format=kind))


def test_a_dataset_elsewhere_with_a_file_twice_is_refused(tmp_path):
    write_parquet(tmp_path / "one.parquet", 7)
    elsewhere = pf.SubTreeFileSystem(str(tmp_path), pf.LocalFileSystem())
    assert read(ds.dataset(["one.parquet"], filesystem=elsewhere, format="parquet")) == [7]
    with pytest.raises(UnreadableSource, match="twice"):
        read(ds.dataset(["one.parquet", "one.parquet"], filesystem=elsewhere, format="parquet"))
