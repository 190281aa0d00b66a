"""What attacks on sessions must see: a part of the library with the fault that each looks for."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.engines.sql.contribution_bounding import ContributionBounding
from discreet.ledger import charge as charges
from discreet.noise import DiscreteLaplace, KeyedEntropy
from discreet.plan import steps
from discreet.plan.binding import joins
from discreet.plan.pricing.group_sensitivity import GroupSensitivity
from discreet.session import opening
from discreet.session.answer_pipeline import AnswerPipeline
from discreet_audit.implementation.sessions import (
    beyond_limits,
    charge_first,
    drifting_tables,
    one_digest,
    refused_joins,
    repeated_noise,
    replaced_people,
    scopes,
    sub_accounts,
)

LAW = DiscreteLaplace(scale=8)
LEVEL = Fraction(1, 10**6)


def drawn(label, law=LAW, n=400):
    return law.sample(n, KeyedEntropy(key=bytes(32), label=label)).tolist()


def seen(one, other):
    found = repeated_noise.agreements(one, other, LAW)
    return {each.what for each in found if repeated_noise.unlikely(each, len(one)) < LEVEL}


def test_independent_noises_agree_as_chance_has_it():
    for number in range(6):
        assert seen(drawn(f"a {number}"), drawn(f"b {number}")) == set()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda z: z, "equal"),
        (lambda z: -z, "of one sign"),
        (lambda z: z + np.sign(z), "of one sign"),
        (lambda z: np.where(np.arange(z.size) % 2 == 0, z, 0), "equal"),
        (lambda z: np.abs(z) * (-1) ** np.arange(z.size), "of one size"),
    ],
    ids=["the same", "its opposite", "nearly the same", "half of it", "its size"],
)
def test_noise_that_follows_from_other_noise_is_seen(change, what):
    one = np.array(drawn("one"))
    assert what in seen(one.tolist(), change(one).tolist())


def keep_one_more(self, cells, *, rank):
    more = replace(self.request, groups=self.request.groups + 1)
    return KEEP(replace(self, request=more), cells, rank=rank)


KEEP = ContributionBounding.keep_groups


def test_a_group_too_many_is_seen(monkeypatch):
    monkeypatch.setattr(ContributionBounding, "keep_groups", keep_one_more)
    some = [visitor for visitor in beyond_limits.visitors() if visitor.limit == "groups"]
    monkeypatch.setattr(beyond_limits, "visitors", lambda: some[:1])
    monkeypatch.setattr(beyond_limits, "QUESTIONS", {"groups": beyond_limits.QUESTIONS["groups"]})
    finding = beyond_limits.attack(quick=True)
    assert not finding.passed
    assert "groups: " in finding.measured


def test_visitors_exceed_every_limit_by_one_and_by_many():
    sizes = {}
    for visitor in beyond_limits.visitors():
        sizes.setdefault(visitor.limit, set()).add(str(visitor.visits) + str(visitor.bills))
    assert set(sizes) == set(beyond_limits.QUESTIONS)
    assert all(len(different) >= 2 for different in sizes.values())


def test_data_that_is_read_unpaid_is_seen(monkeypatch):
    honest = AnswerPipeline.run_steps

    def reading_first(self, plan, question, draw):
        written = draw()
        return honest(self, plan, question, lambda: written)

    monkeypatch.setattr(AnswerPipeline, "run_steps", reading_first)
    finding = charge_first.attack(quick=True)
    assert not finding.passed
    assert "read unpaid" in finding.measured


def test_a_root_that_is_not_debited_is_seen(monkeypatch):
    limited = {path: sub_accounts._ACCOUNTS[path] for path in ("data/ana", "data/small")}
    monkeypatch.setattr(sub_accounts, "_ACCOUNTS", limited)
    state = "discreet.ledger.state.path_and_ancestors"
    for place in (f"{charges.__name__}.path_and_ancestors", state):
        monkeypatch.setattr(place, lambda path: (path,))
    finding = sub_accounts.attack(quick=True)
    assert not finding.passed
    assert "debited" in finding.measured


def test_two_questions_with_one_digest_are_seen(monkeypatch):
    honest = steps.plan_digest
    monkeypatch.setattr(
        steps,
        "plan_digest",
        lambda question, **parts: (
            honest(question, **{**parts, "request": replace(parts["request"], groups=1)})
            if parts["request"].unit
            else honest(question, **parts)
        ),
    )
    monkeypatch.setattr("discreet.plan.plan.encode", lambda tree: None)
    finding = one_digest.attack(quick=True)
    assert not finding.passed
    assert "one digest" in finding.measured


def test_people_who_are_replaced_for_the_price_of_one_are_seen(monkeypatch):
    monkeypatch.setattr(GroupSensitivity, "replaced", GroupSensitivity.added)
    some = list(replaced_people._pairs())[:2]
    monkeypatch.setattr(replaced_people, "_pairs", lambda: some)
    monkeypatch.setattr(replaced_people, "_PRICES", replaced_people._PRICES[:1])
    finding = replaced_people.attack(quick=True)
    assert not finding.passed


def test_a_join_that_mixes_people_is_seen(monkeypatch):
    monkeypatch.setattr(joins, "within_units", lambda left, right, on: on)
    finding = refused_joins.attack(quick=True)
    assert not finding.passed
    assert "answered" in finding.measured or "late" in finding.measured


@pytest.mark.parametrize("check", ["check_stays_private", "record_schema"])
def test_a_table_that_contradicts_the_record_is_seen(check, monkeypatch):
    monkeypatch.setattr(opening, check, lambda *_: None)
    finding = drifting_tables.attack(quick=True)
    assert not finding.passed
    assert ": opened" in finding.measured


def test_somebody_who_counts_and_does_not_pay_is_seen(monkeypatch):
    """A box by a column in which the rows of a person differ is charged to a part."""
    wrong = scopes._POLICY.replace(
        'categories = ["A", "B"]', 'categories = ["A", "B"], constant = true'
    )
    monkeypatch.setattr(scopes, "_POLICY", wrong)
    finding = scopes.attack(quick=True)
    assert not finding.passed
    assert "charged to a part" in finding.measured
