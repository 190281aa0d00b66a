"""Diaries: the total of a device, its ceiling, and crashes at any moment."""

import contextlib
import multiprocessing
import os
import sqlite3
from fractions import Fraction

import pytest

from discreet.errors import (
    DamagedLedger,
    DiscreetError,
    LedgerUnavailable,
    NewerFormat,
    OtherLedger,
    OverBudget,
)
from discreet.local import Diary
from discreet.local.diary import DeviceFile


@pytest.mark.theorem("general-composition")
def test_prices_add_up_to_the_ceiling_and_no_further(tmp_path):
    diary = Diary(tmp_path / "diary.json", ceiling="1.0")
    diary.charge(epsilon="0.1", name="a")
    diary.charge(epsilon=Fraction(1, 3), name="b")
    diary.charge(epsilon=0.1, name="a")
    again = Diary(tmp_path / "diary.json", ceiling=1)
    assert again.entries() == {"a": Fraction(1, 5), "b": Fraction(1, 3)}
    with pytest.raises(OverBudget) as caught:
        again.charge(epsilon="0.5", name="c")
    assert "0.4667 left" in str(caught.value)
    again.charge(epsilon=again.left(), name="c")
    assert again.spent() == 1


def charge_and_tell(path, told):
    diary = Diary(path, ceiling=1000)
    while True:
        diary.charge(epsilon=1, name="a")
        os.write(told, b".")


def test_a_killed_process_loses_no_charge_that_it_knew_of(tmp_path):
    path, context, charged = tmp_path / "diary", multiprocessing.get_context("fork"), 0
    for number in range(8):
        reads, told = os.pipe()
        worker = context.Process(target=charge_and_tell, args=(path, told))
        worker.start()
        for _ in range(1 + number % 3):
            charged += len(os.read(reads, 1))
        worker.kill()
        worker.join()
        os.close(told)
        while more := os.read(reads, 100):
            charged += len(more)
        os.close(reads)
        spent = Diary(path, ceiling=1000).spent()
        assert charged <= spent <= charged + 1
        charged = int(spent)


@pytest.mark.parametrize("content", [b'{"format": 1}', b"SQLite format 3", bytes(5000)])
def test_a_file_that_is_no_diary_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "diary"
    path.write_bytes(content)
    with pytest.raises(DamagedLedger):
        Diary(path, ceiling=1)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"ceiling": "1", "entries": []},
        {"ceiling": "1", "entries": {"a": "1/0"}},
        {"ceiling": "1", "entries": {"a": "-1"}},
        {"ceiling": "1", "entries": {"a": "0.5"}},
        {"ceiling": "1", "entries": {"a": "1e99999999"}},
    ],
)
def test_a_state_that_no_diary_wrote_is_damage(tmp_path, state):
    path = tmp_path / "diary"
    with DeviceFile(path, kind="diary").held() as held:
        held.write(state)
    with pytest.raises(DamagedLedger):
        Diary(path, ceiling=1)


def test_a_relative_path_is_resolved_once(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    diary = Diary("diary", ceiling=1)
    diary.charge(epsilon=1, name="a")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert diary.left() == 0
    assert not any((tmp_path / "elsewhere").iterdir())


def test_other_diaries_are_refused(tmp_path):
    path = tmp_path / "diary.json"
    Diary(path, ceiling=1).charge(epsilon=1, name="a")
    with pytest.raises(OtherLedger):
        Diary(path, ceiling=2)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE discreet SET format = 2")
    with pytest.raises(NewerFormat):
        Diary(path, ceiling=1)
    for place in (tmp_path / "no folder" / "diary.json", tmp_path):
        with pytest.raises(LedgerUnavailable):
            Diary(place, ceiling=1)
    for epsilon in (0, -1, "x", None, float("nan")):
        with pytest.raises(DiscreetError):
            Diary(tmp_path / "new.json", ceiling=1).charge(epsilon=epsilon, name="a")
    with pytest.raises(DiscreetError):
        Diary(tmp_path / "new.json", ceiling=1).charge(epsilon=1, name="")
    with pytest.raises(DiscreetError):
        Diary(tmp_path / "new.json", ceiling=-1)


def charge_often(path):
    for _ in range(20):
        Diary(path, ceiling=100).charge(epsilon=1, name="a")


def test_two_processes_lose_no_charge(tmp_path):
    path = tmp_path / "diary.json"
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=charge_often, args=(path,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert Diary(path, ceiling=100).spent() == 40
