"""Bounds that are missing are found for a price, and no unit moves either stage too far."""

import functools
import itertools
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.accounting import Leaf
from discreet.errors import DiscreetError, MissingBounds, WrongKind
from discreet.plan.bounds_search import FoundBounds
from discreet.plan.estimator import REFERENCE
from discreet.plan.plan import Plan
from discreet.plan.pricing.group_sensitivity import Releases
from discreet.plan.pricing.release_composition import composition_of
from discreet.plan.pricing.requested_price import BoundsPrice, estimate
from discreet.planner import plan_second_stage
from discreet.units import person
from tests.plan.clinic import (
    PEOPLE,
    POLICY,
    SCHEMA,
    answers,
    databases,
    moved,
    planned,
    public_rows,
    without,
)
from tests.plan.test_neighbors import check

MEAN = "SELECT AVG(note) AS m FROM visits"
TENTH = estimate(epsilon="0.1")
QUESTIONS = [
    "SELECT AVG(note) AS m, STDDEV(born) AS d, COUNT(*) AS n FROM visits",
    "SELECT ward, SUM(note) AS s, COUNT(note) AS n, MEDIAN(born) AS q FROM visits GROUP BY ward",
    "SELECT city, AVG(note) FILTER (WHERE paid) AS m, SUM(note) AS s FROM visits GROUP BY city",
    "SELECT SUM(v.note * d.dose) AS s FROM visits v JOIN drugs d ON v.patient = d.person",
    "SELECT SUM(n) AS s FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) AS t",
]


@functools.cache
def known(text, relation):
    return planned(
        text, unit=person("patient", relation=relation), epsilon=1, delta=1e-9, bounds=TENTH
    )


def second(plan, data):
    """Plan the answer for some bounds, with the tree of its own releases."""
    found = []
    for target in plan.search.targets:
        places = st.integers(0, target.bins.count - 1)
        first, last = sorted((data.draw(places), data.draw(places)))
        low, high = target.bins.span(first, last)
        found.append(FoundBounds(about=target.about, low=low, high=high, seen=True))
    final, _ = plan_second_stage(plan, found, schema=SCHEMA, policy=POLICY, public_rows=public_rows)
    releases = Releases(
        selection=final.selection,
        chosen_by=final.chosen_by,
        noises=final.noises,
        choices=final.choices,
    )
    return replace(final, tree=composition_of(releases, final.unit))


def check_search(plan, here, there, *, replaced):
    claims = {node.name: node for node in plan.tree.walk() if isinstance(node, Leaf)}
    for noise in plan.search.noises:
        leaf = claims[noise.measure]
        claim = leaf.replaced if replaced else leaf.added
        one, other = (each[1][noise.measure].get((), {}) for each in (here, there))
        change = moved(one, other)
        assert sum(map(abs, change.values())) <= claim == (2 if replaced else 1)
        assert leaf.source == noise.mechanism


@pytest.mark.theorem("bounds-search")
@pytest.mark.theorem("bounded-contribution")
@pytest.mark.parametrize("text", QUESTIONS)
@settings(max_examples=8, deadline=None)
@given(tables=databases(), salt=st.integers(0, 9), data=st.data())
def test_one_unit_added_or_removed(text, tables, salt, data):
    plan = known(text, "add_remove")
    final = second(plan, data)
    for who in PEOPLE:
        less = without(tables, who)
        sides = [answers(plan.search.request, each, salt) for each in (tables, less)]
        check_search(plan, *sides, replaced=False)
        check(
            final, *(answers(final.request, each, salt) for each in (tables, less)), replaced=False
        )


@pytest.mark.theorem("bounds-search")
@pytest.mark.parametrize("text", QUESTIONS)
@settings(max_examples=8, deadline=None)
@given(tables=databases(), salt=st.integers(0, 9), data=st.data())
def test_one_unit_replaced(text, tables, salt, data):
    plan = known(text, "replace")
    final = second(plan, data)
    one, other = without(tables, 1), without(tables, 2)
    check_search(
        plan, *(answers(plan.search.request, each, salt) for each in (one, other)), replaced=True
    )
    check(final, *(answers(final.request, each, salt) for each in (one, other)), replaced=True)


def test_what_lacks_bounds_is_looked_for_once():
    plan = planned(
        "SELECT AVG(note) AS a, SUM(note) AS b, STDDEV(note) AS c, AVG(cost) AS d, "
        "AVG(note) FILTER (WHERE paid) AS e, SUM(born) AS f, COUNT(note) AS g, "
        "SUM(note, contribution_bounds_per_row => (0, 1)) AS h, "
        "AVG(note, contribution_bounds_per_group => (0, 1)) AS i FROM visits",
        epsilon=1,
        bounds=TENTH,
    )
    targets = plan.search.targets
    assert [(each.measure, each.about) for each in targets] == [
        ("bounds", "note"),
        ("bounds_2", "note where paid"),
        ("bounds_3", "born"),
    ]
    assert [float(noise.mechanism.scale) for noise in plan.search.noises] == [30, 30, 30]
    assert plan.search.request.keys == ()


ROW = "contribution_bounds_per_row"
COINCIDING = [
    f"SUM(note) AS a, SUM(note, {ROW} => (512, 1024)) AS b, SUM(cost) AS c",
    f"SUM(note) AS a, SUM(note, {ROW} => (0, {float(REFERENCE[1])})) AS b, SUM(cost) AS c",
    f"STDDEV(note) AS a, STDDEV(note, {ROW} => (512, 1024)) AS b, STDDEV(cost) AS c",
    f"MEDIAN(note) AS a, MEDIAN(note, {ROW} => (512, 1024)) AS b, MEDIAN(cost) AS c",
    "AVG(born) AS a, AVG(CAST(born AS DOUBLE)) AS b, AVG(cost) AS c",
    f"AVG(born) AS a, SUM(note) AS b, AVG(born, {ROW} => (512, 1023)) AS c, SUM(cost) AS d",
]
ENDS = [(512, 1024), (512, 1023), (0, 1), (-8, 8), REFERENCE]


@pytest.mark.theorem("bounds-composition")
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-9}, {"rho": 0.1}])
@pytest.mark.parametrize("what", COINCIDING)
def test_bounds_that_happen_to_be_those_of_others_change_no_measure(what, price):
    """An answer that broke off because of what was found would tell of it, and be drawn again."""
    plan = planned(f"SELECT {what} FROM visits", bounds=TENTH, **price)  # noqa: S608
    names = [each.name for each in plan.request.measures]
    for ends in itertools.product(ENDS, repeat=len(plan.search.targets)):
        found = [
            FoundBounds(about=target.about, low=Fraction(low), high=Fraction(high), seen=True)
            for target, (low, high) in zip(plan.search.targets, ends, strict=True)
        ]
        final, _ = plan_second_stage(
            plan, found, schema=SCHEMA, policy=POLICY, public_rows=public_rows
        )
        assert [each.name for each in final.request.measures] == names


def test_nothing_is_looked_for_where_nothing_is_missing():
    text = "SELECT AVG(cost) AS m, COUNT(*) AS n FROM visits"
    assert planned(text, epsilon=1, bounds=TENTH) == planned(text, epsilon=1)


def test_without_a_price_the_error_names_the_way_out():
    with pytest.raises(MissingBounds) as caught:
        planned(MEAN, epsilon=1)
    assert "bounds=dp.estimate(epsilon=0.1)" in str(caught.value)
    assert "contribution_bounds_per_row => (0, 100)" in str(caught.value)


@pytest.mark.parametrize(
    "price",
    [
        {"error": {"m": 1}, "size": 100, "bounds": TENTH},
        {"epsilon": 1, "bounds": 5},
        {"epsilon": 1, "bounds": (0, 100)},
        {"epsilon": 1, "found_bounds": planned(MEAN, epsilon=1, bounds=TENTH).search.widest * 2},
    ],
)
def test_what_is_refused(price):
    with pytest.raises(WrongKind):
        planned(MEAN, **price)


@pytest.mark.parametrize("price", [{}, {"epsilon": 1, "rho": 1}, {"epsilon": 0}, {"rho": -1}])
def test_prices_of_bounds_that_are_refused(price):
    with pytest.raises(DiscreetError):
        estimate(**price)


def test_the_front_door_has_it():
    assert discreet.estimate(epsilon=0.1) == BoundsPrice(epsilon=Fraction(1, 10))


def test_the_digest_is_about_the_search_too():
    digests = {
        planned(MEAN, epsilon=1, bounds=bounds).digest
        for bounds in (TENTH, estimate(epsilon="0.2"), estimate(rho="0.1"))
    }
    settled_at = planned(
        MEAN, epsilon=1, found_bounds=planned(MEAN, epsilon=1, bounds=TENTH).search.widest
    )
    assert len(digests | {settled_at.digest}) == 4
    assert planned(MEAN, epsilon=1, bounds=TENTH, confidence=0.9).digest in digests


PREDICTED = [
    ("AVG(note)", {}, "w / n"),
    ("AVG(note)", {"size": 1000}, "w with 1000 rows"),
    ("SUM(note)", {}, " b, b the larger"),
    ("VAR_POP(note)", {}, "w**2 / n"),
    ("STDDEV(note)", {}, "a deviation of s"),
    ("VAR_POP(note)", {"size": 1000}, "w**2 with 1000"),
    ("STDDEV(note)", {"size": 1000}, "w with 1000"),
    ("MEDIAN(born)", {}, "ranks"),
    ("SUM(note) + COUNT(*)", {}, "follows from the bounds"),
]


@pytest.mark.parametrize(("what", "more", "words"), PREDICTED)
def test_errors_are_said_in_terms_of_the_bounds(what, more, words):
    text = f"SELECT {what} AS x, COUNT(*) AS n FROM visits"  # noqa: S608
    plan = planned(text, epsilon=1, bounds=TENTH, **more)
    first, second_ = plan.predicted
    assert first.half_width is None
    assert words in first.words
    assert second_.half_width is not None


@pytest.mark.parametrize("what", ["AVG(note)", "SUM(note)", "SUM(born)", "AVG(born)"])
@pytest.mark.parametrize("ends", [(0, 1), (-8, 8), (-4, 64), (2, 4), (0, 2**40)])
def test_they_are_what_they_turn_out_to_be(what, ends):
    text = f"SELECT {what} AS x FROM visits"  # noqa: S608
    plan = planned(text, epsilon=1, size=10**4, bounds=TENTH)
    (target,) = plan.search.targets
    found = FoundBounds(
        about=target.about, low=Fraction(ends[0]), high=Fraction(ends[1]), seen=True
    )
    final, _ = plan_second_stage(
        plan, [found], schema=SCHEMA, policy=POLICY, public_rows=public_rows
    )
    said = float(plan.predicted[0].words.split()[2])
    width = ends[1] - ends[0] if what.startswith("AVG") else max(map(abs, ends))
    rounded = 0.5 if what == "SUM(born)" else 0  # whole numbers are shown as such
    assert float(final.predicted[0].half_width) == pytest.approx(said * width + rounded, rel=0.02)


def test_a_plan_shows_both_stages():
    plan = planned(MEAN, epsilon=1, bounds=TENTH)
    text = plan.details
    assert "finds bounds first" in text
    assert "note: 257 bins; Laplace noise of scale 10" in text
    assert "in proportion to the bounds" in text
    assert "the bounds epsilon 0.1" in text
    assert "the answer epsilon 1" in text
    assert "costs epsilon 1.1" in text
    assert "1048578" not in text
    final, _ = plan_second_stage(
        plan, plan.search.widest, schema=SCHEMA, policy=POLICY, public_rows=public_rows
    )
    assert isinstance(final, Plan)
    assert "no bin stood out from the noise" in final.details
    assert "in proportion" not in final.details
