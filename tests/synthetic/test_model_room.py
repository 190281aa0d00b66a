"""A model never outgrows its memory once data is paid for: what would not fit is not offered."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import TooLarge
from discreet.synthetic.inference.inference import CodedDomain, ImpossibleCells
from discreet.synthetic.inference.junction_tree import MOST_BYTES, declared_bytes
from discreet.synthetic.inference.tree_model import tree_cells
from discreet.synthetic.joint import JointHistogram, UnitMoves
from discreet.synthetic.measurer import JointMeasurer
from discreet.synthetic.methods.aim import AIM
from discreet.synthetic.methods.fitting import ModelRoom
from discreet.synthetic.methods.method import Task
from discreet.synthetic.methods.mst import MST, Independent
from discreet.synthetic.workload import CompiledWorkload
from discreet.units import row
from tests.synthetic import clinic

WIDE = CodedDomain(tuple(f"c{place}" for place in range(30)), (8,) * 30)


def histogram(domain, seed=3, rows=200):
    """Rows whose columns all depend on one hidden number, so that every pair is worth measuring."""
    generator = np.random.default_rng(seed)
    hidden = generator.integers(0, min(domain.sizes), rows)
    noise = [generator.integers(0, 2, rows) for _ in domain.sizes]
    codes = [(hidden + more) % size for more, size in zip(noise, domain.sizes, strict=True)]
    narrow = tuple(code.astype(np.uint8) for code in codes)
    return JointHistogram(domain.sizes, narrow, np.ones(rows, np.int64))


def task_of(domain, zeros=(), rho=50):
    pairs = itertools.combinations(range(domain.columns), 2)
    workload = CompiledWorkload(tuple((pair, 1) for pair in pairs))
    return Task(
        domain=domain,
        workload=workload,
        zeros=tuple(zeros),
        moves=UnitMoves(1, row()),
        rho=Fraction(rho),
    )


def impossible(*marginals):
    return [ImpossibleCells(marginal, np.array([0])) for marginal in marginals]


def measured_by(method, task, joint):
    spending = method.schedule(task).spending()
    measurer = JointMeasurer(joint, task.moves, spending, clinic.stream("room"))
    method.run(task, measurer)
    return [each.marginal for each in measurer.measured]


@pytest.mark.parametrize(
    ("method", "zeros"),
    [
        (AIM(rounds=128, max_cells=1 << 12), ()),
        (AIM(rounds=96, max_cells=1 << 11), impossible((0, 1, 2), (2, 3, 4), (4, 5, 6))),
    ],
)
def test_the_model_of_aim_stays_within_its_cells(method, zeros):
    """Several rounds share one fit, and what they measure together has to fit as well."""
    measured = measured_by(method, task_of(WIDE, zeros), histogram(WIDE))
    pairs = {marginal for marginal in measured if len(marginal) == 2}
    assert len(pairs) > 10  # a tree of 29 pairs has 1856 cells
    tied = [*measured, *(zero.marginal for zero in zeros)]
    assert tree_cells(WIDE, tied) <= method.max_cells


def test_a_room_ends_where_memory_ends():
    """However many cells a method allows, inference has to hold them."""
    room = ModelRoom(WIDE, [(0, 1, 2, 3, 4, 5)])
    assert room.holds((0, 1, 2, 3, 4, 5, 6), 1 << 28)
    large = tuple(range(9))
    assert declared_bytes(WIDE, [large]) > MOST_BYTES
    assert not room.holds(large, 1 << 28)
    for pair in itertools.combinations(range(8), 2):
        room.tie(pair)
    assert room.fits(1 << 28)
    joining = (7, 8)
    assert room.holds(joining, 1 << 28)
    for place in range(7):
        room.tie((place, 8))
    assert not room.holds(joining, 1 << 28)


def test_what_is_tied_anyway_is_not_held_against_a_marginal():
    room = ModelRoom(WIDE, [(0, 1, 2, 3)])
    assert room.holds((0, 1), 10)
    assert not room.holds((4, 5), 10)
    assert room.holds((4,), 10)


@pytest.mark.parametrize("method", [AIM(), MST(), Independent()])
def test_constraints_that_are_too_large_are_refused_in_planning(method):
    with pytest.raises(TooLarge, match="constraints"):
        method.schedule(task_of(WIDE, impossible(tuple(range(10)))))


def test_constraints_count_among_the_cells_of_aim():
    zeros = impossible((0, 1, 2, 3, 4))
    assert AIM(max_cells=1 << 16).schedule(task_of(WIDE, zeros)).rounds
    with pytest.raises(TooLarge, match="max_cells"):
        AIM(max_cells=1 << 15).schedule(task_of(WIDE, zeros))


def test_mst_leaves_out_pairs_that_would_outgrow_memory_beside_constraints():
    """Two triangles that share a column; two of the best pairs would tie four columns together."""
    domain = CodedDomain(tuple("abcde"), (80,) * 5)
    zeros = impossible((0, 1, 2), (2, 3, 4))
    generator = np.random.default_rng(7)
    hidden = [generator.integers(0, 80, 400) for _ in range(3)]
    codes = [hidden[place] for place in (0, 1, 2, 0, 1)]  # equal: (a, d) and (b, e)
    joint = JointHistogram(
        domain.sizes, tuple(code.astype(np.uint8) for code in codes), np.ones(400, np.int64)
    )
    tied = [zero.marginal for zero in zeros]
    assert declared_bytes(domain, [*tied, (0, 3), (1, 4)]) > MOST_BYTES
    measured = measured_by(MST(), task_of(domain, zeros, rho=500), joint)
    assert declared_bytes(domain, [*tied, *measured]) <= MOST_BYTES
    assert len({(0, 3), (1, 4)} & set(measured)) == 1
    assert {(0, 3), (1, 4)} <= set(measured_by(MST(), task_of(domain, rho=500), joint))
