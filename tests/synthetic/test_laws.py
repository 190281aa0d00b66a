"""Laws of whole runs on tables of three rows: no outcome is e^epsilon times as likely next door.

Mechanisms are replaced by scripts: each returns what the script says, and notes how likely that is
by its law.  So every path of a run has its chance, whatever was decided on the way.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms import Exponential, Laplace
from discreet.synthetic.inference.inference import CodedDomain
from discreet.synthetic.joint import JointHistogram, UnitMoves
from discreet.synthetic.measurer import Candidate, JointMeasurer, PlannedSteps
from discreet.synthetic.methods.method import Task, scale_for
from discreet.synthetic.methods.mwem import MWEM
from discreet.synthetic.workload import CompiledWorkload
from discreet.units import PrivacyUnit, Relation, row
from tests.synthetic import clinic

DOMAIN = CodedDomain(("a", "b"), (2, 2))
REPLACE = PrivacyUnit(name="row", columns=(), relation=Relation.REPLACE)
TABLES = [table for table in itertools.product(range(4), repeat=4) if sum(table) == 3]
CODES = (np.array([0, 0, 1, 1], np.uint8), np.array([0, 1, 0, 1], np.uint8))


def neighbors(unit):
    """Tables of three rows, each with one row less, or with another in its place."""
    for table in TABLES:
        for gone in range(4):
            if not table[gone]:
                continue
            less = tuple(count - (cell == gone) for cell, count in enumerate(table))
            if not unit.relation.replaces:
                yield table, less
                continue
            for come in range(4):
                if come != gone:
                    yield table, tuple(count + (cell == come) for cell, count in enumerate(less))


class Script:
    """Returns given outcomes, and adds up the logarithms of their chances."""

    def __init__(self, patch, choices, noises):
        self.log = 0.0
        self.choices, self.noises = iter(choices), iter(noises)
        patch.setattr(Exponential, "run", self.choose(), raising=True)
        patch.setattr(Laplace, "run", self.add(), raising=True)

    def choose(self):
        def run(mechanism, scores, *, entropy):
            place = next(self.choices)
            rates = [float(Fraction(int(score)) / mechanism.scale) for score in scores]
            best = max(rates)
            whole = math.fsum(math.exp(rate - best) for rate in rates)
            self.log += rates[place] - best - math.log(whole)
            return place

        return run

    def add(self):
        def run(mechanism, values, *, entropy):
            released = np.asarray(next(self.noises))[: len(values)]
            shift = np.abs(released - np.asarray(values)).sum()
            self.log -= float(shift / mechanism.scale)  # up to a constant of both tables
            return released

        return run


def joint_of(table):
    return JointHistogram((2, 2), CODES, np.array(table, dtype=np.int64))


@pytest.mark.theorem("exponential-mechanism")
@pytest.mark.parametrize("unit", [row(), REPLACE], ids=["add_remove", "replace"])
def test_the_law_of_one_selection_among_pairs(unit):
    """As in MST and AIM: the range of log-ratios is that of the price, and is nearly attained."""
    moves = UnitMoves(1, unit)
    rho = Fraction(1, 8)
    scale = scale_for(moves.l1, rho)
    candidates = [
        Candidate((0, 1), np.array([0.4, 0.3, 0.2, 5.0])),
        Candidate((0,), np.array([0.0, 5.0])),
        Candidate((1,), np.array([5.0, 0.0])),
    ]
    epsilon = 2 * moves.l1 / scale
    widest = 0.0

    def logs(table):
        found = []
        for place in range(3):
            with pytest.MonkeyPatch.context() as patch:
                script = Script(patch, [place], [])
                leaf = moves.selected(scale, candidates=3, weight=1)
                see = JointMeasurer(
                    joint_of(table), moves, PlannedSteps([leaf], unit), clinic.stream("law")
                )
                see.select(candidates, scale)
            found.append(script.log)
        return np.array(found)

    known = {table: logs(table) for pair in neighbors(unit) for table in pair}
    for one, other in neighbors(unit):
        ratio = known[one] - known[other]
        assert abs(ratio).max() <= epsilon + 1e-9
        widest = max(widest, ratio.max() - ratio.min())
    assert 0.9 * epsilon < widest <= epsilon + 1e-9


@pytest.mark.parametrize("unit", [row(), REPLACE], ids=["add_remove", "replace"])
@pytest.mark.parametrize("halved", [False, True])
def test_the_law_of_one_round_of_mwem(unit, halved):
    """Total, selection and measurement together; with half the noise they are caught."""
    epsilon = Fraction(1)
    task = Task(
        domain=DOMAIN,
        workload=CompiledWorkload((((0,), 1), ((1,), 1))),
        zeros=(),
        moves=UnitMoves(1, unit),
        rho=None,
        epsilon=2 * epsilon if halved else epsilon,
    )
    method = MWEM(rounds=1, replays=1)
    schedule = method.schedule(task)
    paths = list(itertools.product(range(4), [(3, -2), (1, 4)], [(-1,), (9,)]))

    def logs(table):
        found = []
        for place, measured, total in paths:
            with pytest.MonkeyPatch.context() as patch:
                script = Script(patch, [place], [total, measured])
                see = JointMeasurer(
                    joint_of(table), task.moves, schedule.spending(), clinic.stream("law")
                )
                method.run(task, see)
            found.append(script.log)
        return np.array(found)

    pairs = list(neighbors(unit))[::3]
    known = {table: logs(table) for table in {*itertools.chain(*pairs)}}
    worst = max(abs(known[one] - known[other]).max() for one, other in pairs)
    if halved:
        assert worst > epsilon
    else:
        assert 0.5 * epsilon < worst <= epsilon + 1e-9
