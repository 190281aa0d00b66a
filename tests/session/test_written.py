"""Answers in files: one charge and one answer, however often it is asked for and breaks off."""

import os
import signal
import stat
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.accounting import Budget
from discreet.engines.duckdb import DuckDB
from discreet.engines.parquet_files import copy_file, digest_of
from discreet.errors import (
    EngineFailed,
    LedgerUnavailable,
    OverBudget,
    UnreadableSource,
    UnsupportedSQL,
    WrongKind,
)
from discreet.ledger import Ledger
from discreet.noise import SYSTEM
from discreet.plan import estimate
from discreet.release.answer import KeyedBins, answer
from discreet.session import WrittenRelease
from discreet.session.files import answer_folder as placing
from discreet.session.files import draw_files as drawn_files
from discreet.session.files import manifest as manifests
from discreet.session.files import write_answer as writing
from discreet.session.files.answer_folder import AnswerFolder
from tests.session.apart import kept_apart, without_spark
from tests.session.clinic import BY_WARD, COUNT, POLICY, in_test_mode, opened

ROOT = Path(__file__).parents[2]
OPEN = POLICY.replace('categories = ["A", "B", "C"]', "").replace(
    'epsilon = "2"', 'epsilon = "2"\ndelta = "1e-6"'
)
CITIES = 60
BY_CITY = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
PRICE = {"epsilon": 1, "delta": "1e-7"}


def towns(people=80):
    """Return visits to towns: one by so many people, the last one by a single person."""
    rows = [
        {"patient": 1000 * town + who, "visit": 0, "region": "north", "ward": f"town {town}"}
        for town in range(CITIES)
        for who in range(people if town < CITIES - 1 else 1)
    ]
    table = pa.Table.from_pylist(rows)
    return table.append_column("cost", pa.array(np.full(table.num_rows, 12.5)))


def open_towns(folder, monkeypatch=None, *, one_file=0, **options):
    """Open the towns; with a monkeypatch, groups stay apart, and so do more rows than one file."""
    budget = Budget(epsilon=2, delta="1e-6")
    session = opened(folder, policy=OPEN, source={"visits": towns()}, budget=budget)
    if monkeypatch is not None:
        monkeypatch.setattr(drawn_files, "_ONE_FILE", one_file)
        without_spark(monkeypatch)
        kept_apart(session, **options)
    return session


def kinds(session):
    kinds = [entry["kind"] for entry in session.ledger.entries()]
    return [kind for kind in kinds if kind != "describe"]


def beside(folder):
    """Return what stands hidden in a folder."""
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def spent(session):
    left = session.remaining
    return Fraction(left.budget.limit[0] - left.amounts[0], 10**24)


def listed(release):
    return sorted(release.to_arrow().to_pylist(), key=lambda row: row["ward"])


# --- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("apart", [False, True], ids=["here", "in tasks"])
def test_a_question_is_answered_into_files(tmp_path, monkeypatch, apart):
    with open_towns(tmp_path, monkeypatch if apart else None) as session:
        found = session.write(BY_CITY, tmp_path / "out", **PRICE)
        assert isinstance(found, WrittenRelease)
        assert kinds(session) == ["open", "charge", "start", "release"]
        assert spent(session) == 1
        assert found.columns == ("ward", "n", "n_low", "n_high")
        assert found.price.epsilon == 1
        assert found.loss == found.plan.loss
        assert str(found.odds)
        assert not found.replayed
        assert found.private
        assert len(found.files) == (8 if apart else 1)
        assert set(found.files) == set((tmp_path / "out").iterdir())
        rows = listed(found)
        names = [row["ward"] for row in rows]
        assert set(names) <= {f"town {town}" for town in range(CITIES - 1)}  # never the last
        assert len(names) > CITIES // 2
        assert all(abs(row["n"] - 80) < 200 for row in rows)
        assert len(found) == len(rows)
        assert repr(found).startswith(f"WrittenRelease({len(rows)} rows of ward, n, n_low")
        assert pq.read_table(tmp_path / "out").num_rows == len(rows)  # any program reads it
        assert beside(tmp_path) == []
        assert session.ledger.verify(receipts=[found.receipt]).ok


def test_whatever_is_drawn_here_makes_one_file(tmp_path):
    ordered = BY_WARD + " ORDER BY n DESC LIMIT 2"
    with opened(tmp_path) as session:
        first = session.write(COUNT, tmp_path / "one", epsilon="0.5")
        assert len(first) == 1
        second = session.write(ordered, tmp_path / "two", epsilon="0.5")
        rows = second.to_arrow().to_pylist()
        assert len(rows) == 2
        assert rows[0]["n"] >= rows[1]["n"]
        session.write("SELECT MEDIAN(cost) AS m FROM visits", tmp_path / "three", epsilon="0.5")


def test_test_mode_writes_what_is_not_private(tmp_path):
    with in_test_mode() as session:
        found = session.write(BY_WARD, tmp_path / "out", epsilon="1e20")
        assert [row["n"] for row in listed(found)] == [40, 40, 0]
        assert not found.private


@pytest.mark.parametrize("apart", [False, True], ids=["here", "in tasks"])
def test_an_answer_without_groups_has_columns(tmp_path, monkeypatch, apart):
    nobody = "SELECT ward, COUNT(*) AS n FROM visits WHERE cost > 50 GROUP BY ward"
    with open_towns(tmp_path, monkeypatch if apart else None) as session:
        found = session.write(nobody, tmp_path / "out", **PRICE)
        assert len(found) == 0
        assert found.to_arrow().column_names == list(found.columns)
        assert found.to_arrow().schema.field("n").type == pa.int64()


def test_parts_that_are_drawn_one_after_another_leave_no_trace(tmp_path, monkeypatch):
    monkeypatch.setattr(drawn_files, "_SLICE", 7)
    with open_towns(tmp_path) as session:
        found = session.write(BY_CITY, tmp_path / "out", **PRICE)
        names = found.to_arrow().column("ward").to_pylist()
        assert names == sorted(names)
        assert len(names) > CITIES // 2
        assert pq.ParquetFile(found.files[0]).num_row_groups == 1


@pytest.mark.theorem("keyed-bins")
def test_the_same_key_gives_the_same_files_on_any_number_of_tasks(tmp_path, monkeypatch):
    key = bytes(range(32))
    fixed = classmethod(lambda cls, plan, **_: cls(plan=plan, key=key, bins=8))
    monkeypatch.setattr(KeyedBins, "fresh", fixed)
    seen = []
    for tasks in (1, 5):
        folder = tmp_path / str(tasks)
        folder.mkdir()
        with open_towns(folder, monkeypatch, tasks=tasks) as session:
            found = session.write(BY_CITY, folder / "out", **PRICE)
            seen.append([(path.name, path.read_bytes()) for path in found.files])
    assert seen[0] == seen[1]


def test_few_groups_of_tasks_make_one_file(tmp_path, monkeypatch):
    with open_towns(tmp_path, monkeypatch, one_file=CITIES) as session:
        found = session.write(BY_CITY, tmp_path / "out", **PRICE)
        (path,) = found.files
        assert list((tmp_path / "out").iterdir()) == [path]
        names = found.to_arrow().column("ward").to_pylist()
        assert len(set(names)) == len(names) == len(found) > CITIES // 2


# --- again ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("apart", [False, True], ids=["here", "in tasks"])
def test_asking_again_gives_the_same_files_and_costs_nothing(tmp_path, monkeypatch, apart):
    with open_towns(tmp_path, monkeypatch if apart else None) as session:
        first = session.write(BY_CITY, tmp_path / "out", **PRICE)
        monkeypatch.setattr(writing, "draw_files", lambda *_: pytest.fail("data was read"))
        again = session.write(BY_CITY, tmp_path / "out", **PRICE)
        assert again.replayed
        assert again.manifest == first.manifest
        copy = session.write(session.plan(BY_CITY, **PRICE), tmp_path / "copy")
        assert copy.folder == tmp_path / "copy"
        assert copy.to_arrow().equals(first.to_arrow())
        assert spent(session) == 1
        assert kinds(session) == ["open", "charge", "start", "release"]
    with open_towns(tmp_path) as session:
        assert session.write(BY_CITY, tmp_path / "out", **PRICE).manifest == first.manifest
    assert beside(tmp_path) == []


def test_another_confidence_is_said_of_the_files_as_they_are(tmp_path):
    with opened(tmp_path) as session:
        session.write(COUNT, tmp_path / "out", epsilon=1)
        again = session.write(COUNT, tmp_path / "out", epsilon=1, confidence="0.5")
        assert again.replayed
        assert again.confidence == Fraction(19, 20)


def test_what_was_asked_is_written_and_what_was_written_is_not_drawn_again(tmp_path):
    with opened(tmp_path) as session:
        asked = session.ask(BY_WARD, epsilon=1)
        for _ in range(2):
            found = session.write(BY_WARD, tmp_path / "asked", epsilon=1)
            assert found.replayed
            assert found.to_arrow().equals(asked.to_arrow())
            assert found.receipt == asked.receipt
        session.write(COUNT, tmp_path / "written", epsilon="0.5")
        for act in (session.ask, session.remeasure):
            with pytest.raises(WrongKind) as caught:
                act(COUNT, epsilon="0.5")
            assert "write(question, folder)" in str(caught.value)
        assert spent(session) == Fraction(3, 2)
        assert kinds(session).count("release") == 2
        (tmp_path / "other").mkdir()
        with pytest.raises(WrongKind):
            session.write(BY_WARD, tmp_path / "other", epsilon=1)
        assert beside(tmp_path) == []


def test_two_at_once_draw_once(tmp_path):
    found = []
    with opened(tmp_path) as session:

        def act():
            found.append(session.write(COUNT, tmp_path / "out", epsilon=1))

        threads = [threading.Thread(target=act) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({release.manifest for release in found}) == 1
        assert sorted(release.replayed for release in found) == [False, True, True, True]
        assert kinds(session) == ["open", "charge", "start", "release"]


def test_somebody_else_may_be_first(tmp_path, monkeypatch):
    """A question that is asked while it is written has the answer that is recorded first."""
    with opened(tmp_path) as session:
        draw = writing.draw_files

        def slow(*arguments):
            mine = draw(*arguments)
            session.ask(COUNT, epsilon=1)
            return mine

        monkeypatch.setattr(writing, "draw_files", slow)
        found = session.write(COUNT, tmp_path / "out", epsilon=1)
        assert found.replayed
        assert found.to_arrow().equals(session.ask(COUNT, epsilon=1).to_arrow())
        assert kinds(session).count("release") == 1
        assert beside(tmp_path) == []


# --- files that are lost or changed ---------------------------------------------------------------


@pytest.mark.parametrize("where", ["out", "elsewhere"])
@pytest.mark.parametrize("how", ["removed", "changed", "all removed"])
def test_files_that_are_lost_are_not_drawn_again(tmp_path, how, where):
    with opened(tmp_path) as session:
        found = session.write(BY_WARD, tmp_path / "out", epsilon=1)
        (path,) = found.files
        if how == "changed":
            path.write_bytes(path.read_bytes()[:-1])
        else:
            path.unlink()
        if how == "all removed":
            (tmp_path / "out").rmdir()
        else:
            with pytest.raises(UnreadableSource):
                found.to_arrow()
        before = kinds(session)
        with pytest.raises(UnreadableSource) as caught:
            session.write(BY_WARD, tmp_path / where, epsilon=1)
        assert "a second draw would be a second answer" in str(caught.value)
        assert kinds(session) == before
        assert beside(tmp_path) == []


@pytest.fixture
def unpublished(tmp_path, monkeypatch):
    """An answer that is on record, and not in its place: the process ended in between."""
    with opened(tmp_path) as session, monkeypatch.context() as dead:
        dying(dead, "before the publication")
        with pytest.raises(Killed):
            session.write(BY_WARD, tmp_path / "out", epsilon=1)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("failures", [1, 2, 3])
@pytest.mark.parametrize("where", ["out", "elsewhere"])
def test_files_that_cannot_be_read_for_a_while_are_not_lost(
    tmp_path, monkeypatch, unpublished, failures, where
):
    left = [OSError(5, "Input/output error")] * failures

    def failing(path):
        if left and path.exists():
            raise left.pop()
        return digest_of(path)

    with opened(tmp_path) as session:
        monkeypatch.setattr(manifests, "digest_of", failing)
        for _ in range(failures):
            with pytest.raises(UnreadableSource, match="nothing of it was removed"):
                session.write(BY_WARD, tmp_path / where, epsilon=1)
        assert session.write(BY_WARD, tmp_path / where, epsilon=1).replayed
        assert kinds(session).count("release") == 1


def test_files_that_were_changed_before_they_were_published_stay(tmp_path, unpublished):
    (path,) = tmp_path.rglob("*.parquet")
    kept = path.read_bytes()
    path.write_bytes(kept[:-1])
    with opened(tmp_path) as session:
        with pytest.raises(UnreadableSource, match="a second draw would be a second answer"):
            session.write(BY_WARD, tmp_path / "out", epsilon=1)
        path.write_bytes(kept)
        assert len(session.write(BY_WARD, tmp_path / "out", epsilon=1).to_arrow()) == 3


@pytest.mark.parametrize("other", ["a rehearsal", "another ledger"])
def test_what_waits_to_be_published_is_not_removed_by_others(tmp_path, unpublished, other):
    """The same question, price and place, on another record, is another answer."""
    folder = tmp_path / "other"
    folder.mkdir()
    with in_test_mode() if other == "a rehearsal" else opened(folder) as session:
        session.write(BY_WARD, tmp_path / "out", epsilon=1)
    with opened(tmp_path) as session:
        with pytest.raises(WrongKind, match="is there already, and is not this answer"):
            session.write(BY_WARD, tmp_path / "out", epsilon=1)
        found = session.write(BY_WARD, tmp_path / "mine", epsilon=1)
        assert found.replayed
        assert len(found.to_arrow()) == 3


def test_a_folder_that_is_published_while_it_is_copied_is_found_again(
    tmp_path, monkeypatch, unpublished
):
    def publishing(file, source, folder):
        (path,) = tmp_path.glob(".out.*.written")
        (path / "answer").rename(tmp_path / "out")
        monkeypatch.undo()
        copy_file(file, source, folder)

    with opened(tmp_path) as session:
        monkeypatch.setattr(writing, "copy_file", publishing)
        found = session.write(BY_WARD, tmp_path / "copy", epsilon=1)
        assert found.replayed
        assert len(found.to_arrow()) == 3
        assert pq.read_table(tmp_path / "out").num_rows == 3


def test_a_folder_that_was_moved_can_be_named(tmp_path):
    with opened(tmp_path) as session:
        first = session.write(BY_WARD, tmp_path / "out", epsilon=1)
        (tmp_path / "out").rename(tmp_path / "moved")
        again = session.write(BY_WARD, tmp_path / "moved", epsilon=1)
        assert again.manifest == first.manifest
        assert again.folder == tmp_path / "moved"
        assert len(again.to_arrow()) == 3


# --- crashes --------------------------------------------------------------------------------------


class Killed(BaseException):
    """The end of a process, as far as one process can play it."""


SEAMS = {
    "before the charge": (Ledger, "charge", "before"),
    "after the charge": (Ledger, "charge", "after"),
    "after the start": (Ledger, "start", "after"),
    "before the folder": (AnswerFolder, "begin", "before"),
    "after the folder": (AnswerFolder, "begin", "after"),
    "while data is read": (DuckDB, "run", "after"),
    "while files are written": (drawn_files, "write_table", "after"),
    "in a task": (KeyedBins, "__call__", "after"),
    "before the seal": (AnswerFolder, "seal", "before"),
    "after the seal": (AnswerFolder, "seal", "after"),
    "before the release": (Ledger, "release", "before"),
    "after the release": (Ledger, "release", "after"),
    "before the publication": (AnswerFolder, "publish", "before"),
    "in the publication": (placing, "sync_folder", "after"),
    "after the publication": (AnswerFolder, "publish", "after"),
}
HERE = sorted(set(SEAMS) - {"in a task"})
APART = ["in a task", "before the seal", "before the release", "after the release"]
UNPAID = {"before the charge", "before the folder", "after the folder"}
RECORDED = {"after the release", "before the publication", "after the publication"}


def dying(patch, seam):
    """Die at a seam, and leave everything as it is."""
    kind, name, when = SEAMS[seam]
    function = getattr(kind, name)

    def act(*arguments, **named):
        if when == "after":
            function(*arguments, **named)
        raise Killed

    patch.setattr(kind, name, act)
    for cleaning in ("remove_leftovers", "discard_unseen"):
        patch.setattr(AnswerFolder, cleaning, lambda self, *_: None)


@pytest.mark.parametrize(
    ("seam", "apart"), [*((seam, False) for seam in HERE), *((seam, True) for seam in APART)]
)
def test_a_crash_at_any_step_is_one_charge_and_one_answer(tmp_path, monkeypatch, seam, apart):
    patch = monkeypatch if apart else None
    recorded = None
    with open_towns(tmp_path, patch) as session:
        with monkeypatch.context() as dead:
            dying(dead, seam)
            with pytest.raises(Killed):
                session.write(BY_CITY, tmp_path / "out", **PRICE)
        assert kinds(session).count("charge") == (seam not in UNPAID)
        stored = session.ledger.find(session.plan(BY_CITY, **PRICE).digest)
        assert (stored is not None) >= (seam in RECORDED)
        if stored is not None:
            recorded = stored.answer
        else:
            assert not (tmp_path / "out").exists()
    with open_towns(tmp_path, patch) as session:
        found = session.write(BY_CITY, tmp_path / "out", **PRICE)
        assert kinds(session).count("charge") == kinds(session).count("release") == 1
        assert spent(session) == 1
        assert found.replayed == (recorded is not None)
        if recorded is not None:
            assert found.manifest.written() == recorded
        assert len(found.to_arrow()) == len(found)
        assert found.manifest.matches(tmp_path / "out")
        assert set(found.files) == set((tmp_path / "out").iterdir())
        assert beside(tmp_path) == []
        again = session.write(BY_CITY, tmp_path / "out", **PRICE)
        assert again.manifest == found.manifest
        assert session.ledger.verify().ok


def test_two_attempts_have_two_keys(tmp_path, monkeypatch):
    """What an attempt drew that broke off says nothing about the answer; a mutant's would."""
    keys = []
    fresh = KeyedBins.fresh.__func__

    def noted(cls, plan, **named):
        found = fresh(cls, plan, **named)
        keys.append(found.key)
        return found

    monkeypatch.setattr(KeyedBins, "fresh", classmethod(noted))
    with open_towns(tmp_path, monkeypatch) as session:
        with monkeypatch.context() as dead:
            dying(dead, "before the seal")
            with pytest.raises(Killed):
                session.write(BY_CITY, tmp_path / "out", **PRICE)
        session.write(BY_CITY, tmp_path / "out", **PRICE)
    assert len(set(keys)) == 2
    database = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for key in keys:
        assert key not in database
        assert key.hex().encode() not in database


def test_nobody_else_can_look_at_what_is_not_on_record(tmp_path, monkeypatch):
    with opened(tmp_path) as session:
        with monkeypatch.context() as dead:
            dying(dead, "before the release")
            with pytest.raises(Killed):
                session.write(BY_WARD, tmp_path / "out", epsilon=1)
        (hidden,) = beside(tmp_path)
        assert stat.S_IMODE((tmp_path / hidden).stat().st_mode) == 0o700
        session.write(BY_WARD, tmp_path / "out", epsilon=1)
        plain = tmp_path / "plain"
        plain.mkdir()
        assert (tmp_path / "out").stat().st_mode == plain.stat().st_mode


HOLDER = """
import sys, time
sys.path.insert(0, {root!r})
from discreet.session.files.answer_folder import AnswerFolder
with AnswerFolder.of({target!r}, "0" * 64).locked():
    print("locked", flush=True)
    time.sleep(60)
"""


def test_a_process_that_is_killed_lets_go_of_the_place(tmp_path):
    text = HOLDER.format(root=str(ROOT), target=str(tmp_path / "out"))
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"locked\n"
        entered = threading.Event()

        def wait():
            with AnswerFolder.of(tmp_path / "out", "0" * 64).locked():
                entered.set()

        waiting = threading.Thread(target=wait)
        waiting.start()
        assert not entered.wait(0.2)
        os.kill(holder.pid, signal.SIGKILL)
        assert entered.wait(20)
        waiting.join()
    assert beside(tmp_path) == []


# --- failures -------------------------------------------------------------------------------------


def test_an_engine_that_fails_says_one_sentence_and_leaves_nothing(tmp_path, monkeypatch):
    def failing(job):
        raise ValueError("value-4711")

    with open_towns(tmp_path, monkeypatch, before=failing) as session:
        with pytest.raises(EngineFailed) as caught:
            session.write(BY_CITY, tmp_path / "out", **PRICE)
        assert "4711" not in str(caught.value)
        assert caught.value.__context__ is None
        assert beside(tmp_path) == []
        assert kinds(session) == ["open", "charge", "start", "fail"]


@pytest.mark.parametrize("one_file", [0, CITIES])
def test_tasks_that_write_elsewhere_are_noticed(tmp_path, monkeypatch, one_file):
    def elsewhere(job):
        job.folder = tmp_path

    with open_towns(tmp_path, monkeypatch, before=elsewhere, one_file=one_file) as session:
        with pytest.raises(EngineFailed):
            session.write(BY_CITY, tmp_path / "out", **PRICE)
        assert kinds(session) == ["open", "charge", "start", "fail"]


def test_a_task_that_writes_on_after_the_end_changes_nothing(tmp_path, monkeypatch):
    late = []

    def remember(job):
        late.append(job)

    with open_towns(tmp_path, monkeypatch, before=remember) as session:
        found = session.write(BY_CITY, tmp_path / "out", **PRICE)
        before = sorted((tmp_path / "out").iterdir())
        with pytest.raises(RuntimeError):
            late[0].collect()
        assert sorted((tmp_path / "out").iterdir()) == before
        assert found.manifest.matches(tmp_path / "out")


def test_leftovers_of_tasks_are_no_part_of_the_answer(tmp_path, monkeypatch):
    def leave(job):
        (job.folder.path / ".bin-00001.half").write_text("half")
        (job.folder.path / "bin-00001-other.parquet").write_text("of another attempt")

    with open_towns(tmp_path, monkeypatch, before=leave) as session:
        found = session.write(BY_CITY, tmp_path / "out", **PRICE)
        assert set(found.files) == set((tmp_path / "out").iterdir())


def test_a_ledger_that_fails_to_store_tells_nothing(tmp_path, monkeypatch):
    def gone(*_):
        raise LedgerUnavailable(what="gone.", why="a test.", do="wait.")

    with opened(tmp_path) as session:
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "release", gone)
            with pytest.raises(LedgerUnavailable):
                session.write(COUNT, tmp_path / "out", epsilon=1)
        assert not (tmp_path / "out").exists()
        assert not session.write(COUNT, tmp_path / "out", epsilon=1).replayed
        assert kinds(session).count("charge") == 1


# --- refusals: nothing is charged -----------------------------------------------------------------


@pytest.mark.parametrize(
    "sql",
    [
        BY_CITY + " ORDER BY n",
        BY_CITY + " LIMIT 3",
        "SELECT ward, MEDIAN(cost) AS m FROM visits GROUP BY ward",
        "SELECT ward, COUNT(DISTINCT visit) AS v FROM visits GROUP BY ward",
    ],
)
def test_what_tasks_cannot_do_is_refused_before_anything_is_paid(tmp_path, monkeypatch, sql):
    with open_towns(tmp_path, monkeypatch) as session:
        with pytest.raises(UnsupportedSQL):
            session.write(sql, tmp_path / "out", **PRICE)
        assert kinds(session) == ["open"]


def test_what_is_on_record_is_written_whatever_tasks_can_do(tmp_path, monkeypatch):
    sql = BY_CITY + " ORDER BY n DESC LIMIT 3"
    with open_towns(tmp_path) as session:
        asked = session.ask(sql, **PRICE)
    with open_towns(tmp_path, monkeypatch) as session:
        found = session.write(sql, tmp_path / "out", **PRICE)
        assert found.replayed
        assert found.to_arrow().equals(asked.to_arrow())


def test_a_condition_on_groups_is_for_tasks_too(tmp_path, monkeypatch):
    with open_towns(tmp_path, monkeypatch) as session:
        found = session.write(BY_CITY + " HAVING COUNT(*) > 80", tmp_path / "out", **PRICE)
        values = found.to_arrow().column("n").to_pylist()
        assert values
        assert min(values) > 80


def test_bounds_that_are_searched_for_are_refused(tmp_path):
    policy = POLICY.replace("low = 0\nhigh = 100\n", "")
    with opened(tmp_path, policy=policy) as session:
        with pytest.raises(UnsupportedSQL):
            session.write(
                "SELECT AVG(cost) AS m FROM visits",
                tmp_path / "out",
                epsilon="0.5",
                bounds=estimate(epsilon="0.25"),
            )
        assert kinds(session) == ["open"]


@pytest.mark.parametrize("folder", [None, 7, "s3://bucket/answer", "none/there/out"])
def test_a_folder_that_cannot_be_is_refused(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    with opened(tmp_path) as session:
        with pytest.raises(WrongKind):
            session.write(COUNT, folder, epsilon=1)
        assert kinds(session) == ["open"]


def test_nothing_is_written_over(tmp_path):
    (tmp_path / "out").mkdir()
    with opened(tmp_path) as session:
        for target in (tmp_path / "out", tmp_path / "clinic.ledger"):
            with pytest.raises(WrongKind):
                session.write(COUNT, target, epsilon=1)
        assert kinds(session) == ["open"]


def test_a_price_that_does_not_fit_writes_nothing(tmp_path):
    with opened(tmp_path) as session:
        session.write(COUNT, tmp_path / "one", epsilon=1)
        session.write(BY_WARD, tmp_path / "two", epsilon="0.9")
        with pytest.raises(OverBudget):
            session.write(COUNT, tmp_path / "three", epsilon="0.5")
        assert not (tmp_path / "three").exists()
        assert beside(tmp_path) == []


def test_a_mutant_with_bits_of_its_tasks_is_noticed(tmp_path, monkeypatch):
    """What a late task writes differs from the answer, if it draws its own bits."""

    def mutant(self, raw, at):
        return answer(self.plan, raw, entropy=SYSTEM).to_arrow()

    def repeats():
        seen = []
        with open_towns(folder, monkeypatch, before=seen.append) as session:
            found = session.write(BY_CITY, folder / "out", **PRICE)
            seen[0].folder = folder / "again"
            seen[0].folder.mkdir()
            seen[0].collect()
            return found.manifest.matches(folder / "again")

    folder = tmp_path / "keyed"
    folder.mkdir()
    assert repeats()
    folder = tmp_path / "mutant"
    folder.mkdir()
    monkeypatch.setattr(KeyedBins, "__call__", mutant)
    assert not repeats()
