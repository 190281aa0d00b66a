"""Kills, races and losses of power, in small; ``./run chaos ledger`` does more of each."""

import pytest

from chaos import power, race, storm
from chaos.analyst import PaysAgain, PaysLast, TellsFirst
from chaos.crashing import POINTS
from chaos.disk import KINDS
from chaos.stores import NeverSynced, NotJournaled, Unlocked, Wrapped

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of later Pythons


class Crashes:
    """Crashes a server once, after a few kills."""

    def __init__(self, server):
        self.server = server
        self.done = False

    def __call__(self, kills):
        if kills >= 4 and not self.done:
            self.done = True
            self.server.crash()
            self.server.start()


# --- storms -----------------------------------------------------------------------------------


@pytest.fixture(params=["file", "server"])
def shared(request, tmp_path):
    """The address of a ledger that is not there yet."""
    if request.param == "file":
        return str(tmp_path / "ledger")
    return request.getfixturevalue("address")


def test_killed_processes_leave_a_ledger_that_holds(tmp_path):
    plan = storm.Plan(address=str(tmp_path / "ledger"), folder=tmp_path, kills=40, seed=7)
    found = storm.storm(plan)
    assert found.failures == []
    assert found.findings.kinds == set()
    assert found.kills.total() >= 40  # several may die in the last round
    assert {storm.AT_RANDOM} < {*found.kills} <= {storm.AT_RANDOM, *POINTS}
    assert found.findings.charges
    assert found.findings.told


def test_killed_processes_and_a_crashing_server_leave_a_ledger_that_holds(
    tmp_path, postgres, address
):
    crashes = Crashes(postgres)
    plan = storm.Plan(
        address=address, folder=tmp_path, kills=12, places=3, seed=7, nemesis=crashes, patience=0.5
    )
    found = storm.storm(plan)
    assert found.failures == []
    assert found.findings.kinds == set()
    assert found.findings.charges
    assert crashes.done


@pytest.mark.parametrize(
    ("analyst", "point", "kinds"),
    [
        (TellsFirst, "after_telling", {"free", "changed"}),
        (PaysLast, "after_telling", {"free", "changed"}),
        (PaysAgain, "after_charge", {"double"}),
    ],
)
def test_storms_find_steps_in_a_wrong_order(tmp_path, analyst, point, kinds):
    plan = storm.Plan(
        address=str(tmp_path / "ledger"),
        folder=tmp_path,
        kills=12,
        analyst=analyst,
        points=(point,),
    )
    found = storm.storm(plan)
    assert found.failures == []
    assert kinds & found.findings.kinds


# --- races ------------------------------------------------------------------------------------


@pytest.mark.theorem("cell-filters")
def test_exactly_what_there_is_room_for_is_granted(tmp_path, shared):
    plan = race.Plan(address=shared, folder=tmp_path, processes=6, attempts=600, limit=200)
    found = race.race(plan)
    assert found.wrong == []
    assert len(found.runners) == 6


def raced(folder, wrapper):
    """Race four processes for eight places."""
    folder.mkdir()
    plan = race.Plan(
        address=str(folder / "ledger"),
        folder=folder,
        processes=4,
        attempts=40,
        limit=8,
        wrapper=wrapper,
        reopen=True,
    )
    return race.race(plan)


def test_races_are_won_by_as_many_as_there_is_room_for(tmp_path):
    found = raced(tmp_path / "race", None)
    assert found.wrong == []
    assert found.charges == 8


def test_races_find_a_store_that_looks_before_it_locks(tmp_path):
    """A race that nobody spoils is possible: one of five is enough."""
    for turn in range(5):
        found = raced(tmp_path / str(turn), Unlocked)
        if found.charges > 8:
            assert found.wrong
            return
    pytest.fail("the store got away")


# --- losses of power --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sessions",
    [
        ((1, None), *((1, number) for number in range(5, 10)), (1, None)),
        ((1, None), (3, 9), (1, None)),
    ],
)
def test_whenever_power_is_lost_what_was_told_is_there(tmp_path, sessions):
    found = power.power_loss(
        power.Plan(
            folder=tmp_path, questions=2, sessions=sessions, wrapper=Wrapped, every=8, seed=7
        )
    )
    assert found.wrong == []
    assert found.operations > 100
    assert found.told >= 4
    assert {*found.states} == {*KINDS}


@pytest.mark.parametrize("wrapper", [NeverSynced, NotJournaled])
def test_losses_of_power_find_a_store_that_does_not_sync(tmp_path, wrapper):
    sessions = ((1, None), *((1, number) for number in range(4, 9)), (1, None))
    found = power.power_loss(
        power.Plan(
            folder=tmp_path,
            questions=2,
            sessions=sessions,
            wrapper=wrapper,
            kinds=["synced", "all"],
            every=3,
        )
    )
    assert found.wrong


# --- what the losses of power are made of -------------------------------------------------------
