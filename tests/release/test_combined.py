"""Two answers to one question, taken together."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.aggregates.noisy_totals import Noisy, NoisyTotal, Run, joined_totals
from discreet.errors import WrongKind
from discreet.ledger.values import Receipt
from discreet.mechanisms import Gaussian, Laplace, NoisyKeys, SumKeys
from discreet.release.answer import answer
from discreet.release.combination import _averaged, _variance, combinable, combine
from discreet.release.release import Release
from tests.noise.laws import stream
from tests.release.clinic import asked, plan_of, raw_of
from tests.release.draws import drawn, enough, held

COUNTS = "SELECT ward, COUNT(*) AS n, AVG(cost) AS m FROM visits GROUP BY ward"
PEOPLE = "SELECT city, COUNT(DISTINCT patient) AS p, SUM(cost) AS s FROM visits GROUP BY city"
MEDIAN = "SELECT ward, MEDIAN(age) AS a FROM visits GROUP BY ward"
ONE, TWO = {"epsilon": 1, "delta": "1e-9"}, {"epsilon": 2, "delta": "1e-9"}
C95 = Fraction(19, 20)


@pytest.mark.theorem("inverse-variance")
@pytest.mark.parametrize(
    ("first", "second"),
    [(Laplace(scale=4), Laplace(scale=2)), (Gaussian(sigma=3), Laplace(scale=5))],
)
def test_no_other_weights_have_less_variance(first, second):
    one, two = (
        NoisyTotal((Run(values=np.zeros(1, np.int64), mechanism=m),)) for m in (first, second)
    )
    best = _variance(_averaged(one, two))
    v, w = _variance(one), _variance(two)
    assert best == pytest.approx(float(v * w / (v + w)), rel=1e-5)
    assert best < min(v, w)
    for share in (Fraction(k, 50) for k in range(51)):
        assert share**2 * v + (1 - share) ** 2 * w >= best * (1 - Fraction(1, 10**5))


@pytest.mark.theorem("inverse-variance")
def test_the_mean_has_the_variance_that_it_says():
    groups = 50_000
    first = drawn({"n": 100}, {"n": Laplace(scale=4)}, groups=groups, label="first")
    second = drawn({"n": 100}, {"n": Gaussian(sigma=4)}, groups=groups, label="second")
    both = _averaged(first.totals["n"], second.totals["n"])
    values = both.exact().nearest()
    spread = float(_variance(both))
    assert abs(values.mean() - 100) < 5 * (spread / groups) ** 0.5
    assert values.var() == pytest.approx(spread, rel=0.05)
    ends = both.interval(C95)
    assert enough(held(ends, 100), groups, C95)
    less = 0.05 * (ends[1] - ends[0])
    assert not enough(held((ends[0] + less, ends[1] - less), 100), groups, C95)


KEYS = NoisyKeys(noise=Laplace(scale=2), threshold=12, groups=1, relation="add_remove")


def test_means_of_counts_that_showed_their_groups_are_held():
    units, groups = 14, 200_000
    runs = [KEYS.run(np.full(groups, units), entropy=stream(label)) for label in ("a", "b")]
    size = min(run.counts.size for run in runs)
    total = NoisyTotal(
        tuple(
            Run(values=run.counts[:size], mechanism=KEYS.noise, keys=KEYS, weight=Fraction(1, 2))
            for run in runs
        )
    )
    assert enough(held(total.interval(C95), units), size, C95)


@pytest.mark.parametrize("sql", [COUNTS, PEOPLE, MEDIAN])
def test_both_together_are_more_exact_and_cost_both(sql):
    first, second = asked(sql, label="first", **ONE), asked(sql, label="second", **TWO)
    both = combine(first, second)
    assert both.names == second.names
    assert both.plans == (first.plan, second.plan)
    assert both.loss == first.loss.compose(second.loss)
    assert str(both)
    for column, other in zip(both.columns, second.columns, strict=True):
        if column.low is None or sql == MEDIAN:
            continue
        widths = [
            high - low
            for each in (column, other)
            for low, high in zip(each.low.to_pylist(), each.high.to_pylist(), strict=True)
        ]
        half = len(widths) // 2
        assert sum(widths[:half]) <= sum(widths[half:])


def test_chosen_leaves_are_those_of_the_sharper_choice():
    first, second = asked(MEDIAN, label="first", **TWO), asked(MEDIAN, label="second", **ONE)
    assert combine(first, second)["a"].to_pylist() == first["a"].to_pylist()
    assert combine(second, first)["a"].to_pylist() == first["a"].to_pylist()


@pytest.mark.parametrize(
    "text", [PEOPLE, PEOPLE.partition(", SUM")[0] + " FROM visits GROUP BY city"]
)
def test_groups_that_only_one_answer_shows_keep_their_numbers(text):
    one, two = plan_of(text, **ONE), plan_of(text, **TWO)
    first, second = (
        Release.of(plan, [some(plan, names)]) for plan, names in ((one, "abc"), (two, "bcd"))
    )
    both = combine(first, second)
    assert both["city"].to_pylist() == ["a", "b", "c", "d"]
    values = dict(zip(both["city"].to_pylist(), both["p"].to_pylist(), strict=True))
    lows = dict(zip(both["city"].to_pylist(), both["p_low"].to_pylist(), strict=True))
    assert values["a"] == first["p"].to_pylist()[0]
    assert lows["a"] == first["p_low"].to_pylist()[0]
    assert values["d"] == second["p"].to_pylist()[-1]
    assert lows["d"] == second["p_low"].to_pylist()[-1]


def some(plan, names):
    """What the mechanisms of a plan might give for these groups."""
    size = len(names)
    keys = plan.selection
    source = stream(names)
    if isinstance(keys, SumKeys):
        (noise,) = plan.noises
        drawn = noise.mechanism.run(np.full(size * keys.coordinates, 200 * keys.most))
        totals = joined_totals(noise.distances.strategy, noise.mechanism, drawn, keys)
        return Noisy(size=size, keys=(pa.array(list(names)),), totals=totals, chosen=())
    totals = {
        noise.measure: NoisyTotal(
            (Run(values=noise.mechanism.run(np.full(size, 900)), mechanism=noise.mechanism),)
        )
        for noise in plan.noises
    }
    counted = keys.noise.run(np.full(size, 500), entropy=source)
    totals["units"] = NoisyTotal((Run(values=counted, mechanism=keys.noise, keys=keys),))
    return Noisy(size=size, keys=(pa.array(list(names)),), totals=totals, chosen=())


def test_three_answers_are_combined_one_after_the_other():
    releases = [
        asked(COUNTS, label=str(epsilon), epsilon=epsilon, delta="1e-9") for epsilon in (1, 2, 3)
    ]
    both = combine(combine(releases[0], releases[1]), releases[2])
    assert len(both.plans) == 3
    count = both.parts[0].totals["count"]
    assert len({run.draw[0] for run in count.runs}) == 3
    once = releases[0].parts[0].totals["count"]
    weights = [sum(run.weight for run in each.runs) for each in (count, once)]
    assert weights[0] == weights[1]


def test_an_answer_is_not_combined_with_itself():
    first = asked(COUNTS, **ONE)
    with pytest.raises(WrongKind, match="same answer"):
        combine(first, first)
    with pytest.raises(WrongKind, match="same answer"):
        combine(first, Release.read(first.written(), first.plan))


def test_entries_of_a_ledger_tell_answers_apart():
    plan = plan_of(COUNTS, **ONE)
    receipts = [Receipt(ledger="1" * 32, seq=seq, head="a" * 64) for seq in (3, 7)]
    first, second = (
        answer(plan, raw_of(plan), entropy=stream(str(receipt.seq))).recorded(receipt)
        for receipt in receipts
    )
    assert len(combine(first, second)) == 4
    with pytest.raises(WrongKind, match="same answer"):
        combine(first, second.recorded(receipts[0]))


def test_plans_tell_beforehand_whether_answers_can_be_combined():
    assert combinable(plan_of(COUNTS, **ONE), plan_of(COUNTS, **TWO))
    assert not combinable(plan_of(COUNTS, **ONE), plan_of(MEDIAN, **ONE))
    first = asked(COUNTS, **ONE).recorded(None, private=False)
    assert not combine(first, asked(COUNTS, **TWO)).private


def test_answers_to_other_questions_are_refused():
    with pytest.raises(WrongKind, match="same question"):
        combine(asked(COUNTS, **ONE), asked(MEDIAN, **ONE))
    mapped = asked(COUNTS, **ONE).map(lambda table: table)
    with pytest.raises(WrongKind, match="mapped"):
        combine(mapped, asked(COUNTS, **TWO))


def test_a_combined_answer_is_written_and_read_with_both_plans():
    first, second = asked(COUNTS, label="first", **ONE), asked(COUNTS, label="second", **TWO)
    both = combine(first, second)
    again = Release.read(both.written(), first.plan, second.plan)
    assert again.rows() == both.rows()
    assert again.written() == both.written()
