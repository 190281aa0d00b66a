"""From totals to an answer: what is drawn, what is shown, and what never leaves."""

import gc
import time
import traceback
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.aggregates.noisy_totals import drawn_sums
from discreet.errors import DiscreetError, EngineFailed, EntropyUnavailable, WrongKind
from discreet.mechanisms import NoisyKeys, OptimalKeys, SumKeys
from discreet.noise.entropy import SYSTEM
from discreet.plan.pricing.group_sensitivity import QuantileSpan, trees_of
from discreet.release import answer as answering
from discreet.release.answer import answer
from discreet.release.choices import chosen_leaves, chosen_spans, read_tree
from discreet.release.release import Release
from discreet.requests.raw_totals import RawTotals
from tests.noise.laws import stream
from tests.plan.test_neighbors import QUESTIONS
from tests.release.clinic import asked, plan_of, raw_of

SURE = {"epsilon": 10**12, "delta": "1e-9", "ceiling": False}
COUNTS = "SELECT ward, COUNT(*) AS n, AVG(cost) AS m FROM visits GROUP BY ward"
PRIVATE = "SELECT city, COUNT(age) AS n, MEDIAN(age) AS a FROM visits GROUP BY city"
ROWS = (
    "SELECT city, COUNT(*, contribution_bounds_per_group => (2, 2)) AS n, MEDIAN(age) AS a "
    "FROM visits GROUP BY city"
)
PEOPLE = "SELECT city, COUNT(DISTINCT patient) AS p, SUM(cost) AS s FROM visits GROUP BY city"


def listed(release, name):
    return release[name].to_pylist()


@pytest.mark.theorem("answer-loss")
@pytest.mark.parametrize("sql", [COUNTS, PRIVATE, PEOPLE, ROWS, QUESTIONS[7]])
def test_an_answer_is_one_run_of_each_mechanism_of_the_plan(sql):
    """The same words, drawn by the mechanisms alone, give the same noisy numbers."""
    plan = plan_of(sql, epsilon=4, delta="1e-9")
    raw = raw_of(plan)
    noisy = answer(plan, raw, entropy=stream("one")).parts[0]
    source = stream("one")
    places = _places(plan, raw, noisy, source)
    names = {plan.chosen_by, *(noise.measure for noise in plan.noises)}
    for noise in plan.noises:
        strategy = noise.distances.strategy
        if strategy is not None and isinstance(plan.selection, SumKeys):
            names |= {*strategy.names}
            continue
        if strategy is not None:
            values = noise.mechanism.run(strategy.read(raw, places), entropy=source)
            assert drawn_sums(strategy, noisy.totals).tolist() == values.tolist()
            names |= {*strategy.names}
            continue
        exact = raw.units if noise.measure == "units" else raw.totals[noise.measure]
        values = noise.mechanism.run(exact[places], entropy=source)
        assert noisy.totals[noise.measure].runs[0].values.tolist() == values.tolist()
    read, values = {}, {}
    for tree, choices in trees_of(plan.choices).items():
        sparse = _inside(raw.leaves[tree.measure], places)
        read |= read_tree(tree, choices, sparse, groups=places.size, entropy=source)
    for choice, chosen in zip(plan.choices, noisy.chosen, strict=True):
        leaves = read.get(choice)
        if leaves is None:
            sparse = _inside(raw.leaves[choice.measure], places)
            if isinstance(choice, QuantileSpan):
                leaves = chosen_spans(choice, sparse, near=values[choice.use], entropy=source)
            else:
                leaves = chosen_leaves(choice, sparse, groups=places.size, entropy=source)
                values[choice.use] = leaves
        assert chosen.leaves.tolist() == leaves.tolist()
    assert noisy.totals.keys() <= names
    assert noisy.size == places.size


def _places(plan, raw, noisy, source):
    """Choose the groups that are shown, by the mechanism alone."""
    places = np.arange(raw.units.size)
    match plan.selection:
        case OptimalKeys():
            places = np.flatnonzero(plan.selection.run(raw.units, entropy=source))
        case SumKeys():
            (noise,) = (each for each in plan.noises if each.measure == "parts")
            strategy = noise.distances.strategy
            points = strategy.read(raw, places).reshape(places.size, -1)
            found = plan.selection.run(points, entropy=source)
            places = np.flatnonzero(found.shown)
            drawn = drawn_sums(strategy, noisy.totals)
            assert drawn.tolist() == found.coordinates.ravel().tolist()
        case NoisyKeys():
            name = plan.chosen_by
            exact = raw.units if name == "units" else raw.totals[name]
            found = plan.selection.run(exact, entropy=source)
            places = np.flatnonzero(found.shown)
            assert noisy.totals[name].runs[0].values.tolist() == found.counts.tolist()
    return places


def _inside(sparse, places):
    group, leaf, count = sparse
    kept = np.isin(group, places)
    return np.searchsorted(places, group[kept]), leaf[kept], count[kept]


def test_without_noise_to_speak_of_the_answer_is_the_truth():
    release = asked(COUNTS, **SURE)
    assert listed(release, "ward") == [None, "A", "B", "C"]
    plan = plan_of(COUNTS, **SURE)
    raw = raw_of(plan)
    known = dict(zip(raw.keys[0].to_pylist(), raw.totals["count"].tolist(), strict=True))
    exact = [known[ward] for ward in listed(release, "ward")]
    assert listed(release, "n") == exact
    assert exact[0] == 0
    assert listed(release, "n_low") == listed(release, "n_high") == exact


def test_public_groups_are_all_shown_and_private_ones_are_chosen():
    assert len(asked(COUNTS, epsilon=1, delta="1e-9")) == 4
    cities = listed(asked(PRIVATE, **SURE), "city")
    assert cities == ["x", "y"]  # the one of a single person is not shown
    assert listed(asked(PEOPLE, **SURE), "city") == ["x", "y"]


ORDERED = (
    "SELECT ward, COUNT(*) AS n, ROUND(100 * AVG(cost)) AS m, ward || '!' AS w FROM visits "
    "GROUP BY ward HAVING COUNT(*) > 5 ORDER BY n DESC, ward LIMIT 2"
)


def test_having_order_and_limit_look_at_released_numbers():
    release = asked(ORDERED, epsilon=1, delta="1e-9")
    everything = asked(COUNTS, epsilon=1, delta="1e-9", label="asked")
    assert len(release) == 2
    noisy = dict(zip(listed(everything, "ward"), listed(everything, "n"), strict=True))
    kept = sorted(
        (ward for ward, n in noisy.items() if n > 5), key=lambda ward: (-noisy[ward], ward)
    )
    assert listed(release, "ward") == kept[:2]
    assert listed(release, "n") == [noisy[ward] for ward in kept[:2]]
    assert listed(release, "w") == [f"{ward}!" for ward in kept[:2]]
    assert release.names == ("ward", "n", "m", "w")
    assert "w_low" not in release.to_arrow().column_names
    assert release.to_arrow().schema.field("m_low").type == pa.float64()


def test_a_condition_is_about_groups_wherever_they_are_in_the_order():
    sql = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 9 ORDER BY n"
    release = asked(sql, **SURE)
    counts = listed(release, "n")
    assert counts == sorted(counts)
    assert set(listed(release, "ward")) == {"A", "B", "C"}  # nobody has no ward


def test_a_condition_that_no_group_meets_gives_an_empty_answer():
    sql = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 100000"
    release = asked(sql, epsilon=1, delta="1e-9")
    assert len(release) == 0
    assert release.to_arrow().column_names == ["ward", "n", "n_low", "n_high"]
    assert str(release)
    assert release._repr_html_()


def test_nobody_at_all_is_answered_like_everybody():
    empty = {"visits": [], "drugs": [], "bills": [], "wards": []}
    for sql in QUESTIONS:
        plan = plan_of(sql, epsilon=1, delta="1e-9")
        release = answer(plan, raw_of(plan, empty))
        public = plan.request.public
        expected = 1 if not plan.request.keys else 0 if public is None else len(public)
        assert len(release) == expected


@pytest.mark.parametrize("at", range(len(QUESTIONS)))
def test_every_question_of_the_planner_is_answered(at):
    release = asked(QUESTIONS[at], **({"epsilon": 2} if at % 2 else {"rho": "1/2"}), delta="1e-9")
    assert release.names == tuple(name for name, _ in release.plan.question.outputs)
    for column in release.columns:
        if column.low is None or column.listed:
            continue
        for low, high in zip(column.low.to_pylist(), column.high.to_pylist(), strict=True):
            assert (low is None) == (high is None)
            assert low is None or low <= high


# --- what must not happen -----------------------------------------------------------------------

CANARY = 7_340_034_521


class Failing:
    """Entropy that fails after some words, when totals are on the stack."""

    def __init__(self, good):
        self.good = good

    def words(self, count, width):
        self.good -= 1
        if self.good < 0:
            raise EntropyUnavailable(what="no bits.", why="none.", do="wait.")
        return SYSTEM.words(count, width)

    def bits(self, width):
        self.good -= 1
        if self.good < 0:
            message = f"canary {CANARY}"
            raise RuntimeError(message)
        return SYSTEM.bits(width)


def marked(raw):
    """Put a canary into every number of the totals."""
    return RawTotals(
        keys=raw.keys,
        units=np.full_like(raw.units, CANARY),
        totals={name: np.full_like(values, CANARY) for name, values in raw.totals.items()},
        leaves={
            name: (group, leaf, np.full_like(count, CANARY))
            for name, (group, leaf, count) in raw.leaves.items()
        },
    )


def seen_in(error):
    """Return what a debugger would show of the frames of an error, other than this test's own."""
    shown, trace = [str(error)], error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals["__name__"] != __name__:
            shown += [repr(value) for value in trace.tb_frame.f_locals.values()]
        trace = trace.tb_next
    return "\n".join(shown)


@pytest.mark.parametrize("sql", [COUNTS, PRIVATE, PEOPLE])
@pytest.mark.parametrize("good", [0, 1])
def test_an_error_leads_to_no_total(sql, good):
    plan = plan_of(sql, epsilon=4, delta="1e-9")
    raw = marked(raw_of(plan))
    with pytest.raises(DiscreetError) as caught:
        answer(plan, raw, entropy=Failing(good))
    error = caught.value
    assert error.__context__ is None
    assert error.__cause__ is None
    frames = traceback.extract_tb(error.__traceback__)
    assert [frame.name for frame in frames][1:] == ["answer"]
    assert str(CANARY) not in seen_in(error)
    assert "RawTotals(hidden)" not in seen_in(error)


def test_a_mutant_that_lets_errors_through_is_noticed(monkeypatch):
    plan = plan_of("SELECT COUNT(*) AS n FROM visits", epsilon=4, delta="1e-9")
    raw = marked(raw_of(plan))
    with pytest.raises(EntropyUnavailable) as caught:
        answering.noised(plan, raw, entropy=Failing(0))
    assert str(CANARY) in seen_in(caught.value)


def test_a_release_holds_no_reference_to_totals():
    plan = plan_of(PEOPLE, epsilon=4, delta="1e-9")
    raw = raw_of(plan)
    watched = [raw.units, *raw.totals.values()]
    release = answer(plan, raw)
    reached, waiting = {id(release)}, [release]
    while waiting:
        for referent in gc.get_referents(waiting.pop()):
            if id(referent) not in reached and not isinstance(referent, type | type(gc)):
                reached.add(id(referent))
                waiting.append(referent)
    assert not {id(array) for array in watched} & reached
    for array in watched:
        for total in release.parts[0].totals.values():
            assert not any(np.shares_memory(run.values, array) for run in total.runs)


def test_no_canary_is_in_anything_that_a_release_shows():
    """The noise of this stream is not zero, and brings no end of an interval back to the totals."""
    plan = plan_of(COUNTS, epsilon=1, delta="1e-9")
    release = answer(plan, marked(raw_of(plan)), entropy=stream("another canary"))
    shown = [repr(release), str(release), release._repr_html_(), release.written().decode()]
    assert str(CANARY) not in "\n".join(shown)


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: replace(raw, units=raw.units[1:]),
        lambda raw: replace(raw, units=raw.units.astype(float)),
        lambda raw: replace(raw, totals={name: v[1:] for name, v in raw.totals.items()}),
        lambda raw: replace(raw, totals={}),
        lambda raw: replace(raw, keys=()),
        lambda raw: replace(raw, keys=tuple(key[1:] for key in raw.keys)),
    ],
)
def test_totals_of_another_shape_fail_without_a_word(change):
    plan = plan_of(COUNTS, epsilon=1, delta="1e-9")
    with pytest.raises(EngineFailed) as caught:
        answer(plan, change(marked(raw_of(plan))))
    assert str(CANARY) not in seen_in(caught.value)


def test_rows_of_hidden_groups_count_nowhere():
    """Hidden groups have a million rows each in leaf 0, those that are shown a few in leaf 5."""
    choice = plan_of(PRIVATE, **SURE).choices[0]
    group, places = np.arange(6), np.array([1, 2, 4])
    shown = np.isin(group, places)
    sparse = group, np.where(shown, 5, 0), np.where(shown, 3, 10**6)
    found = answering._leaves(choice, sparse, places, None, stream("hidden"))
    assert found.tolist() == [5, 5, 5]


def test_a_plan_that_would_show_private_keys_is_refused():
    plan = plan_of(PRIVATE, epsilon=1, delta="1e-9")
    with pytest.raises(WrongKind):
        answer(replace(plan, selection=None), raw_of(plan))


@pytest.mark.parametrize("missing", ["noises", "choices"])
def test_a_plan_without_noise_for_a_total_is_refused(missing):
    plan = plan_of(PRIVATE, epsilon=1, delta="1e-9")
    with pytest.raises(WrongKind):
        answer(replace(plan, **{missing: ()}), raw_of(plan))


@pytest.mark.theorem("threshold-keys")
def test_keys_are_not_chosen_by_a_count_that_moves_further_than_was_priced():
    plan = plan_of(ROWS, epsilon=1, delta="1e-9")
    assert (plan.chosen_by, plan.selection.most) == ("count", 2)
    for changes in (
        {"selection": replace(plan.selection, most=1)},
        {"chosen_by": "age"},
    ):
        with pytest.raises(WrongKind):
            answer(replace(plan, **changes), raw_of(plan))


def test_the_shape_of_an_answer_is_that_of_the_selection():
    """Whatever the totals are, groups come in the order of their keys, and none is left out."""
    plan = plan_of(COUNTS, epsilon=1, delta="1e-9")
    raw = raw_of(plan)
    for units in (0, 1, 10**12):
        other = replace(
            raw,
            units=np.full_like(raw.units, units),
            totals={name: np.full_like(values, units) for name, values in raw.totals.items()},
        )
        assert listed(answer(plan, other), "ward") == [None, "A", "B", "C"]


@pytest.mark.parametrize("at", range(len(QUESTIONS)))
def test_no_totals_whatsoever_make_it_fail(at):
    plan = plan_of(QUESTIONS[at], epsilon=2, delta="1e-9")
    raw = raw_of(plan)
    source = np.random.default_rng(at)
    ends = [2**62, -(2**62), 0, 1, -1, 7, 2**53 + 1]
    for _ in range(5):
        other = replace(
            raw,
            units=source.choice([0, 1, 50, 2**62], raw.units.size),
            totals={name: source.choice(ends, len(v)) for name, v in raw.totals.items()},
            leaves={
                name: (group, leaf, source.choice([1, 9, 2**61], group.size))
                for name, (group, leaf, _) in raw.leaves.items()
            },
        )
        release = answer(plan, other, entropy=stream("ends"))
        assert Release.read(release.written(), plan).rows() == release.rows()
        assert str(release)


def test_many_groups_take_about_a_second_for_a_million():
    groups = 200_000
    plan = plan_of(
        "SELECT city, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY city",
        epsilon=1,
        delta="1e-9",
    )
    keys = pa.array([f"{number:07d}" for number in range(groups)])
    values = {measure.name: np.full(groups, 10**6) for measure in plan.request.measures}
    raw = RawTotals(keys=(keys,), units=np.full(groups, 1000), totals=values, leaves={})
    started = time.process_time()
    release = answer(plan, raw)
    assert len(release) == groups
    assert time.process_time() - started < 5
    assert release.confidence == Fraction(19, 20)
