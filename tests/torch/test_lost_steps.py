"""Short histories of crashes, stops and resumes, all of them: what is drawn was charged, once.

A history is played with the real ledger, charges and marks; in the place of a model there is a
count of the steps that were drawn.
"""

import contextlib
import itertools
from dataclasses import dataclass, replace

import pytest
import torch
from torch import nn

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import RunFenced
from discreet.ledger import Ledger
from discreet.torch import Training
from discreet.torch.marks import RunCharges
from discreet.torch.training_plan import TrainingPlan

STEPS, EVERY = 4, 2


def opened(folder):
    budget = Budget(epsilon=10**6, delta="1e-1")
    return Ledger.open(folder / "a.ledger", unit=dp.row(), budget=budget)


def training(ledger, **changed):
    model = nn.Linear(4, 2)
    x = torch.randn(60, 4, generator=torch.Generator().manual_seed(1))
    given = {
        "objective": nn.functional.cross_entropy,
        "data": (x, (x[:, 0] > 0).long()),
        "optimizer": torch.optim.SGD(model.parameters(), lr=1.0),
        "ledger": ledger,
        "unit": ledger.unit,
        "population": 60,
        "batch": 20,
        "steps": STEPS,
        "sigma": 3,
        "delta": "1e-5",
        "every": EVERY,
        "processes": 0,
    }
    return Training(model, **(given | changed))


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("plan")) as ledger:
        return training(ledger).plan


@pytest.fixture(scope="module")
def banded(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("banded")) as ledger:
        return training(ledger, band=2).plan


class CrashedError(Exception):
    """The process is gone."""


@dataclass
class Run:
    """A run and its checkpoint, and the reference: what was drawn, and what has to be paid.

    ``known`` are the steps that may have been drawn, as far as a ledger can know: those up to the
    last mark of each attempt.  What is paid has to cover them and all that an attempt may draw.
    ``blocks`` are those that the unluckiest unit is in, where noise is banded.
    """

    ledger: Ledger
    plan: TrainingPlan
    saved: int = 0
    drawn: int = 0
    known: int = 0
    blocks: int = 0
    paid: int = STEPS

    def attempt(self, end, *, at=None):
        """Go on from the checkpoint, or a step, and end: ("crash", events) or ("stop", steps).

        Return whether it came that far.
        """
        how, left = end
        events = itertools.count(1)

        def passed():
            if how == "crash" and next(events) == left:
                raise CrashedError

        try:
            taken = self._work(self.saved if at is None else at, passed, left, stops=how == "stop")
        except CrashedError:
            return True
        return how == "stop" and taken == left

    def _work(self, at, passed, left, *, stops):
        charges, before = RunCharges(self.ledger, self.plan), self.known
        started = charges.pay()
        passed()
        marks = charges.begin(started, at=at, lost="told", fresh=True)
        self.paid = max(self.paid, before + STEPS - at)
        passed()
        taken = marked = at
        while taken < STEPS and not (stops and taken - at == left):
            if taken >= marked:
                self.saved = taken
                passed()
                marked = min(taken + EVERY, STEPS)
                marks.mark(marked)
                self.known = before + marked - at
                passed()
            self.drawn, taken = self.drawn + 1, taken + 1
            self.blocks += (taken - at) % self.plan.band.width == 1 % self.plan.band.width
            passed()
        self.saved = taken
        passed()
        marks.stop(taken)
        self.known = before + taken - at
        passed()
        return taken - at

    @property
    def charged(self):
        """Return how many steps are on record."""
        entries = self.ledger.entries()
        own = [e for e in entries if e["kind"] == "charge" and e["key"].startswith(self.plan.key)]
        return counted([entry["tree"] for entry in own])


def counted(node):
    """Read off a tree how many steps were paid for."""
    if isinstance(node, dict):
        return int(node["count"]) if "count" in node else sum(map(counted, node.values()))
    return sum(map(counted, node)) if isinstance(node, list) else 0


CRASHES = [("crash", events) for events in range(1, 9)]
"""After the start, the charge, a checkpoint, its mark, two steps, a checkpoint and its mark."""
STOPS = [("stop", 1), ("stop", 2)]


ENDS = CRASHES + STOPS


@pytest.mark.theorem("marked-steps")
@pytest.mark.parametrize("first", ENDS)
def test_what_is_drawn_was_charged_and_each_crash_is_paid_for_once(tmp_path, plan, first):
    """Two attempts, each ended by a crash after any event or by a stop, and a third one."""
    check(tmp_path, plan, [(first, second) for second in ENDS])


def check(folder, plan, histories):
    with opened(folder) as ledger:
        for number, history in enumerate(histories):
            run = Run(ledger, replace(plan, name=str(number)))
            if all(run.attempt(end) for end in history):
                assert run.attempt(("stop", STEPS - run.saved))
                assert run.drawn <= run.known <= run.charged == run.paid


@pytest.mark.theorem("marked-steps")
@pytest.mark.parametrize("first", [("crash", 5), ("crash", 8), ("stop", 1), ("stop", 3)])
def test_resuming_from_older_copies_draws_no_more_than_is_charged(tmp_path, plan, first):
    """The second attempt has an older checkpoint than the first, and the third has the newer."""
    with opened(tmp_path) as ledger:
        for number, second in enumerate(ENDS):
            run = Run(ledger, replace(plan, name=str(number)))
            run.attempt(first)
            newer = run.saved
            run.attempt(second, at=0)
            run.attempt(("stop", STEPS - newer), at=newer)
            run.attempt(("stop", STEPS), at=0)
            assert run.drawn <= run.known <= run.charged
            assert run.charged >= run.paid


@pytest.mark.theorem("banded-sums")
@pytest.mark.parametrize("first", ENDS)
def test_nobody_is_in_more_blocks_than_were_charged(tmp_path, banded, first):
    """New parts in every attempt: the unluckiest unit is drawn in its first step."""
    with opened(tmp_path) as ledger:
        for number, second in enumerate(ENDS):
            run = Run(ledger, replace(banded, name=str(number)))
            run.attempt(first)
            run.attempt(second)
            run.attempt(("stop", STEPS - run.saved))
            assert run.blocks <= run.charged


def test_a_crash_makes_no_later_stop_cost_anything(tmp_path):
    """A model that is trained: a block of 6 steps is lost, then it stops after each step."""
    with opened(tmp_path) as ledger:
        given = {"steps": 8, "every": 6, "folder": tmp_path / "run"}
        lost = training(ledger, **given).steps()
        next(lost)
        next(lost)  # nobody leaves the loop, as nobody does in a process that is killed
        again = []
        for _ in range(3):
            run = training(ledger, **given)
            next(loop := run.steps())
            loop.close()
            again.append(run.report.charged_again)
        assert again == [6, 0, 0]
        report = training(ledger, **given).fit(bar=False)
        assert (report.taken, report.charged_again) == (8, 0)
        with contextlib.suppress(RunFenced):
            lost.close()
