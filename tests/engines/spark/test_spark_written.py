"""Groups that are finished in tasks: divided up, repeated and failing, they are the same files."""

import itertools
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
import discreet.session as sessions
from discreet.accounting import Budget
from discreet.engines.parquet_files import ReleasedFile, read_table, write_table
from discreet.engines.spark import bin_writer as writing
from discreet.engines.spark import workers as writers
from discreet.engines.spark.bin_writer import finish_bins, write_bins
from discreet.engines.spark.statements import BITS, limb_names
from discreet.engines.spark.workers import check_writers, package
from discreet.errors import EngineFailed, UnreadableSource
from discreet.noise import SYSTEM, KeyedEntropy
from discreet.query.expressions import Column
from discreet.query.types import Type
from discreet.release import noised
from discreet.release.answer import KeyedBins, answer
from discreet.requests.engine_request import KeyColumn
from discreet.requests.raw_totals import LARGEST_TOTAL, RawTotals
from tests.release.clinic import plan_of
from tests.servers.spark import local_session
from tests.session.apart import batches_of, groups_of, limbs_of, with_bins

COUNT = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
PRICE = {"epsilon": 1, "delta": "1e-9"}
CANARY = 918273645918
BINS = 8


def plan():
    return plan_of(COUNT, **PRICE)


def groups(count=300, units=None):
    """Return groups of all sizes, as an engine would leave them where they are."""
    names = [None, *(f"city {number}" for number in range(1, count))]
    exact = (np.arange(count) * 7 % 400) if units is None else np.full(count, units)
    (measure,) = plan().request.measures
    raw = RawTotals(keys=(pa.array(names),), units=exact, totals={measure.name: exact}, leaves={})
    return groups_of(raw, plan().request)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def task(batches, finish, folder):
    return finish_bins(
        batches, request=plan().request, finish=finish, folder=folder, drawn_by=package()
    )


def reports_of(batches, finish, folder):
    found = task(batches, finish, folder)
    return [row for report in found for row in report.to_pylist()]


# --- tasks --------------------------------------------------------------------------------------


@pytest.fixture
def binned():
    return with_bins(groups(), 1, BINS)


@pytest.mark.theorem("keyed-bins")
def test_files_do_not_depend_on_how_groups_are_divided_among_tasks(tmp_path, binned):
    finish = KeyedBins.fresh(plan(), bins=BINS)
    seen = []
    for tasks, size in [(1, 1000), (2, 7), (5, 1), (BINS, 50)]:
        folder = tmp_path / f"{tasks}"
        folder.mkdir()
        rows = [
            row
            for part in batches_of(binned, BINS, tasks, size)
            for row in reports_of(part, finish, folder)
        ]
        assert sorted(row["bin"] for row in rows) == list(range(BINS))
        assert {row["name"] for row in rows} == {path.name for path in folder.iterdir()}
        seen.append(contents(folder))
    assert all(found == seen[0] for found in seen)


@pytest.mark.theorem("keyed-bins")
def test_a_file_holds_the_answer_of_its_bin_sorted_by_keys(tmp_path, binned):
    finish = KeyedBins(plan=plan(), key=bytes(32), bins=BINS)
    (batches,) = batches_of(binned, BINS, 1)
    exact = dict(zip(binned["k0"].to_pylist(), binned["units"].to_pylist(), strict=True))
    place = dict(zip(binned["k0"].to_pylist(), binned["bin"].to_pylist(), strict=True))
    (measure,) = plan().request.measures
    for row in reports_of(batches, finish, tmp_path):
        names = sorted(
            (name for name in place if place[name] == row["bin"]), key=lambda name: name or ""
        )
        units = np.array([exact[name] for name in names])
        raw = RawTotals(
            keys=(pa.array(names),), units=units, totals={measure.name: units}, leaves={}
        )
        entropy = KeyedEntropy(key=bytes(32), label=f"bin {row['bin']} of {BINS}")
        noisy = noised(plan(), raw, entropy=entropy)
        file = ReleasedFile(name=row["name"], rows=row["rows"], digest=row["digest"])
        table = read_table(tmp_path, file)
        assert table.column("city").to_pylist() == noisy.keys[0].to_pylist()
        assert table.column("n").to_pylist() == noisy.totals[measure.name].runs[0].values.tolist()
        assert table.num_rows == row["rows"]


def test_a_task_that_is_repeated_makes_the_same_files_and_a_mutant_does_not(tmp_path, binned):
    def repeats(finish, name):
        folder = tmp_path / name
        folder.mkdir()
        (batches,) = batches_of(binned, BINS, 1)
        half = batches[: len(batches) // 2]
        list(itertools.islice(task(half, finish, folder), 2))
        first = reports_of(batches, finish, folder)
        return first == reports_of(batches, finish, folder) and len(contents(folder)) == BINS

    assert repeats(KeyedBins.fresh(plan(), bins=BINS), "keyed")
    assert not repeats(lambda raw, at: answer(plan(), raw, entropy=SYSTEM).to_arrow(), "mutant")


def test_tasks_that_do_the_same_at_the_same_time_make_the_same_files(tmp_path, binned):
    finish = KeyedBins.fresh(plan(), bins=BINS)
    (batches,) = batches_of(binned, BINS, 1)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: reports_of(batches, finish, tmp_path), range(8)))
    assert all(each == found[0] for each in found)
    assert {path.name for path in tmp_path.iterdir()} == {row["name"] for row in found[0]}


def test_bins_without_shown_groups_have_no_file(tmp_path):
    few = with_bins(groups(40, units=1), 1, BINS)
    (batches,) = batches_of(few, BINS, 1)
    rows = reports_of(batches, KeyedBins.fresh(plan(), bins=BINS), tmp_path)
    assert {row["rows"] for row in rows} == {0}
    assert list(tmp_path.iterdir()) == []


def test_bins_that_do_not_come_one_after_another_are_refused(tmp_path, binned):
    finish = KeyedBins.fresh(plan(), bins=BINS)
    mixed = binned.sort_by([("bin", "descending")]).combine_chunks().to_batches()
    with pytest.raises(RuntimeError, match="a task could not compute"):
        reports_of(mixed, finish, tmp_path)


def test_a_task_that_fails_says_one_sentence(tmp_path, binned):
    def failing(raw, at):
        message = f"{CANARY} {raw.units.tolist()}"
        raise ValueError(message)

    (batches,) = batches_of(binned, BINS, 1)
    for finish, folder in [(failing, tmp_path), (KeyedBins.fresh(plan()), tmp_path / "none")]:
        with pytest.raises(RuntimeError, match="a task could not compute its part") as caught:
            reports_of(batches, finish, folder)
        assert caught.value.__context__ is None
        assert str(CANARY) not in "".join(traceback.format_exception(caught.value))
    missing = binned.drop_columns(["units"]).append_column(
        "units", pa.array([None] * binned.num_rows, pa.int64())
    )
    (batches,) = batches_of(missing, BINS, 1)
    with pytest.raises(RuntimeError, match="a task could not compute its part"):
        reports_of(batches, KeyedBins.fresh(plan()), tmp_path)


# --- totals -------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4), min_size=1))
def test_limbs_make_totals_that_are_clamped(sums):
    """Sums of limbs, as parts add them up, are what the numbers add up to."""
    columns = [np.array([limbs_of(part)[number].sum() for part in sums]) for number in range(3)]
    table = pa.table(dict(zip(limb_names(0), columns, strict=True)))
    exact = [min(max(sum(part), -LARGEST_TOTAL), LARGEST_TOTAL) for part in sums]
    assert writing._total(table, 0).tolist() == exact


@pytest.mark.parametrize("low", [0, 1, 2**62])
@pytest.mark.parametrize("middle", [0, 2**20 - 1, 2**20, 2**42 - 1, 2**62])
@pytest.mark.parametrize("high", [-(2**62), -(2**20) - 1, -2, -1, 0, 1, 2**62])
def test_limbs_at_their_edges(low, middle, high):
    table = pa.table(dict(zip(limb_names(0), ([low], [middle], [high]), strict=True)))
    exact = low + middle * 2**BITS + high * 2 ** (2 * BITS)
    assert writing._total(table, 0).tolist() == [min(max(exact, -LARGEST_TOTAL), LARGEST_TOTAL)]


def test_keys_of_all_types_are_sorted_with_null_first():
    kinds = {
        Type.INTEGER: [3, None, -1],
        Type.TEXT: ["b", None, "a"],
        Type.BOOLEAN: [True, None, False],
        Type.DATE: [date(2020, 1, 2), None, date(1960, 1, 1)],
        Type.TIMESTAMP: [datetime(2020, 1, 2), None, datetime(1960, 1, 1)],  # noqa: DTZ001
    }
    for kind, values in kinds.items():
        keys = (KeyColumn("a", Column("a"), kind), KeyColumn("b", Column("b"), kind))
        pairs = list(itertools.product(values, values))
        table = pa.table(
            {
                "k0": pa.array([first for first, _ in pairs]),
                "k1": pa.array([second for _, second in pairs]),
                "units": np.arange(9),
            }
        )
        raw = writing._raw(table, SimpleNamespace(keys=keys, totals=()))
        found = list(zip(*(key.to_pylist() for key in raw.keys), strict=True))
        order = [None, values[2], values[0]]
        assert found == list(itertools.product(order, order))
        assert [pairs[unit] for unit in raw.units.tolist()] == found


# --- files --------------------------------------------------------------------------------------


def test_a_file_that_is_changed_or_gone_is_not_read(tmp_path):
    file = write_table(pa.table({"n": [1, 2]}), tmp_path, "answer")
    path = tmp_path / file.name
    assert read_table(tmp_path, file).column("n").to_pylist() == [1, 2]
    pq.write_table(pa.table({"n": [1, 3]}), path)
    with pytest.raises(UnreadableSource):
        read_table(tmp_path, file)
    path.unlink()
    with pytest.raises(UnreadableSource):
        read_table(tmp_path, file)


def test_different_tables_never_replace_each_other(tmp_path):
    one, two = (write_table(pa.table({"n": [number]}), tmp_path, "bin-00001") for number in (1, 2))
    assert one.name != two.name
    assert read_table(tmp_path, one).column("n").to_pylist() == [1]


# --- on the driver --------------------------------------------------------------------------------


def job_of(monkeypatch, collect):
    monkeypatch.setattr(writing, "_job", lambda *_, **__: SimpleNamespace(collect=collect))


def test_a_bin_in_two_parts_is_refused(monkeypatch, tmp_path):
    row = {"bin": 3, "rows": 0, "name": "", "digest": ""}
    job_of(monkeypatch, lambda: [row, row])
    with pytest.raises(EngineFailed):
        write_bins(None, plan().request, bins=BINS, finish=None, folder=tmp_path)
    job_of(monkeypatch, lambda: [row])
    assert write_bins(None, plan().request, bins=BINS, finish=None, folder=tmp_path) == ()


def test_a_job_that_fails_says_one_sentence(monkeypatch, tmp_path):
    def failing():
        raise ValueError(str(CANARY))

    job_of(monkeypatch, failing)
    with pytest.raises(EngineFailed) as caught:
        write_bins(None, plan().request, bins=BINS, finish=None, folder=tmp_path)
    assert caught.value.__context__ is None
    assert str(CANARY) not in "".join(traceback.format_exception(caught.value))


# --- on Spark -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spark():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about the version of pandas
        return local_session()


@pytest.mark.theorem("keyed-bins")
def test_spark_writes_the_same_files_on_any_partitioning(spark, tmp_path):
    finish = KeyedBins.fresh(plan(), bins=BINS)
    frame = spark.createDataFrame(groups())
    found = []
    for index, partitions in enumerate([1, 3]):
        folder = tmp_path / str(index)
        folder.mkdir()
        files = write_bins(
            frame.repartition(partitions), plan().request, bins=BINS, finish=finish, folder=folder
        )
        assert {file.name for file in files} == {path.name for path in folder.iterdir()}
        found.append((files, contents(folder)))
    assert found[0] == found[1]
    tables = [read_table(folder, file) for file in files]
    shown = pa.concat_tables(tables)
    assert 100 < shown.num_rows < 300
    for table in tables:
        names = table.column("city").to_pylist()
        assert names == sorted(names, key=lambda name: name or "")
    _check_bins(spark, frame, finish, tables)


def test_workers_without_this_package_are_refused(spark, monkeypatch):
    check_writers(spark, call)
    monkeypatch.setattr(discreet, "__version__", "7.0")
    with pytest.raises(UnreadableSource):
        check_writers(spark, call)


def test_workers_that_do_not_answer_are_asked_again(spark, monkeypatch):
    def failing(action):
        raise ConnectionError

    monkeypatch.setattr(writers, "_KNOWN", {})
    with pytest.raises(UnreadableSource):
        check_writers(spark, failing)
    check_writers(spark, call)


def test_a_task_with_another_version_draws_nothing(tmp_path, binned):
    (batches,) = batches_of(binned, BINS, 1)
    finish = KeyedBins.fresh(plan(), bins=BINS)
    sent = {"request": plan().request, "finish": finish, "folder": tmp_path}
    with pytest.raises(RuntimeError, match="a task could not compute"):
        list(finish_bins(batches, **sent, drawn_by="discreet 7.0"))
    assert contents(tmp_path) == {}


def call(action):
    return action()


def _check_bins(spark, frame, finish, tables):
    """The bins are those of a hash, and every bin is what the driver makes of its totals."""
    binned = frame.selectExpr("*", f"pmod(xxhash64(k0), {BINS}) AS bin").toArrow()
    for table in tables:
        name = table.column("city")[0].as_py()
        at = next(row["bin"] for row in binned.to_pylist() if row["k0"] == name)
        mine = binned.filter(pa.compute.equal(binned["bin"], at))
        assert finish(writing._raw(mine, plan().request), at).equals(table)
    places = {row["k0"]: row["bin"] for row in binned.to_pylist()}
    assert [{places[name] for name in table["city"].to_pylist()} for table in tables] == [
        {number} for number in range(BINS)
    ]


def test_a_session_on_spark_writes_an_answer_once(spark, tmp_path):
    rows = [(str(town), 1000 * town + who) for town in range(20) for who in range(90)]
    frame = spark.createDataFrame([*rows, ("tiny", 7)], "town string, patient long")
    policy = """
        format = 1
        unit = "patient"
        [limits]
        max_groups = 1
        max_rows = 1
    """
    budget = Budget(epsilon=2, delta="1e-6")
    question = "SELECT town, COUNT(*) AS n FROM visits GROUP BY town"
    price = {"epsilon": 1, "delta": "1e-7"}
    ledger = tmp_path / "towns.ledger"
    with sessions.open({"visits": frame}, policy=policy, ledger=ledger, budget=budget) as session:
        written = session.write(question, tmp_path / "out", **price)
        again = session.write(question, tmp_path / "out", **price)
        steps = [entry["kind"] for entry in session.ledger.entries() if entry["kind"] != "describe"]
    assert steps == ["open", "charge", "start", "release"]
    assert again.replayed
    assert again.manifest == written.manifest
    shown = written.to_arrow().to_pylist()
    assert {row["town"] for row in shown} <= {str(town) for town in range(20)}
    assert len(shown) > 10
    assert all(abs(row["n"] - 90) < 100 for row in shown)
