"""Groups of a product too large to be listed: the answer is that of all groups, after HAVING."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from discreet.attacks.questions import _Repeated
from discreet.errors import EngineFailed, WrongKind
from discreet.mechanisms import Laplace
from discreet.mechanisms.partition_selection import EmptyGroups
from discreet.plan.statistics import partition_selection as groups
from discreet.release import choices as leaf_choice
from discreet.release.answer import answer, noised
from discreet.release.combination import combinable, combine
from discreet.release.release import Release
from discreet.requests.raw_totals import RawTotals
from tests.noise.laws import ALPHA, stream
from tests.plan.clinic import planned
from tests.release.clinic import raw_of, tables

SURE = {"epsilon": 10**12, "delta": "1e-9", "ceiling": False}
BOTH = (
    "SELECT ward, sex, COUNT(*) AS n, COUNT(age, contribution_bounds_per_group => (0, 2)) AS k "
    "FROM visits GROUP BY ward, sex HAVING n >= 9"
)
FULL = (
    "SELECT sex, ward, COUNT(*) AS n, SUM(stay) AS s, AVG(cost) AS m, MEDIAN(age) AS a, "
    "COUNT(DISTINCT city) AS c, COUNT(DISTINCT patient) AS p FROM visits "
    "GROUP BY sex, ward HAVING {} ORDER BY n DESC, ward"
)
CONDITIONS = ["n >= 20", "n > 19 AND ward <> 'A'", "p >= 15 AND m > 0", "s >= 60", "c > 0.5"]
FEW = tables(4)
DRAWS, LISTED = 1000, 8000
"""Answers of either kind.  Listed ones are drawn all at once, so that there can be more of them:
together they see nearly as much as 2,000 of each would."""


@pytest.fixture
def few(monkeypatch):
    """Let more than three groups be too many to be listed."""

    def plan(sql, **price):
        listed = planned(sql, **price)
        with monkeypatch.context() as patch:
            patch.setattr(groups, "_MOST", 3)
            return listed, planned(sql, **price)

    return plan


@pytest.fixture
def weighed(monkeypatch):
    """Choose leaves without chance, by all that is known of a group, instead of any of the best."""

    def leaves(choice, sparse, *, groups, entropy):
        group, leaf, count = sparse
        assert np.all(np.diff(group) >= 0)
        return np.bincount(group, (leaf + 1) * count, groups).astype(np.int64) % 97

    def spans(choice, sparse, *, near, entropy):
        return leaves(choice, sparse, groups=near.size, entropy=entropy) + near

    monkeypatch.setattr(leaf_choice, "chosen_leaves", leaves)
    monkeypatch.setattr(leaf_choice, "chosen_spans", spans)


def by_group(noisy):
    columns = [key.to_pylist() for key in noisy.keys]
    return list(zip(*columns, strict=True))


@pytest.mark.theorem("zero-groups")
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.usefixtures("weighed")
def test_without_noise_to_speak_of_both_ways_give_the_same(few, condition):
    """Quantiles, distinct values and intervals too, wherever groups stand in the product."""
    listed, drawn = few(FULL.format(condition), **SURE)
    assert drawn.having_threshold is not None
    one = answer(listed, raw_of(listed), entropy=stream("one"))
    other = answer(drawn, raw_of(drawn), entropy=stream("other"))
    assert 0 < len(other) < 8
    for here, there in zip(one.rows(), other.rows(), strict=True):  # means have other noise
        assert here == pytest.approx(there, abs=1e-6)


def test_an_engine_returns_touched_groups_alone(few):
    listed, drawn = few(BOTH)
    every, touched = raw_of(listed, FEW), raw_of(drawn, FEW)
    assert every.units.size == 8
    assert 0 < touched.units.size < 8
    found = dict(zip(by_group(every), every.units.tolist(), strict=True))
    units = dict(zip(by_group(touched), touched.units.tolist(), strict=True))
    assert units == {group: count for group, count in found.items() if count}


@cache
def all_groups(**price):
    """Return the counts and another total of all groups, many times; once for each price."""
    listed = planned(BOTH, **price)
    every = raw_of(listed, FEW)
    copies = replace(
        every,
        keys=(pa.array(np.arange(every.units.size * LISTED)),),
        units=np.tile(every.units, LISTED),
        totals={name: np.tile(total, LISTED) for name, total in every.totals.items()},
    )
    totals = noised(_Repeated(listed), copies, entropy=stream(f"all groups {price}")).totals
    n, k = (totals[name].runs[0].values.reshape(LISTED, -1) for name in ("count", "count_2"))
    return by_group(every), list(zip(n, k, strict=True))


def shown(drawn, label, **price):
    """Return what both ways show, many times: the groups, with the count and another total."""
    touched, source = raw_of(drawn, FEW), stream(label)
    least = drawn.having_threshold.zeros.threshold
    names, found = all_groups(**price)
    one = [
        [(names[number], int(n[number]), int(k[number])) for number in np.flatnonzero(n >= least)]
        for n, k in found
    ]
    other = []
    for _ in range(DRAWS):
        noisy = noised(drawn, touched, entropy=source)
        n, k = (noisy.totals[name].runs[0].values for name in ("count", "count_2"))
        other.append(list(zip(by_group(noisy), n.tolist(), k.tolist(), strict=True)))
    return one, other


def p_values(one, other):
    """Compare sets of groups, and in every group the cells of counts and of the other total."""
    order = sorted({each[0] for sample in one for each in sample}, key=str)

    def values(samples, group, place):
        return [each[place] for sample in samples for each in sample if each[0] == group]

    sets = [Counter(frozenset(each[0] for each in s) for s in samples) for samples in (one, other)]
    yield compared(sets)
    for group in order:
        for place, width in ((1, 6), (2, 12)):
            cells = [
                Counter(min(max(v // width, -4), 9) for v in values(samples, group, place))
                for samples in (one, other)
            ]
            yield compared(cells)


def compared(counts):
    """Return the p-value of two samples; what is expected in one below 20 times goes together."""
    both, sizes = counts[0] + counts[1], [sum(sample.values()) for sample in counts]
    least = 20 * sum(sizes) / max(min(sizes), 1)
    common = [key for key, count in both.items() if count >= least]
    table = [[sample[key] for key in common] for sample in counts]
    rest = [size - sum(row) for size, row in zip(sizes, table, strict=True)]
    if sum(rest) >= least:
        table = [[*row, more] for row, more in zip(table, rest, strict=True)]
    return stats.chi2_contingency(table).pvalue if len(table[0]) > 1 else 1.0


@pytest.mark.theorem("zero-groups")
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "0.1"}], ids=str)
def test_the_law_is_that_of_all_groups_after_having(few, price):
    """Every assertion has a false-alarm rate of ALPHA."""
    _, drawn = few(BOTH, **price)
    one, other = shown(drawn, str(price), **price)
    found = list(p_values(one, other))
    assert len(found) == 17
    assert min(found) > ALPHA


@pytest.mark.parametrize("slip", ["threshold", "touched", "tail"])
def test_slips_are_found(few, monkeypatch, slip):
    all_groups(epsilon=1)  # which no slip has touched
    run = EmptyGroups.run

    def other(self, touched, *, entropy):
        match slip:
            case "threshold":
                return run(replace(self, threshold=self.threshold + 4), touched, entropy=entropy)
            case "touched":
                return run(self, touched[:0], entropy=entropy)
            case _:
                found = run(self, touched, entropy=entropy)
                return replace(found, counts=found.counts + 3)

    monkeypatch.setattr(EmptyGroups, "run", other)
    _, drawn = few(BOTH, epsilon=1)
    assert min(p_values(*shown(drawn, "slip", epsilon=1))) < ALPHA


def test_nothing_is_kept_of_touched_groups_below_the_threshold(few):
    _, drawn = few(BOTH, epsilon=1)
    raw = raw_of(drawn, FEW)
    seen = set()
    for number in range(60):
        release = answer(drawn, raw, entropy=stream(f"kept {number}"))
        (part,) = release.parts
        values = part.totals["count"].runs[0].values
        assert (values >= drawn.having_threshold.zeros.threshold).all()
        assert len(release) == part.size
        seen |= {frozenset(by_group(part))}
        again = Release.read(release.written(), drawn)
        assert again.to_arrow().equals(release.to_arrow())
        assert again.written() == release.written()
    assert len(seen) > 20


def test_groups_stand_in_the_order_of_the_product(few):
    """Where they come from cannot be seen from where they stand."""
    _, drawn = few(BOTH, epsilon="0.01")
    raw = raw_of(drawn, FEW)
    product = drawn.request.product
    for number in range(20):
        part = noised(drawn, raw, entropy=stream(f"order {number}"))
        places = [product.index(group) for group in by_group(part)]
        assert places == sorted(set(places))


def test_no_group_is_touched(few):
    _, drawn = few(BOTH, epsilon="0.01")
    raw = raw_of(drawn, tables(0))
    assert raw.units.size == 0
    sizes = {len(answer(drawn, raw, entropy=stream(f"none {number}"))) for number in range(40)}
    assert max(sizes) > 1


def test_an_answer_says_that_groups_are_picked_by_their_noise(few):
    listed, drawn = (
        str(answer(plan, raw_of(plan, FEW), entropy=stream("picked")))
        for plan in few(BOTH, epsilon=1)
    )
    assert "by noise alone" in drawn
    assert "by noise alone" not in listed


def test_plans_that_do_not_fit_are_refused(few):
    listed, drawn = few(BOTH, epsilon=1)
    raw, reached = raw_of(drawn, FEW), drawn.having_threshold
    zeros = reached.zeros
    wrong = [
        replace(drawn, having_threshold=None),
        replace(drawn, having_threshold=replace(reached, measure="count_2")),
        replace(drawn, having_threshold=replace(reached, zeros=replace(zeros, groups=9))),
        replace(
            drawn, having_threshold=replace(reached, zeros=replace(zeros, noise=Laplace(scale=1)))
        ),
        replace(listed, having_threshold=reached),
    ]
    for plan in wrong[:1]:
        with pytest.raises(WrongKind, match="selects none of them"):
            answer(plan, raw)
    noises = {noise.measure: noise.mechanism for noise in drawn.noises}
    same = noises["count"] == noises["count_2"]
    for plan in wrong[1 + same :]:
        with pytest.raises(WrongKind, match="not those of the plan"):
            answer(plan, raw)


def test_a_group_outside_of_the_product_stops_the_answer(few):
    _, drawn = few(BOTH, epsilon=1)
    raw = raw_of(drawn, FEW)
    wards = raw.keys[0].to_pylist()
    strange = RawTotals(
        keys=(pa.array(["Z", *wards[1:]]), raw.keys[1]),
        units=raw.units,
        totals=raw.totals,
        leaves=raw.leaves,
    )
    with pytest.raises(EngineFailed):
        answer(drawn, strange)


def test_answers_of_drawn_groups_are_not_combined(few):
    _, one = few(BOTH, epsilon=1)
    _, two = few(BOTH, epsilon=2)
    assert not combinable(one, two)
    first, second = (answer(plan, raw_of(plan, FEW), entropy=stream("c")) for plan in (one, two))
    with pytest.raises(WrongKind):
        combine(first, second)


@pytest.mark.usefixtures("weighed")
def test_groups_of_a_least_number_of_people_are_the_same_both_ways(few):
    """Nobody is in an empty group, so that none of them is ever chosen."""
    sql = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(min_privacy_units_per_group = 2) "
        "ward, sex, COUNT(*) AS n, MEDIAN(age) AS a FROM visits GROUP BY ward, sex"
    )
    listed, drawn = few(sql, **SURE)
    assert drawn.request.product is not None
    one = answer(listed, raw_of(listed), entropy=stream("one"))
    other = answer(drawn, raw_of(drawn), entropy=stream("other"))
    assert len(other) > 2
    assert one.to_arrow().equals(other.to_arrow())


def test_the_share_of_empty_groups_is_the_one_that_the_plan_tells(few):
    _, drawn = few(BOTH, epsilon=1)
    raw = raw_of(drawn, tables(0))
    source = stream("share")
    sizes = [noised(drawn, raw, entropy=source).size for _ in range(1000)]
    chance = drawn.having_threshold.zeros.expected().high / 8
    assert stats.binomtest(sum(sizes), 8 * 1000, float(chance)).pvalue > ALPHA
    assert Fraction(0) < chance < Fraction(1, 2)
