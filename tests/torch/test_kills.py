"""A run is killed beside every write, and again when it is resumed (``killed_runs.py``)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dp
from discreet.accounting import Budget
from discreet.ledger import Ledger

STEPS, KILLED = 5, 9
SAVED = ["_write_aside", "replace", "_sync_folder"]
WRITES = [
    "_write_aside",  # tried out, and taken away
    "charge",
    "start",
    *SAVED,
    "describe",
    *SAVED,
    "describe",
    *SAVED,
    "describe",
    *SAVED,
    "release",
]


KILLS = [3, 5, 9, 13, 14, 17, 22, 37, 38]
"""Event 2i - 1 comes before the i-th write, and event 2i after it.

Before the charge, the start, the first rename and the first mark; in the first block of steps; at
its rename; in the second block; before the release and after it.  All others are slow.
"""


def ended(folder, kills, times):
    """Return how the processes of each kill have ended, by its number."""
    script = Path(__file__).with_name("killed_runs.py")
    done = subprocess.run(
        [sys.executable, str(script), str(folder), json.dumps(kills), times],
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    return {int(nth): statuses for nth, statuses in json.loads(done.stdout).items()}


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Return a folder for each kill, and how the processes there have ended."""
    folder = tmp_path_factory.mktemp("killed")
    return folder, ended(folder, [0, *KILLS], "once")


def opened(folder):
    return Ledger.open(folder / "a.ledger", unit=dp.row(), budget=Budget(epsilon=50, delta="1e-3"))


def drawn(folder, word):
    try:
        lines = (folder / "drawn").read_text().splitlines()
    except FileNotFoundError:
        return []
    return [line for line in lines if line.startswith(word)]


def charged(node):
    """Read off entries how many steps were paid for."""
    if isinstance(node, dict):
        return int(node["count"]) if "count" in node else sum(map(charged, node.values()))
    return sum(map(charged, node)) if isinstance(node, list) else 0


def check(folder):
    with opened(folder) as ledger:
        entries = list(ledger.entries())
    paid = charged([entry["tree"] for entry in entries if entry["kind"] == "charge"])
    noises, batches = drawn(folder, "noise"), drawn(folder, "batch")
    assert len(noises) <= len(batches) <= paid
    assert len(set(noises)) == len(noises)  # nothing random is served twice
    assert len(set(batches)) == len(batches)
    return noises


def check_result(folder):
    """A run that was killed has ended in order, with one result on record."""
    check(folder)
    assert json.loads((folder / "found").read_text())["taken"] == STEPS
    with opened(folder) as ledger:
        assert [entry["kind"] for entry in ledger.entries()].count("release") == 1


def test_a_run_writes_in_the_order_that_is_proved(killed):
    folder, statuses = killed
    assert statuses[0] == [0]
    assert json.loads((folder / "0" / "found").read_text()) == {"writes": WRITES, "taken": STEPS}
    assert len(check(folder / "0")) == STEPS
    with opened(folder / str(KILLS[-1])) as ledger:
        assert ledger.verify().ok


@pytest.mark.theorem("marked-steps")
@pytest.mark.parametrize("nth", KILLS)
def test_a_process_that_is_killed_beside_any_write_draws_no_more_than_is_charged(killed, nth):
    folder, statuses = killed
    assert statuses[nth] == [KILLED, 0]
    check_result(folder / str(nth))


@pytest.mark.slow
@pytest.mark.theorem("marked-steps")
def test_two_kills_in_a_row_draw_no_more_than_is_charged(tmp_path):
    """The second one is somewhere in the resumed run; what is on record is not drawn again."""
    for nth, statuses in ended(tmp_path, list(range(1, 2 * len(WRITES) + 1)), "twice").items():
        first, second, *others = statuses
        assert (first, others) == (KILLED, [0, 0])
        assert second in {0, KILLED}
        check_result(tmp_path / str(nth))
        found = json.loads((tmp_path / str(nth) / "found").read_text())
        assert not set(found["writes"]) & {"describe", "release"}
