"""Device files: links, moved folders, removed side files and strange content lose no charge."""

import json
import os
import time
from fractions import Fraction
from unittest import mock

import pytest

from discreet.errors import (
    DamagedLedger,
    LedgerUnavailable,
    OverBudget,
    TooLarge,
    WrongKind,
)
from discreet.local import Diary, Memo
from discreet.local.repeated import device_file

MEMO = Memo(values=2, permanent=1, fresh=1)


def test_a_symbolic_link_leads_to_the_diary_and_stays_a_link(tmp_path):
    diary = Diary(tmp_path / "diary", ceiling=1)
    diary.charge(epsilon="1/2", name="a")
    (tmp_path / "link").symlink_to(tmp_path / "diary")
    linked = Diary(tmp_path / "link", ceiling=1)
    linked.charge(epsilon="1/2", name="b")
    assert (tmp_path / "link").is_symlink()
    with pytest.raises(OverBudget):
        diary.charge(epsilon="1/2", name="c")
    assert diary.entries() == linked.entries() == {"a": Fraction(1, 2), "b": Fraction(1, 2)}


def test_a_diary_with_two_names_is_refused_until_one_is_gone(tmp_path):
    diary = Diary(tmp_path / "diary", ceiling=1)
    diary.charge(epsilon="1/2", name="a")
    (tmp_path / "other").hardlink_to(tmp_path / "diary")
    with pytest.raises(LedgerUnavailable, match="second name"):
        Diary(tmp_path / "other", ceiling=1)
    with pytest.raises(LedgerUnavailable, match="second name"):
        diary.charge(epsilon="1/2", name="b")
    (tmp_path / "other").unlink()
    assert diary.spent() == Fraction(1, 2)


def test_a_relative_path_is_resolved_once(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    diary = Diary("diary", ceiling=1)
    memo = MEMO.open("memo")
    diary.charge(epsilon=1, name="a")
    memo.report(0)
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert (diary.left(), memo.reports()) == (0, 1)
    assert not any((tmp_path / "elsewhere").iterdir())


def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LedgerUnavailable, match="regular file"):
        Diary(tmp_path / "pipe", ceiling=1)
    with pytest.raises(LedgerUnavailable):
        Diary(tmp_path, ceiling=1)
    with pytest.raises(WrongKind):
        Diary(f"{tmp_path}/a\0b", ceiling=1)


def test_nobody_gets_in_when_side_files_are_removed(tmp_path):
    diary = Diary(tmp_path / "diary", ceiling=1)
    with diary.file.held() as held:
        for other in tmp_path.iterdir():
            if other != diary.file.path:
                other.unlink()
        with (
            mock.patch.object(device_file, "_PATIENCE", 0.01),
            pytest.raises(LedgerUnavailable, match="busy"),
        ):
            Diary(tmp_path / "diary", ceiling=1).charge(epsilon=1, name="b")
        held.write({"ceiling": "1", "entries": {"a": "1"}})
        with (
            mock.patch.object(device_file, "_PATIENCE", 0.01),
            pytest.raises(LedgerUnavailable, match="busy"),
        ):
            diary.spent()  # the new file is locked as well
    assert diary.left() == 0


def test_whoever_waited_for_a_replaced_file_reads_the_new_one(tmp_path):
    diary = Diary(tmp_path / "diary", ceiling=1)
    real = device_file.locked.__globals__["_wait"]

    def overtaken(number, kind, until):
        with mock.patch.dict(device_file.locked.__globals__, {"_wait": real}):
            if not diary.entries():
                diary.charge(epsilon=1, name="a")
        real(number, kind, until)

    with (
        mock.patch.dict(device_file.locked.__globals__, {"_wait": overtaken}),
        pytest.raises(OverBudget),
    ):
        Diary(tmp_path / "diary", ceiling=1).charge(epsilon=1, name="b")
    assert diary.entries() == {"a": 1}


def test_a_diary_that_is_moved_away_meanwhile_is_not_overwritten(tmp_path):
    diary = Diary(tmp_path / "diary", ceiling=1)
    with diary.file.held() as held:
        (tmp_path / "diary").rename(tmp_path / "away")
        Diary(tmp_path / "diary", ceiling=1).charge(epsilon=1, name="b")
        with pytest.raises(LedgerUnavailable):
            held.write({"ceiling": "1", "entries": {"a": "1/2"}})
    assert diary.entries() == {"b": 1}


def test_names_that_a_file_needs_while_it_is_written_are_not_those_of_others(tmp_path):
    diary = Diary(tmp_path / "m-new", ceiling=1)
    diary.charge(epsilon=1, name="a")
    MEMO.open(tmp_path / "m").report(1)
    assert diary.left() == 0
    for path in (".m.discreet-new", "link"):
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(tmp_path / ".m.discreet-new")
        with pytest.raises(WrongKind):
            Diary(tmp_path / path, ceiling=1)
    assert {path.name for path in tmp_path.iterdir()} == {"m", "m-new", "link"}


def test_memo_and_diary_are_two_files(tmp_path):
    diary = Diary(tmp_path / "one", ceiling=1)
    (tmp_path / "link").symlink_to(tmp_path / "one")
    for path in ("one", "link"):
        with pytest.raises(WrongKind, match="same path"):
            MEMO.open(tmp_path / path, diary=diary)


@pytest.mark.parametrize(
    "change",
    [
        ('"1/2"', "Infinity"),
        ('"1/2"', "NaN"),
        ('"1/2"', "0.5"),
        ('"1/2"', '"1e-99999999"'),
        ('"1/2"', '"0.5"'),
        ('"1/2"', '"1_0/2"'),
        ('"a": "1/2"', '"a": "1/2", "a": "1/1000000"'),
        ('"a": "1/2"', '"a": "1/1000000", "a": "1/2"'),
        ('"format": 1', '"format": true'),
        ('"format": 1', '"format": 1, "format": 1'),
    ],
    ids=" ".join,
)
def test_content_that_could_mean_something_else_is_damage(tmp_path, change):
    path = tmp_path / "diary"
    Diary(path, ceiling=1).charge(epsilon="1/2", name="a")
    good = path.read_text()
    path.write_text(good.replace(*change))
    assert path.read_text() != good
    begun = time.process_time()
    with pytest.raises(DamagedLedger):
        Diary(path, ceiling=1)
    assert time.process_time() - begun < 5


def test_a_diary_never_grows_beyond_what_can_be_read(tmp_path):
    diary = Diary(tmp_path / "diary", ceiling=10)
    diary.charge(epsilon=1, name="x" * 1000)
    with pytest.raises(WrongKind):
        diary.charge(epsilon=1, name="x" * 1001)
    with mock.patch.object(device_file, "_LARGEST", 2000), pytest.raises(TooLarge):
        diary.charge(epsilon=1, name="y" * 1000)
    with pytest.raises(TooLarge):
        diary.charge(epsilon=Fraction(1, 10**4001), name="z")
    assert diary.spent() == 1
    assert {path.name for path in tmp_path.iterdir()} == {"diary"}


@pytest.mark.parametrize("constant", [True, False])
def test_what_a_memo_told_without_a_diary_is_charged_later(tmp_path, constant):
    memo = Memo(values=2, permanent=1, fresh=1, constant=constant)
    memo.open(tmp_path / "memo").report(1)
    diary = Diary(tmp_path / "diary", ceiling=9)
    memo.open(tmp_path / "memo", diary=diary).report(1)
    assert diary.spent() == memo.price(reports=2)
    memo.open(tmp_path / "memo").report(0)
    memo.open(tmp_path / "memo", diary=diary).report(0)
    assert diary.spent() == memo.price(reports=4)


def test_a_memo_cannot_claim_more_charges_than_its_price(tmp_path):
    path, diary = tmp_path / "memo", Diary(tmp_path / "diary", ceiling=9)
    MEMO.open(path, diary=diary).report(1)
    good = json.loads(path.read_text())
    for wrong in ("9", "-1", "1/0", "1e999999999", 1, None):
        path.write_text(json.dumps({**good, "state": {**good["state"], "charged": wrong}}))
        with pytest.raises(DamagedLedger):
            MEMO.open(path, diary=diary).report(1)
    del good["state"]["charged"]  # as earlier versions wrote it
    path.write_text(json.dumps(good))
    MEMO.open(path, diary=diary).report(1)
    assert diary.spent() == MEMO.price(reports=1) + MEMO.price(reports=2)
