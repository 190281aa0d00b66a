"""Are there two questions with one digest, so that one is answered for the price of the other?

Questions are changed in one place at a time: a constant, a column, an aggregate, a condition, a
group, a limit, a bound, a price, the unit, its relation and the policy.  All changes must have
digests of their own.  And questions that differ are asked under one ledger: each is charged for
itself, and none is handed out the answer of another.
"""

from collections import defaultdict
from typing import Any, NamedTuple

from discreet.accounting import Budget
from discreet.session import open as opened
from discreet.units import person
from tests.audit.clinic import POLICY, clinic, visits

_BASE = "SELECT ward, SUM(cost) AS s FROM visits WHERE age > 40 GROUP BY ward"
_OPTIONS = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({}) ward, SUM(cost) AS s FROM visits "
_OWN = "SELECT 1 FROM visits AS w WHERE w.patient = visits.patient AND w.age > 40"
_REST = "WHERE age > 40 GROUP BY ward"


class Variant(NamedTuple):
    """A question, its price, and what it is opened with."""

    sql: str
    price: tuple[tuple[str, Any], ...] = (("epsilon", "0.25"),)
    options: tuple[tuple[str, Any], ...] = ()


def variants():
    """Return questions of which no two ask for the same.

    >>> len(set(variants())) == len(variants())
    True
    """
    texts = [
        _BASE,
        _BASE.replace("40", "41"),
        _BASE.replace("age > 40", "age >= 40"),
        _BASE.replace("age > 40", "cost > 40"),
        _BASE.replace("age > 40", "age > 40 AND cost > 1"),
        _BASE.replace("age > 40", "age > 40 OR cost > 1"),
        _BASE.replace("age > 40", "NOT age > 40"),
        _BASE.replace("WHERE age > 40 ", ""),
        _BASE.replace("SUM(cost)", "SUM(age)"),
        _BASE.replace("SUM(cost)", "AVG(cost)"),
        _BASE.replace("SUM(cost)", "COUNT(cost)"),
        _BASE.replace("SUM(cost)", "COUNT(*)"),
        _BASE.replace("SUM(cost)", "SUM(cost, contribution_bounds_per_row => (0, 99))"),
        _BASE.replace("SUM(cost)", "SUM(cost, contribution_bounds_per_row => (-1, 100))"),
        _BASE.replace("SUM(cost)", "SUM(cost, contribution_bounds_per_group => (0, 100))"),
        _BASE.replace("ward", "city"),
        _BASE.replace(" GROUP BY ward", "").replace("ward, ", ""),
        _BASE.replace("age > 40", f"EXISTS ({_OWN})"),
        _BASE.replace("age > 40", f"NOT EXISTS ({_OWN})"),
        _BASE.replace("WHERE", "WHERE ward = 'A' AND"),
        _BASE.replace("WHERE", "WHERE ward = 'B' AND"),
        _OPTIONS.format("max_groups_contributed = 1") + _REST,
        _OPTIONS.format("max_rows_per_group = 1") + _REST,
        _OPTIONS.format("max_rows_per_group = 2") + _REST,
    ]
    delta = {"city"}
    listed = [
        Variant(text, (("epsilon", "0.25"), ("delta", "1e-6")))
        if any(word in text for word in delta)
        else Variant(text)
        for text in texts
    ]
    listed += [
        Variant(_BASE, (("epsilon", "0.26"),)),
        Variant(_BASE, (("rho", "0.25"),)),
        Variant(_BASE, options=(("policy", POLICY.replace("max_rows = 3", "max_rows = 4")),)),
        Variant(_BASE, options=(("policy", POLICY.replace("max_groups = 2", "max_groups = 1")),)),
        Variant(_BASE, options=(("policy", POLICY.replace("high = 100}", "high = 101}")),)),
        Variant(_BASE, options=(("policy", POLICY.replace('"A", "B", "C"', '"A", "B"')),)),
        Variant(_BASE, options=(("unit", person("patient", relation="replace")),)),
        Variant(_BASE, options=(("policy", POLICY.replace('unit = "patient"', 'unit = "row"')),)),
    ]
    return listed


def test_different_questions_have_different_digests(found, quick):
    """Different questions have different digests, and each is charged for itself."""
    by_digest = defaultdict(list)
    listed = variants()
    for number, variant in enumerate(listed):
        by_digest[digest_of(variant)].append(number)
    wrong = [f"one digest: {numbers}" for numbers in by_digest.values() if len(numbers) > 1]
    asked = [variant for variant in listed if not variant.options][:: 3 if quick else 1]
    wrong += _charged_each(asked)
    found.attack(
        f"{len(listed)} questions, {len(asked)} asked",
        wrong,
        not_covered="questions that differ in other places",
    )


def digest_of(variant):
    """Plan a question, and return its digest."""
    options = {"policy": POLICY, **dict(variant.options)}
    if "unit" in options:
        options["policy"] = POLICY.replace('unit = "patient"\n', "")
    with opened({"visits": visits(3)}, test_mode=True, **options) as session:
        return session.plan(variant.sql, **dict(variant.price)).digest


def _charged_each(asked):
    wrong = []
    budget = Budget(epsilon=100, delta="1e-3")
    with clinic(visits(), budget=budget) as session:
        for number, variant in enumerate(asked, start=1):
            release = session.ask(variant.sql, **dict(variant.price))
            kinds = [entry["kind"] for entry in session.ledger.entries()]
            wrong += [f"{variant.sql}: answered from the record"] * release.replayed
            wrong += [f"{variant.sql}: not charged"] * (kinds.count("charge") != number)
    return wrong
