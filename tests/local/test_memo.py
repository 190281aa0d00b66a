"""Memos: their exact price, the claim that fails, and what is on disk before a report leaves."""

import contextlib
import itertools
import json
import math
import sqlite3
from fractions import Fraction
from unittest import mock

import pytest

from discreet.errors import DamagedLedger, DiscreetError, OtherLedger, OverBudget, WrongKind
from discreet.local import Diary, Memo
from discreet.local import memo as memo_file
from discreet.local.diary import DeviceFile
from discreet.mechanisms.randomized_response import response_chances
from tests.noise.laws import stream


def loss_between(memo, one, other):
    here, there = memo.law(one), memo.law(other)
    return max(abs(math.log(here[reports] / there[reports])) for reports in here)


@pytest.mark.theorem("memo-constant")
@pytest.mark.parametrize(
    ("permanent", "figures"),
    [(1, {1: 0.433781, 2: 0.735326, 4: 0.958128}), (2, {1: 0.735326, 2: 1.325003, 4: 1.875548})],
)
def test_a_value_that_stays_costs_less_than_the_permanent_loss(permanent, figures):
    memo = Memo(values=2, permanent=permanent, fresh=1, constant=True)
    for reports, figure in figures.items():
        assert float(memo.price(reports=reports)) == pytest.approx(figure, abs=5e-7)
        exact = loss_between(memo, (0,) * reports, (1,) * reports)
        price = memo.while_it_stays(reports=reports)
        assert exact <= memo.price(reports=reports)
        assert exact == pytest.approx(price.nearest(), abs=1e-12)
    assert memo.price(reports=10_000) == permanent
    assert memo.price(reports=0) == 0


@pytest.mark.theorem("memo-constant")
@pytest.mark.parametrize("values", [2, 3, 5])
def test_the_price_is_exact_for_more_values(values):
    memo = Memo(values=values, permanent="1.5", fresh="0.7", constant=True)
    for reports in (1, 2, 3):
        exact = loss_between(memo, (0,) * reports, (values - 1,) * reports)
        assert exact == pytest.approx(memo.while_it_stays(reports=reports).nearest(), abs=1e-12)


@pytest.mark.theorem("memo-constant")
def test_the_price_grows_and_stays_below_the_permanent_loss():
    memo = Memo(values=4, permanent=3, fresh="0.3", constant=True)
    prices = [memo.while_it_stays(reports=reports).nearest() for reports in range(60)]
    assert all(before < after < 3 for before, after in itertools.pairwise(prices))


@pytest.mark.theorem("memo-changes")
@pytest.mark.parametrize(("fresh", "figure"), [(3, 8.37), (1, 2.41)])
def test_the_loss_for_each_value_that_is_met_is_a_false_claim(fresh, figure):
    memo = Memo(values=2, permanent=1, fresh=fresh)
    lost = loss_between(memo, (0,) * 6, (0, 1) * 3)
    assert lost == pytest.approx(figure, abs=5e-3)
    assert lost > 2  # two values, each with a permanent loss of 1
    assert lost <= memo.price(reports=6) == 6 * fresh


@pytest.mark.theorem("memo-changes")
@pytest.mark.parametrize("parameters", [(1, 1), (4, "0.5"), ("0.2", 3)])
def test_no_two_histories_lose_more_than_what_is_charged(parameters):
    permanent, fresh = parameters
    memo = Memo(values=2, permanent=permanent, fresh=fresh)
    for reports in (1, 2, 3, 4):
        laws = [memo.law(history) for history in itertools.product((0, 1), repeat=reports)]
        worst = max(
            here[told] / there[told]
            for here, there in itertools.permutations(laws, 2)
            for told in here
        )
        assert math.log(worst) <= memo.price(reports=reports)


def test_one_report_names_the_truth_as_often_as_claimed():
    memo = Memo(values=3, permanent=2, fresh=1)
    truth, other = memo.chances()
    law = memo.law((1,))
    assert law[1,] == truth
    assert law[0,] == law[2,] == other


def stored(path):
    """What is on disk, or nothing as long as a transaction keeps others out."""
    with contextlib.closing(sqlite3.connect(path, timeout=0)) as connection:
        try:
            ((state,),) = connection.execute("SELECT state FROM discreet").fetchall()
        except sqlite3.OperationalError:
            return None
    return json.loads(state)


# --- the file -----------------------------------------------------------------------------------


def device_law(memo, history, tmp_path):
    """Follow every way in which the responses of a device could turn out."""
    law = {}
    for number, turns in enumerate(itertools.product((0, 1), repeat=2 * len(history))):
        left, chance = list(turns), Fraction(1)

        def scripted(code, epsilon, values, _entropy, left=left):
            nonlocal chance
            moved = left.pop(0)
            chance *= response_chances(epsilon, values)[moved]
            return code ^ moved

        opened = memo.open(tmp_path / f"{number}.json")
        with mock.patch.object(memo_file, "_response", scripted):
            reports = tuple(opened.report(code) for code in history)
        law[reports] = law.get(reports, 0) + chance
    return law


@pytest.mark.parametrize("constant", [True, False])
def test_reports_of_a_device_have_the_law_of_the_memo(tmp_path, constant):
    memo = Memo(values=2, permanent=2, fresh=1, constant=constant)
    for history in ((1, 1), (0, 1)):
        folder = tmp_path / "".join(map(str, history))
        folder.mkdir()
        assert device_law(memo, history, folder) == memo.law(history)


def test_one_answer_is_kept_for_good_whatever_the_value_does(tmp_path):
    memo = Memo(values=7, permanent=8, fresh=30, constant=True).open(tmp_path / "memo.json")
    first = memo.report(3, entropy=stream("kept"))
    for code in range(7):
        assert memo.report(code, entropy=stream(f"later {code}")) == first


def test_each_value_has_an_answer_of_its_own(tmp_path):
    memo = Memo(values=2, permanent=20, fresh=30).open(tmp_path / "memo.json")
    assert [memo.report(code) for code in (0, 1, 1, 0)] == [0, 1, 1, 0]
    assert stored(tmp_path / "memo.json")["cells"] == {"0": 0, "1": 1}
    assert memo.reports() == 4


def test_price_and_answer_are_on_disk_before_the_report_is_drawn(tmp_path):
    memo = Memo(values=2, permanent=1, fresh=1, constant=True)
    diary = Diary(tmp_path / "diary.json", ceiling=5)
    opened = memo.open(tmp_path / "memo.json", diary=diary, name="weather")

    class Stopped(Exception):
        pass

    class Failing:
        """Entropy for the kept answer, and a crash at the fresh noise."""

        def __init__(self):
            self.source = stream("crash")

        def words(self, count, width):
            if stored(tmp_path / "memo.json"):
                raise Stopped
            return self.source.words(count, width)

        bits = words

    with pytest.raises(Stopped):
        opened.report(0, entropy=Failing())
    assert opened.reports() == 1
    assert diary.entries() == {"weather": memo.price(reports=1)}


def test_a_lost_memo_is_a_second_draw_and_charged(tmp_path):
    memo = Memo(values=2, permanent=1, fresh=1, constant=True)
    diary = Diary(tmp_path / "diary.json", ceiling=5)
    opened = memo.open(tmp_path / "memo.json", diary=diary)
    for _ in range(4):
        opened.report(0)
    assert diary.spent() == memo.price(reports=4)
    (tmp_path / "memo.json").unlink()
    opened.report(0)
    assert diary.spent() == memo.price(reports=4) + memo.price(reports=1)


def test_the_ceiling_stops_a_memo_before_anything_is_drawn(tmp_path):
    memo = Memo(values=2, permanent=1, fresh=1)
    diary = Diary(tmp_path / "diary.json", ceiling=2)
    opened = memo.open(tmp_path / "memo.json", diary=diary)
    opened.report(0)
    opened.report(1)
    before = (tmp_path / "memo.json").read_bytes()
    with pytest.raises(OverBudget):
        opened.report(0, entropy=None)
    assert (tmp_path / "memo.json").read_bytes() == before
    assert diary.left() == 0


def test_other_and_damaged_memos_are_refused(tmp_path):
    path = tmp_path / "memo.json"
    Memo(values=2, permanent=1, fresh=1).open(path).report(0)
    with pytest.raises(OtherLedger):
        Memo(values=3, permanent=1, fresh=1).open(path).report(0)
    with pytest.raises(OtherLedger):
        Memo(values=2, permanent=1, fresh=1, constant=True).open(path).report(0)
    good = stored(path)
    for change in ({"cells": {}}, {"cells": {"5": 0}}, {"cells": {"0": 9}}, {"reports": -1}):
        with DeviceFile(path, kind="memo").held() as held:
            held.write({**good, **change})
        with pytest.raises(DamagedLedger):
            Memo(values=2, permanent=1, fresh=1).open(path).report(0)


def test_parameters_that_make_no_sense_are_refused(tmp_path):
    for change in ({"values": 1}, {"permanent": 0}, {"fresh": -1}, {"fresh": "x"}):
        with pytest.raises(DiscreetError):
            Memo(**{"values": 2, "permanent": 1, "fresh": 1, **change})
    memo = Memo(values=2, permanent=1, fresh=1).open(tmp_path / "memo.json")
    for code in (-1, 2, "0", None):
        with pytest.raises(DiscreetError):
            memo.report(code)
    assert memo.reports() == 0


def test_memo_and_diary_are_two_files(tmp_path):
    diary = Diary(tmp_path / "one", ceiling=1)
    (tmp_path / "link").symlink_to(tmp_path / "one")
    for path in ("one", "link"):
        with pytest.raises(WrongKind, match="same path"):
            Memo(values=2, permanent=1, fresh=1).open(tmp_path / path, diary=diary)


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
