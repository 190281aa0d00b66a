"""Somebody who can move folders sees one draw of an answer at most, whatever breaks off."""

import os
import stat
from pathlib import Path

import pytest

from discreet.errors import (
    DiscreetError,
    EngineFailed,
    LedgerUnavailable,
    QuestionClosed,
    WrongKind,
)
from discreet.ledger import Ledger
from discreet.session.files import draw_files as drawn_files
from discreet.session.files.answer_folder import AnswerFolder
from tests.session.clinic import BY_WARD, COUNT, opened
from tests.session.test_written import BY_CITY, PRICE, beside, kinds, open_towns

ASKED = 38


def hidden(folder):
    (found,) = folder.glob(".out.*.writing")
    return found


def moved(folder, away):
    hidden(folder).rename(away / str(len(list(away.iterdir()))))


def exchanged(folder, away):
    """Put a folder that everybody can look into in the place of the one to write to."""
    found = hidden(folder)
    moved(folder, away)
    found.mkdir()
    (found / "answer").mkdir()
    for each in (found, found / "answer"):
        each.chmod(0o777)


def linked(folder, away):
    found = hidden(folder)
    moved(folder, away)
    found.symlink_to(away / str(len(list(away.iterdir())) - 1))


def opened_up(folder, away):
    hidden(folder).chmod(0o755)


def emptied(folder, away):
    (hidden(folder) / "answer").rename(away / str(len(list(away.iterdir()))))


ATTACKS = [moved, exchanged, linked, opened_up, emptied]


def draws(*folders):
    """Return the files that somebody could keep, by their content."""
    return {path.read_bytes() for each in folders for path in each.rglob("*.parquet")}


@pytest.mark.parametrize("apart", [False, True], ids=["here", "in tasks"])
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
@pytest.mark.parametrize("when", ["before", "after"])
def test_one_draw_at_most_is_ever_seen(tmp_path, monkeypatch, attack, apart, when):
    away = tmp_path / "away"
    away.mkdir()
    attempts = []
    with open_towns(tmp_path, monkeypatch if apart else None, one_file=1000) as session:
        name = "manifest_of" if when == "after" else ("drawn_in_tasks" if apart else "_finished")
        real = getattr(drawn_files, name)

        def acting(*arguments):
            attack(tmp_path, away)
            attempts.append(name)
            return real(*arguments)

        monkeypatch.setattr(drawn_files, name, acting)
        with pytest.raises(EngineFailed, match="the question is closed"):
            session.write(BY_CITY, tmp_path / "out", **PRICE)
        for _ in range(ASKED):
            with pytest.raises(QuestionClosed):
                session.write(BY_CITY, tmp_path / "out", **PRICE)
        assert len(attempts) == 1
        assert kinds(session) == ["open", "charge", "start", "fail"]
        files = 8 + 1 if apart else 1  # one for each bin, and one of them all
        assert len(draws(tmp_path, away)) <= files
        assert not (tmp_path / "out").exists()


def test_an_exchanged_folder_gets_nothing(tmp_path, monkeypatch):
    away = tmp_path / "away"
    away.mkdir()
    with opened(tmp_path) as session:
        real = drawn_files._finished

        def acting(*arguments):
            exchanged(tmp_path, away)
            return real(*arguments)

        monkeypatch.setattr(drawn_files, "_finished", acting)
        with pytest.raises(EngineFailed):
            session.write(COUNT, tmp_path / "out", epsilon=1)
        assert draws(tmp_path) == set()


@pytest.mark.parametrize("interrupted", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("attack", [None, moved])
def test_an_interrupted_draw_is_followed_by_another_only_if_nobody_saw_it(
    tmp_path, monkeypatch, attack, interrupted
):
    away = tmp_path / "away"
    away.mkdir()
    with opened(tmp_path) as session:
        with monkeypatch.context() as patch:

            def acting(*_):
                if attack is not None:
                    attack(tmp_path, away)
                raise interrupted

            patch.setattr(drawn_files, "manifest_of", acting)
            with pytest.raises((interrupted, EngineFailed)):
                session.write(COUNT, tmp_path / "out", epsilon=1)
        if attack is None and interrupted is KeyboardInterrupt:
            session.write(COUNT, tmp_path / "out", epsilon=1)
            assert len(draws(tmp_path)) == 1
        else:
            with pytest.raises(QuestionClosed):
                session.write(COUNT, tmp_path / "out", epsilon=1)


def test_a_draw_that_was_sealed_is_completed_from_the_same_bytes(tmp_path, monkeypatch):
    def gone(*_):
        raise LedgerUnavailable(what="gone.", why="a test.", do="wait.")

    with opened(tmp_path) as session:
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "release", gone)
            for _ in range(3):
                with pytest.raises(LedgerUnavailable):
                    session.write(BY_WARD, tmp_path / "out", epsilon=1)
        (drawn,) = draws(tmp_path)
        session.write(BY_WARD, tmp_path / "out", epsilon=1)
        assert draws(tmp_path) == {drawn}
        assert beside(tmp_path) == []


def test_a_sealed_draw_that_was_changed_closes_the_question(tmp_path, monkeypatch):
    def gone(*_):
        raise LedgerUnavailable(what="gone.", why="a test.", do="wait.")

    with opened(tmp_path) as session:
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "release", gone)
            with pytest.raises(LedgerUnavailable):
                session.write(BY_WARD, tmp_path / "out", epsilon=1)
        (path,) = tmp_path.rglob("*.parquet")
        path.write_bytes(b"changed")
        with pytest.raises(EngineFailed):
            session.write(BY_WARD, tmp_path / "out", epsilon=1)
        with pytest.raises(QuestionClosed):
            session.write(BY_WARD, tmp_path / "out", epsilon=1)


# --- refusals: nothing is charged -----------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757, 0o722, 0o1777, 0o1775, 0o755, 0o700])
def test_a_parent_that_others_may_write_to_is_refused(tmp_path, mode):
    parent = tmp_path / "shared"
    parent.mkdir()
    parent.chmod(mode)
    with opened(tmp_path) as session:
        if mode & 0o022 and not mode & stat.S_ISVTX:
            with pytest.raises(WrongKind, match="others may write"):
                session.write(COUNT, parent / "out", epsilon=1)
            assert kinds(session) == ["open"]
            assert list(parent.iterdir()) == []
        else:
            session.write(COUNT, parent / "out", epsilon=1)


def test_a_parent_of_somebody_else_is_refused(tmp_path, monkeypatch):
    parent = tmp_path / "theirs"
    parent.mkdir()
    if os.geteuid() == 0:
        os.chown(parent, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with opened(tmp_path) as session:
        with pytest.raises(WrongKind, match="somebody else"):
            session.write(COUNT, parent / "out", epsilon=1)
        assert kinds(session) == ["open"]


def test_what_is_on_record_is_written_anywhere(tmp_path):
    parent = tmp_path / "shared"
    parent.mkdir()
    parent.chmod(0o777)
    with opened(tmp_path) as session:
        session.write(COUNT, tmp_path / "out", epsilon=1)
        assert session.write(COUNT, parent / "out", epsilon=1).replayed


@pytest.mark.parametrize(
    "name", ["a" * 250, "a" * 255, "a" * 256, "\u00e9" * 120, "a" * 5000, "a\0b"]
)
def test_names_too_long_to_write_are_refused_before_the_charge(tmp_path, name):
    with opened(tmp_path) as session:
        with pytest.raises(WrongKind):
            session.write(COUNT, f"{tmp_path}/{name}", epsilon=1)
        assert kinds(session) == ["open"]
        assert beside(tmp_path) == []


def test_long_names_are_written(tmp_path):
    with opened(tmp_path) as session:
        session.write(COUNT, tmp_path / ("a" * 150), epsilon=1)


def test_a_place_that_cannot_be_written_to_is_refused_before_the_charge(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with opened(tmp_path) as session:
        with monkeypatch.context() as patch:
            patch.setattr(Path, "mkdir", full)
            with pytest.raises(WrongKind):
                session.write(COUNT, tmp_path / "out", epsilon=1)
        assert kinds(session) == ["open"]


@pytest.mark.parametrize("step", ["_check_length", "check_parent", "check_free", "begin"])
def test_a_parent_that_goes_away_is_told_before_the_charge(tmp_path, monkeypatch, step):
    parent = tmp_path / "answers"
    parent.mkdir()
    real = getattr(AnswerFolder, step)

    def late(place):
        parent.rename(tmp_path / "gone")
        return real(place)

    monkeypatch.setattr(AnswerFolder, step, late)
    with opened(tmp_path) as session:
        with pytest.raises(WrongKind):
            session.write(COUNT, parent / "out", epsilon=1)
        assert kinds(session) == ["open"]


def test_a_parent_that_goes_away_after_the_charge_closes_the_question(tmp_path, monkeypatch):
    parent = tmp_path / "answers"
    parent.mkdir()
    real = drawn_files.answer

    def late(*given, **options):
        parent.rename(tmp_path / "gone")
        return real(*given, **options)

    monkeypatch.setattr(drawn_files, "answer", late)
    with opened(tmp_path) as session:
        with pytest.raises(EngineFailed):
            session.write(COUNT, parent / "out", epsilon=1)
        with pytest.raises(QuestionClosed):
            session.ask(COUNT, epsilon=1)


def test_names_cannot_be_guessed(tmp_path):
    place = AnswerFolder.of(tmp_path / "out", "ledger", "question")
    names = set()
    for _ in range(5):
        names.add(place.begin().path.parent.name)
        assert len(list(tmp_path.iterdir())) == 1
    assert len(names) == 5
    assert all(len(name.split(".")[3]) == 32 for name in names)


def test_a_refusal_leaves_nothing(tmp_path):
    with opened(tmp_path) as session:
        with pytest.raises(DiscreetError):
            session.write(COUNT, tmp_path / "out", epsilon=1000, confirm=True)
        assert beside(tmp_path) == []
