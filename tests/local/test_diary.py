"""Diaries: the total of a device, its ceiling, and crashes at any moment."""

import json
import multiprocessing
from fractions import Fraction
from unittest import mock

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
from discreet.local.repeated import device_file


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


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_a_crash_at_any_step_leaves_the_old_state_or_the_new_one(tmp_path, step):
    diary = Diary(tmp_path / "diary.json", ceiling=5)
    diary.charge(epsilon=1, name="a")
    calls, crashed = 0, 0
    real = getattr(device_file.os, step)
    for moment in range(4):

        def failing(*arguments, moment=moment, **named):
            nonlocal calls
            calls += 1
            if calls - 1 == moment:
                raise OSError
            return real(*arguments, **named)

        calls = 0
        before = diary.spent()
        with mock.patch.object(device_file.os, step, failing):
            try:
                diary.charge(epsilon="1/2", name="a")
            except LedgerUnavailable:
                crashed += 1
        assert diary.spent() - before in (0, Fraction(1, 2))
    assert crashed


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"format": 1, "kind": "memo", "state": {}}',
        b'{"format": 1, "kind": "diary", "state": {}}',
        b'{"format": 0, "kind": "diary", "state": {"ceiling": "1", "entries": {}}}',
        b'{"format": 1, "kind": "diary", "state": {"ceiling": "1", "entries": {"a": "1/0"}}}',
        b'{"format": 1, "kind": "diary", "state": {"ceiling": "1", "entries": {"a": "-1"}}}',
        b'{"format": 1, "kind": "diary", "state": {"ceiling": "1", "entries": []}}',
    ],
)
def test_a_damaged_diary_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "diary.json"
    path.write_bytes(content)
    with pytest.raises(DamagedLedger):
        Diary(path, ceiling=1)
    assert path.read_bytes() == content


def test_other_diaries_are_refused(tmp_path):
    path = tmp_path / "diary.json"
    Diary(path, ceiling=1).charge(epsilon=1, name="a")
    with pytest.raises(OtherLedger):
        Diary(path, ceiling=2)
    newer = json.loads(path.read_text()) | {"format": 2}
    path.write_text(json.dumps(newer))
    with pytest.raises(NewerFormat):
        Diary(path, ceiling=1)
    with pytest.raises(LedgerUnavailable):
        Diary(tmp_path / "no folder" / "diary.json", ceiling=1)
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
