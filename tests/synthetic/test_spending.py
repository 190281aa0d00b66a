"""Every measurement that is made is one that was charged, whatever a method sees."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.accounting import Leaf
from discreet.errors import OutOfRange, OverBudget
from discreet.mechanisms import Gaussian, Laplace, OptimalKeys
from discreet.plan.pricing.calibration import epsilon_sum, rho_sum
from discreet.synthetic.bins import quantile_bins
from discreet.synthetic.inference.inference import CodedDomain
from discreet.synthetic.joint import JointHistogram, UnitMoves
from discreet.synthetic.measurer import Candidate, JointMeasurer, PlannedSteps, RhoFilter
from discreet.synthetic.methods import aim
from discreet.synthetic.methods.aim import AIM
from discreet.synthetic.methods.dual_query import DualQuery
from discreet.synthetic.methods.method import Schedule, Task
from discreet.synthetic.methods.mst import MST, Independent
from discreet.synthetic.methods.mwem import MWEM
from discreet.synthetic.workload import CompiledWorkload
from discreet.units import PrivacyUnit, Relation, row
from tests.synthetic import clinic

DOMAIN = CodedDomain(("a", "b", "c"), (2, 3, 2))
PAIRS = CompiledWorkload(tuple((m, 1) for m in itertools.combinations(range(3), 2)))
REPLACE = PrivacyUnit(name="row", columns=(), relation=Relation.REPLACE)
UNITS = [row(), REPLACE]


def task_of(rho, unit=None, moved=1, epsilon=None):
    return Task(
        domain=DOMAIN,
        workload=PAIRS,
        zeros=(),
        moves=UnitMoves(moved, unit or row()),
        rho=rho,
        epsilon=epsilon,
    )


def joint_of(counts):
    cells = np.array(list(itertools.product(*map(range, DOMAIN.sizes))), dtype=np.uint8)
    return JointHistogram(DOMAIN.sizes, tuple(cells.T), np.array(counts, dtype=np.int64))


class Adversary:
    """A model that answers whatever makes scores extreme."""

    def __init__(self, numbers):
        self.numbers = itertools.cycle(numbers)
        self.total = 1.0

    def marginal(self, columns):
        shape = DOMAIN.shape(tuple(columns))
        return np.full(shape, next(self.numbers))


def paid(task, measurer):
    """What the released evidence says was spent, worked out from its scales alone."""
    total = Fraction(0)
    moves = task.moves
    for each in measurer.measured:
        squared = moves.rows**2 if not each.marginal else moves.l2_squared
        total += Fraction(squared) / (2 * each.scale)
        chosen = each.selection
        if chosen is not None:
            total += (chosen.distance / chosen.scale) ** 2 / 2
    return total


@pytest.mark.theorem("filter-concentrated")
@settings(max_examples=25, deadline=None)
@given(
    counts=st.lists(st.integers(0, 10**6), min_size=12, max_size=12),
    numbers=st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=9),
    rho=st.fractions(Fraction(1, 10**6), 10, max_denominator=10**9),
    moved=st.integers(1, 5),
    unit=st.sampled_from(UNITS),
    rounds=st.integers(4, 60),
)
def test_aim_never_spends_above_its_bound(  # noqa: PLR0917  one for each thing drawn
    counts, numbers, rho, moved, unit, rounds
):
    task = task_of(rho, unit, moved)
    method = AIM(rounds=rounds)
    spending = method.schedule(task).spending()
    see = JointMeasurer(joint_of(counts), task.moves, spending, clinic.stream("adversary"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aim, "best_fit", lambda *given, **named: Adversary(numbers))
        method.run(task, see)
    assert see.spent == paid(task, see)
    assert rho * Fraction(99, 100) < see.spent <= rho


@pytest.mark.parametrize("unit", UNITS, ids=["add_remove", "replace"])
@pytest.mark.parametrize("moved", [1, 3])
@pytest.mark.parametrize("method", [MST(), MWEM(rounds=4), Independent()])
def test_fixed_methods_spend_just_what_is_charged(method, unit, moved):
    task = task_of(Fraction(1, 3), unit, moved)
    schedule = method.schedule(task)
    see = JointMeasurer(
        joint_of(range(12)), task.moves, schedule.spending(), clinic.stream("fixed")
    )
    method.run(task, see)
    assert see.spent == paid(task, see) == rho_sum(schedule.tree, unit)[0]
    assert Fraction(33, 100) < see.spent <= Fraction(1, 3)


@pytest.mark.parametrize("unit", UNITS, ids=["add_remove", "replace"])
@pytest.mark.parametrize("method", [MWEM(rounds=4), Independent()])
def test_pure_methods_spend_just_their_epsilon(method, unit):
    task = task_of(None, unit, 2, epsilon=Fraction(1))
    schedule = method.schedule(task)
    see = JointMeasurer(joint_of(range(12)), task.moves, schedule.spending(), clinic.stream("pure"))
    method.run(task, see)
    assert Fraction(99, 100) < see.spent <= 1
    assert epsilon_sum(schedule.tree, unit) == (see.spent, 0)


@pytest.mark.parametrize("price", [{"rho": "0.5"}, {"epsilon": 1}], ids=["rho", "pure"])
def test_bought_edges_spend_just_what_is_charged(price, tmp_path):
    with clinic.opened(tmp_path, budget=dp.Budget(epsilon=9, delta="1e-6")) as session:
        bins = {"age": quantile_bins(epsilon="0.25", count=4)}
        plan = clinic.planned(session, bins=bins, method=Independent(), **price)
        evidence = dp.synthesize(session, plan).evidence
    charged = plan.price.rho if "rho" in price else plan.price.epsilon
    assert evidence.spent == charged
    assert charged > next(map(Fraction, price.values()))


@pytest.mark.parametrize("unit", UNITS, ids=["add_remove", "replace"])
@pytest.mark.parametrize("rows", [None, 66])
def test_dual_query_runs_under_the_filter(unit, rows):
    task = task_of(Fraction(2), unit)
    method = DualQuery(rows=rows)
    see = JointMeasurer(
        joint_of(range(12)), task.moves, method.schedule(task).spending(), clinic.stream("dual")
    )
    codes = method.run(task, see)
    assert 0 < see.spent <= 2
    assert codes.shape[1] == DOMAIN.columns
    assert (codes < DOMAIN.sizes).all()


def test_one_ways_measured_twice_and_charged_once_are_refused():
    """The twin of a known mistake: measuring what no step was planned for."""
    task = task_of(Fraction(1, 3))
    method = Independent()
    see = JointMeasurer(
        joint_of(range(12)), task.moves, method.schedule(task).spending(), clinic.stream("twice")
    )
    method.run(task, see)
    with pytest.raises(OverBudget):
        method.run(task, see)
    assert len(see.measured) == DOMAIN.columns


def test_a_step_with_less_noise_than_planned_is_refused():
    moves = UnitMoves(1, row())
    steps = PlannedSteps([moves.measured(Gaussian(variance=8))], row())
    see = JointMeasurer(joint_of(range(12)), moves, steps, clinic.stream("less"))
    for noise in (Gaussian(variance=4), Laplace(scale=8)):
        with pytest.raises(OverBudget):
            see.measure((0,), noise)
    with pytest.raises(OverBudget):
        see.select([Candidate((0,), np.zeros(2))], Fraction(10**6))
    see.measure((0,), Gaussian(variance=8))
    assert see.spent == Fraction(1, 16)


def test_a_selection_among_heavier_candidates_is_another_step():
    moves = UnitMoves(1, row())
    light = [moves.selected(Fraction(4), candidates=9, weight=1)]
    see = JointMeasurer(
        joint_of(range(12)), moves, PlannedSteps(light, row()), clinic.stream("heavy")
    )
    with pytest.raises(OverBudget):
        see.select([Candidate((0,), np.zeros(2), weight=2)], Fraction(4))
    with pytest.raises(OverBudget):
        see.select([Candidate((0,), np.zeros(2), weight=1)], Fraction(2))
    see.select([Candidate((0,), np.zeros(2), weight=1)], Fraction(4))


def test_the_filter_refuses_the_step_that_would_exceed_its_bound():
    left, step = RhoFilter(Fraction(1, 8), row()), Leaf(Gaussian(variance=8))
    left.spend(step)
    with pytest.raises(OverBudget):
        left.spend(Leaf(Gaussian(variance=7)))
    left.spend(step)
    with pytest.raises(OverBudget):
        left.spend(Leaf(Gaussian(variance=10**9)))
    assert left.spent == Fraction(1, 8)


def test_the_filter_refuses_what_rests_on_chance():
    keys = OptimalKeys(epsilon=1, delta=Fraction(1, 10), groups=1, relation="add_remove")
    with pytest.raises(OverBudget):
        RhoFilter(Fraction(10), row()).spend(Leaf(keys))


def test_fewer_rounds_than_columns_are_refused():
    with pytest.raises(OutOfRange, match="columns"):
        AIM(rounds=3).schedule(task_of(Fraction(1)))


def test_a_step_with_a_chance_beside_its_rho_makes_no_schedule():
    """A price in rho alone would leave out the chance of the event that the rho rests on."""
    keys = OptimalKeys(epsilon=1, delta="1e-6", groups=1, relation="add_remove")
    with pytest.raises(OverBudget):
        Schedule.fixed((Leaf(keys),), task_of(Fraction(1)), rounds=0, deviation=1.0)
