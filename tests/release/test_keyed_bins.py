"""Keyed bins: the same answer however often a bin is finished, and the noise of the plan."""

import pickle
import traceback
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import EngineFailed, WrongKind
from discreet.mechanisms import Laplace
from discreet.noise import SYSTEM, DiscreteLaplace, KeyedEntropy
from discreet.release import noised
from discreet.release.answer import KeyedBins, answer
from discreet.release.release import Release
from discreet.requests.raw_totals import RawTotals
from tests.noise.laws import ALPHA, cells_of, count_cells, p_value, stream
from tests.release.clinic import plan_of

COUNT = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
PEOPLE = "SELECT city, COUNT(DISTINCT patient) AS p, SUM(cost) AS s FROM visits GROUP BY city"
MEANS = "SELECT city, sex, AVG(cost) AS m, VAR_SAMP(cost) AS v FROM visits GROUP BY city, sex"
PRICE = {"epsilon": 1, "delta": "1e-9"}
LARGE = 10**6


def raw_with(plan, names, units=LARGE):
    """Return groups of so many units, each of which adds one to every total."""
    size = len(names)
    exact = np.full(size, units)
    keys = (pa.array(names), *(pa.array(["f"] * size) for _ in plan.request.keys[1:]))
    totals = {measure.name: exact for measure in plan.request.measures}
    return RawTotals(keys=keys, units=exact, totals=totals, leaves={})


def names_of(count, start="c"):
    return [f"{start}{number:06}" for number in range(count)]


@pytest.mark.theorem("keyed-bins")
@pytest.mark.parametrize("sql", [COUNT, PEOPLE, MEANS])
def test_a_bin_is_finished_by_the_mechanisms_with_the_words_of_its_stream(sql):
    plan = plan_of(sql, **PRICE)
    finish = KeyedBins(plan=plan, key=bytes(32), bins=16)
    raw = raw_with(plan, names_of(40))
    for number in (0, 7):
        entropy = KeyedEntropy(key=bytes(32), label=f"bin {number} of 16")
        noisy = noised(plan, raw, entropy=entropy)
        again = answer(plan, raw, entropy=KeyedEntropy(key=bytes(32), label=f"bin {number} of 16"))
        for name, total in noisy.totals.items():
            found = again.parts[0].totals[name]
            assert found.runs[0].values.tolist() == total.runs[0].values.tolist()
        assert finish(raw, number).equals(again.to_arrow())


@pytest.mark.theorem("keyed-bins")
def test_a_bin_that_is_finished_again_elsewhere_is_the_same():
    plan = plan_of(PEOPLE, **PRICE)
    finish = KeyedBins.fresh(plan)
    raw = raw_with(plan, names_of(50), units=3000)
    sent = pickle.loads(pickle.dumps(finish))  # noqa: S301  (what a task gets)
    assert sent(raw, 3).equals(finish(raw, 3))
    assert not finish(raw, 3).equals(finish(raw, 4))


def noise_in_bins(finish, plan, bins, size=500):
    """Return the noise of a count in every bin, on groups that are sure to be shown."""
    raw = raw_with(plan, names_of(size))
    return [finish(raw, number).column("n").to_numpy() - LARGE for number in range(bins)]


def scaled(plan, factor):
    """Return a plan with wider or narrower noise than it claims."""
    noises = [
        replace(noise, mechanism=Laplace(scale=noise.mechanism.scale * factor))
        for noise in plan.noises
    ]
    return replace(plan, noises=tuple(noises))


def check_noise(noises, law):
    """Compare all noise with its law, and no two bins may share theirs."""
    edges = cells_of(law, 20)
    assert p_value(count_cells(np.concatenate(noises), edges), law, edges) > ALPHA
    assert len({tuple(noise.tolist()) for noise in noises}) == len(noises)


@pytest.mark.theorem("keyed-bins")
def test_noise_of_all_bins_has_the_law_of_the_plan_and_mutants_do_not():
    plan = plan_of(COUNT, **PRICE)
    law = DiscreteLaplace(scale=plan.noises[0].mechanism.scale)
    finish = KeyedBins.fresh(plan, entropy=stream("keyed bins"))
    check_noise(noise_in_bins(finish, plan, 12), law)
    less, more = (scaled(plan, Fraction(1, 2)), scaled(plan, Fraction(2)))
    for mutant in (less, more):
        with pytest.raises(AssertionError):
            check_noise(noise_in_bins(replace(finish, plan=mutant), plan, 12), law)
    with pytest.raises(AssertionError):  # one stream for all bins
        check_noise([noise_in_bins(finish, plan, 1)[0]] * 12, law)


def test_each_release_has_a_key_of_its_own_and_shows_none():
    plan = plan_of(COUNT, **PRICE)
    one, two = KeyedBins.fresh(plan), KeyedBins.fresh(plan)
    assert one.key != two.key
    assert len(one.key) == 32
    assert repr(one) == str(one) == "KeyedBins(hidden)"
    raw = raw_with(plan, names_of(200))
    difference = one(raw, 0).column("n").to_numpy() - two(raw, 0).column("n").to_numpy()
    assert difference.any()


def test_public_groups_are_not_finished_in_bins():
    for sql in (COUNT.replace("city", "ward"), "SELECT COUNT(*) AS n FROM visits"):
        with pytest.raises(WrongKind):
            KeyedBins.fresh(plan_of(sql, **PRICE))


def test_mutants_of_the_key_are_noticed():
    """A key that is used for two tables gives their exact difference; bits of a task, no repeat."""
    plan = plan_of(COUNT, **PRICE)
    before, after = raw_with(plan, names_of(200)), raw_with(plan, names_of(200), units=LARGE + 1)

    def leaks(first, second):
        moved = second(after, 0).column("n").to_numpy() - first(before, 0).column("n").to_numpy()
        return set(moved.tolist()) == {1}

    assert leaks(*[KeyedBins(plan=plan, key=bytes(32), bins=4)] * 2)
    assert not leaks(KeyedBins.fresh(plan), KeyedBins.fresh(plan))

    def repeats(finish):
        return finish(before, 0).equals(finish(before, 0))

    assert repeats(KeyedBins.fresh(plan))
    assert not repeats(lambda raw, at: answer(plan, raw, entropy=SYSTEM).to_arrow())


def test_small_groups_are_hidden():
    for sql in (COUNT, PEOPLE):
        plan = plan_of(sql, **PRICE)
        finish = KeyedBins.fresh(plan)
        assert finish(raw_with(plan, names_of(300), units=1), 0).num_rows == 0
        assert finish(raw_with(plan, names_of(300)), 0).num_rows == 300


def test_intervals_do_not_depend_on_how_many_groups_there_are():
    for sql in (COUNT, PEOPLE, MEANS):
        plan = plan_of(sql, **PRICE)
        raw = raw_with(plan, names_of(300), units=100_000)
        noisy = noised(plan, raw, entropy=stream("intervals"))
        whole = Release.of(plan, (noisy,)).to_arrow()
        parts = [
            Release.of(plan, (noisy.taken(np.arange(start, start + 100)),)).to_arrow()
            for start in (0, 100, 200)
        ]
        assert whole.equals(pa.concat_tables(parts).combine_chunks())


def test_totals_that_do_not_fit_say_nothing():
    plan = plan_of(COUNT, **PRICE)
    raw = raw_with(plan, names_of(3), units=918273645)
    broken = replace(raw, totals={name: total[:2] for name, total in raw.totals.items()})
    with pytest.raises(EngineFailed) as caught:
        KeyedBins.fresh(plan)(broken, 0)
    assert "918273645" not in "".join(traceback.format_exception(caught.value))
