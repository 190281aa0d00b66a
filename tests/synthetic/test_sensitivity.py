"""What one unit moves, by brute force: the histogram that engines return, marginals, and scores."""

import itertools
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines.engine import HashOrder
from discreet.mechanisms import Exponential, Gaussian, Laplace
from discreet.plan.pricing.calibration import epsilon_sum, rho_sum
from discreet.requests.raw_totals import RawTotals
from discreet.synthetic.bins import BoughtBins, QuantileBins
from discreet.synthetic.joint import GRID, ROWS, JointHistogram, UnitMoves, joint_request, moved_by
from discreet.synthetic.measurer import Candidate, JointMeasurer, RhoFilter, on_grid
from discreet.synthetic.planning import domain_of, question_of_rows
from discreet.units import PrivacyUnit, Relation, person, row
from tests.reference.engine import Reference
from tests.synthetic import clinic

ORDER = HashOrder(salt=3, portable=True)
MARGINALS = [m for k in range(4) for m in itertools.combinations(range(3), k)]
REPLACE = PrivacyUnit(name="row", columns=(), relation=Relation.REPLACE)


def people():
    """What each of four people may have: nothing, much of one kind, or some of all kinds."""
    everything = [
        (ward, age, paid)
        for ward in ("A", "B", "C", None)
        for age in (-5, 10, 60, None)
        for paid in (True, False)
    ]
    return [everything, [("A", 10, True)] * 9, everything[::3] * 2, [("B", 99, False)]]


def rows_of(units):
    return [clinic.visit(who, *values) for who, visits in units.items() for values in visits]


def histogram(request, domain, units):
    raw = Reference({"visits": rows_of(units)}, clinic.TYPES).run(request, order=ORDER)
    return JointHistogram.of(raw, domain.coded.sizes)


def limited(groups, rows):
    limits = f"[limits]\nmax_groups = {groups}\nmax_rows = {rows}\n"
    return f'format = 1\nunit = "patient"\n{limits}{clinic.COLUMNS}'


@pytest.mark.theorem("joint-histogram")
@pytest.mark.parametrize(("groups", "most"), [(1, 1), (2, 1), (1, 3), (3, 2)])
def test_one_person_moves_every_marginal_by_no_more_than_is_priced(groups, most):
    """Engines keep the bound whatever people have; all subsets of people, and all neighbors."""
    with clinic.opened(policy=limited(groups, most)) as session:
        rows = session.program_rows(question_of_rows(session, "visits", None, None))
        domain, _ = domain_of(session, rows, 4)
        request = joint_request(rows, domain)
    assert moved_by(request) == groups * most
    found = {}
    for who in itertools.product([False, True], repeat=4):
        units = {name: people()[name] for name in range(4) if who[name]}
        found[who] = histogram(request, domain, units)
    largest = 0
    for one, other in itertools.combinations(found, 2):
        gone = sum(a and not b for a, b in zip(one, other, strict=True))
        come = sum(b and not a for a, b in zip(one, other, strict=True))
        if max(gone, come) > 1:
            continue
        for marginal in MARGINALS:
            change = found[one].marginal(marginal) - found[other].marginal(marginal)
            moved = UnitMoves(groups * most, person("patient"))
            if gone and come:
                moved = UnitMoves(groups * most, REPLACE)
                assert abs(change).max() <= moved.rows
            else:
                assert (change >= 0).all() or (change <= 0).all()
            assert abs(change).sum() <= moved.l1
            assert (change**2).sum() <= moved.l2_squared
            largest = max(largest, abs(change).sum())
    assert largest > groups * most  # replacements attain more than one person alone


def test_a_histogram_that_bounds_nothing_is_caught():
    """The same comparison without the bound on rows: one person moves it by all that they have."""
    with clinic.opened(policy=limited(1, 10_000)) as session:
        rows = session.program_rows(question_of_rows(session, "visits", None, None))
        domain, _ = domain_of(session, rows, 4)
        request = joint_request(rows, domain)
    alone = histogram(request, domain, {1: people()[1]})
    assert int(alone.marginal(()).sum()) == len(people()[1])


TABLES = list(itertools.product(range(3), repeat=4))
EXPECTED = np.array([0.3, 1.7, 2.0, 0.1])


def joint_of(counts):
    codes = (np.array([0, 0, 1, 1], np.uint8), np.array([0, 1, 0, 1], np.uint8))
    return JointHistogram((2, 2), codes, np.array(counts, dtype=np.int64))


def neighbors(table, moved):
    """Tables with the rows of one more unit, and tables with one unit in place of another."""
    units = [u for u in itertools.product(range(moved + 1), repeat=4) if sum(u) <= moved]
    added = [tuple(np.add(table, unit)) for unit in units]
    pairs = itertools.product(units, units)
    replaced = [(tuple(np.add(table, one)), tuple(np.add(table, two))) for one, two in pairs]
    return [(table, other) for other in added], replaced


def scores_of(counts, candidates, cells):
    """The scores that a selection is made by, as a measurer computes them."""
    seen = []

    see = JointMeasurer(
        joint_of(counts), UnitMoves(1, row()), RhoFilter(Fraction(10**9), row()), clinic.stream("s")
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Exponential, "run", lambda self, scores, entropy: (seen.append(list(scores)), 0)[1]
        )
        if cells:
            see.select_cell(candidates, Fraction(1))
        else:
            see.select(candidates, Fraction(1))
    return np.array(seen[0], dtype=object)


@pytest.mark.theorem("synthetic-scores")
@pytest.mark.parametrize("moved", [1, 2])
@pytest.mark.parametrize("cells", [False, True])
def test_scores_move_by_no_more_than_is_priced_and_attain_it(moved, cells):
    if cells:
        candidates = [((0, 1), EXPECTED), ((0,), np.array([1.0, 0.5]))]
        leaf = [
            UnitMoves(moved, unit).selected_cell(Fraction(1), candidates=6)
            for unit in (row(), REPLACE)
        ]
    else:
        candidates = [
            Candidate((0, 1), EXPECTED, weight=3, penalty=0.7),
            Candidate((0,), np.array([0.0, 20.0]), weight=5),
        ]
        leaf = [
            UnitMoves(moved, unit).selected(Fraction(1), candidates=2, weight=5)
            for unit in (row(), REPLACE)
        ]
    known = {}
    far = [0, 0]
    for table in TABLES[::5]:
        for kind, pairs in enumerate(neighbors(table, moved)):
            for one, other in pairs:
                for each in (one, other):
                    if each not in known:
                        known[each] = scores_of(each, candidates, cells)
                far[kind] = max(far[kind], abs(known[one] - known[other]).max())
    assert far[0] == leaf[0].added
    assert far[1] == leaf[1].replaced


@pytest.mark.theorem("bin-edges")
@pytest.mark.parametrize("moved", [1, 2])
@pytest.mark.parametrize("count", [2, 3, 5])
def test_scores_of_edges_move_by_no_more_than_is_priced(moved, count):
    with clinic.opened() as session:
        rows = session.program_rows(question_of_rows(session, "visits", ["age"], None))
        domain, _ = domain_of(session, rows, 4)
    bins = QuantileBins(epsilon=Fraction(1), count=count)
    bought = BoughtBins(domain, ((0, bins),))

    def scores(table, place):
        codes = (np.arange(5, dtype=np.uint8),)
        joint = JointHistogram((5,), codes, np.array([*table, 7], dtype=np.int64))
        return bought._scores(joint, 0, bins, place)

    for place in range(1, count):
        leaves = [bought._leaf(UnitMoves(moved, unit), 0, bins, place) for unit in (row(), REPLACE)]
        far = [0, 0]
        for table in TABLES[::4]:
            for kind, pairs in enumerate(neighbors(table, moved)):
                for one, other in pairs[:: 1 + kind * 3]:
                    change = abs(scores(one, place) - scores(other, place)).max()
                    far[kind] = max(far[kind], int(change))
        assert far[0] <= leaves[0].added
        assert far[1] <= leaves[1].replaced
        for leaf, unit in zip(leaves, (row(), REPLACE), strict=True):
            assert epsilon_sum(leaf, unit)[0] == bins.epsilon / (count - 1)


@pytest.mark.parametrize("rows", [1, 4])
def test_prices_of_measurements(rows):
    """One unit of d rows costs d^2 / 2v in rho; where it is replaced twice that, but for a cell."""
    alone, swapped = UnitMoves(rows, row()), UnitMoves(rows, REPLACE)
    noise = Gaussian(variance=50)
    assert rho_sum(alone.measured(noise), row())[0] == Fraction(rows**2, 100)
    assert rho_sum(swapped.measured(noise), REPLACE)[0] == Fraction(2 * rows**2, 100)
    assert rho_sum(swapped.measured(noise, single=True), REPLACE)[0] == Fraction(rows**2, 100)
    flat = Laplace(scale=10)
    assert epsilon_sum(alone.measured(flat), row())[0] == Fraction(rows, 10)
    assert epsilon_sum(swapped.measured(flat), REPLACE)[0] == Fraction(2 * rows, 10)
    assert epsilon_sum(swapped.measured(flat, single=True), REPLACE)[0] == Fraction(rows, 10)


def test_public_numbers_are_on_the_grid_before_scores_are_taken():
    rounded = on_grid(np.array([1 / 3, 1e300, -4.0, float("nan"), float("inf")]))
    assert rounded.dtype == np.int64
    assert rounded[0] == round(GRID / 3)
    assert rounded[1] == rounded[4] == (1 << 40) * GRID
    assert rounded[2] == rounded[3] == 0


def test_what_is_no_combination_of_codes_is_left_out():
    """Whatever an engine returns, the histogram has cells of the domain alone."""
    keys = (pa.array([None, -1, 0, 3, 4, 2**62]),)
    counts = np.arange(6)
    found = JointHistogram.of(
        RawTotals(keys=keys, units=counts, totals={ROWS: counts}, leaves={}), (2, 2)
    )
    assert found.marginal((0, 1)).tolist() == [2, 0, 0, 3]
    assert repr(found) == "JointHistogram(hidden)"


def test_huge_counts_move_by_no_more_than_a_unit_adds():
    """One row more where floats would no longer be exact changes the way, and not the result."""

    def marginal(counts):
        places = pa.array(range(len(counts)), pa.int64())
        raw = SimpleNamespace(totals={ROWS: np.array(counts)}, keys=(places,))
        return JointHistogram.of(raw, (2048,)).marginal(())

    many = [(1 << 53) // 1000 - 1] + [1] * 999
    assert int(marginal([*many, 1])[0]) - int(marginal(many)[0]) == 1
    assert int(marginal([1 << 62])[0]) == int(marginal([1 << 34])[0]) == 1 << 34
