"""Forms, clients and plans: one document for both sides, and clear errors for everything else."""

import itertools
import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.attacks import ReplayEntropy
from discreet.errors import DiscreetError, EntropyExhausted, NotExact, OutOfRange, WrongKind
from discreet.local import (
    Collector,
    Direct,
    Domain,
    Form,
    Hadamard,
    Hashing,
    Subset,
    Unary,
    plan,
    randomizer_of,
)

ILLNESS = Domain(["flu", "cold", "none"])
FORMS = [
    Form(Domain(range(9)), randomizer)
    for randomizer in (
        Direct(epsilon=1, values=9),
        Unary(epsilon="0.5", values=9),
        Unary(epsilon=1, values=9, coding="symmetric"),
        Subset(epsilon=1, values=9),
        Hadamard(epsilon=2, values=9),
        Hashing(epsilon=1, values=9),
    )
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.randomizer.name)
def test_a_form_is_read_as_it_was_written(form):
    back = Form.deserialize(form.serialize())
    assert back == form
    assert (back.digest, back.why) == (form.digest, form.why)
    assert randomizer_of(form.document()["randomizer"]) == form.randomizer
    assert form.loss().epsilon(delta=0) <= float(form.randomizer.epsilon) * (1 + 1e-9)


def test_the_digest_is_what_it_was():
    """Reports of devices in use carry it: it must not change with the code."""
    assert Form(ILLNESS, Direct(epsilon=1, values=3)).digest == "67a6718c43eff17e"


STORED = {
    "kind": "discreet local form",
    "format": 1,
    "domain": {"categories": ["flu", "cold", "none"], "other": None},
    "randomizer": {"name": "direct", "epsilon": "1", "values": 3},
    "why": "a reason",
}
REPORTS = bytes.fromhex("646c0167a6718c43eff17e00" + "64620167a6718c43eff17e0400000089")


def test_stored_forms_and_reports_are_read():
    form = Form.deserialize(json.dumps(STORED))
    assert json.loads(form.serialize()) == STORED
    collector = Collector(form)
    collector.add_many(REPORTS)
    assert collector.reports == 5


def test_the_digest_is_of_what_decides_and_nothing_else():
    form = Form(ILLNESS, Direct(epsilon=1, values=3), "a reason")
    assert Form(ILLNESS, Direct(epsilon=1, values=3), "another").digest == form.digest
    others = [
        Form(ILLNESS, Direct(epsilon="1.0001", values=3)),
        Form(ILLNESS, Subset(epsilon=1, values=3, size=1)),
        Form(Domain(["cold", "flu", "none"]), Direct(epsilon=1, values=3)),
        Form(Domain(["flu", "cold"], other="none"), Direct(epsilon=1, values=3)),
    ]
    assert len({other.digest for other in others} | {form.digest}) == 5


def test_print_says_what_and_why():
    text = str(Form.of(Domain(range(128)), epsilon=1))
    assert "Subset(epsilon=1, values=128, size=34)" in text
    assert "least variance" in text
    assert "0, 1, 2, 3, 4, 5 and 122 more" in text
    assert "27 bytes: 11 of header and 16 of payload" in text


def test_a_small_wire_chooses_another_randomizer():
    assert Form.of(Domain(range(128)), epsilon=1, wire=2).randomizer.name == "hadamard"
    assert Form.of(Domain(range(128)), epsilon=1).shuffled(people=1000).people == 1000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        "{",
        "[" * 100_000,
        '{"kind": "discreet local form"}',
        b"\xff\xfe",
        17,
        None,
    ],
    ids=lambda text: repr(text)[:20],
)
def test_what_is_no_form_is_refused(text):
    with pytest.raises(WrongKind, match="cannot be read"):
        Form.deserialize(text)


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"format": True},
        {"format": "1"},
        {"kind": "else"},
        {"why": None},
        {"more": 1},
        {"domain": {"categories": ["a"], "other": None}},
        {"domain": {"categories": "abc", "other": None}},
        {"randomizer": {"name": "direct", "epsilon": 1, "values": 3}},
        {"randomizer": {"name": "direct", "epsilon": "1", "values": 4}},
        {"randomizer": {"name": "direct", "epsilon": "0", "values": 3}},
        {"randomizer": {"name": "direct", "epsilon": "-1", "values": 3}},
        {"randomizer": {"name": "direct", "epsilon": "nan", "values": 3}},
        {"randomizer": {"name": "direct", "epsilon": "1", "values": 3, "size": 1}},
        {"randomizer": {"name": "open", "epsilon": "1", "values": 3}},
    ],
    ids=json.dumps,
)
def test_changed_documents_are_refused(change):
    document = {**Form.of(ILLNESS, epsilon=1).document(), **change}
    with pytest.raises(DiscreetError):
        Form.deserialize(json.dumps(document))


@pytest.mark.parametrize("epsilon", [0, -1, "x", "", None, float("nan"), 101, "1e9", True, [1]])
def test_losses_that_are_none(epsilon):
    with pytest.raises((OutOfRange, WrongKind, NotExact)):
        Form.of(ILLNESS, epsilon=epsilon)


@pytest.mark.parametrize("names", [[], ["one"], ["a", "a"], [1.5, 2], None, [None, "a"]])
def test_domains_that_are_none(names):
    with pytest.raises(WrongKind):
        Domain(names)


def test_the_parts_must_fit():
    for parts in (
        (ILLNESS, Direct(epsilon=1, values=4)),
        (["a", "b"], Direct(epsilon=1, values=2)),
    ):
        with pytest.raises(WrongKind):
            Form(*parts)
    with pytest.raises(WrongKind):
        Form(ILLNESS, "direct")
    with pytest.raises(WrongKind):
        Form.of(["a", "b"], epsilon=1)


# --- clients --------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["measles", 0, None, 1.5, b"flu", ["flu"], np.nan, True])
def test_a_value_outside_is_refused_unquoted_before_a_bit_is_drawn(value):
    client = Form.of(ILLNESS, epsilon=1).client()
    for make in (
        client.report,
        lambda value, entropy: client.batch(["flu", value], entropy=entropy),
    ):
        with pytest.raises(OutOfRange) as caught:
            make(value, entropy=ReplayEntropy([]))
        assert "measles" not in str(caught.value)


def test_a_value_outside_may_be_declared():
    form = Form.of(Domain(["flu", "cold"], other="something else"), epsilon=1)
    assert len(form.client().report("measles")) == form.layout.report_bytes


@pytest.mark.parametrize("value", ["flu", "cold", "none"])
def test_reports_follow_the_law_of_the_randomizer(value):
    """By all first words: where a lie would go, and a byte of the coin."""
    form, mass, left = Form.of(ILLNESS, epsilon=1), Counter(), Fraction(0)
    for words in itertools.product(range(2), range(256)):
        try:
            mass[form.client().report(value, entropy=ReplayEntropy(words))] += Fraction(1, 512)
        except EntropyExhausted:
            left += Fraction(1, 512)
    assert left == Fraction(1, 256)
    law = form.randomizer.reference_pmf(ILLNESS.code(value))
    reports = {form.layout.encode(np.array([[code]], np.uint8)): law[code] for code in law}
    assert set(mass) == set(reports)
    for report, chance in reports.items():
        assert mass[report] <= chance.low <= mass[report] + left


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.randomizer.name)
def test_a_report_says_nothing_but_its_form_and_payload(form):
    header = b"dl\x01" + bytes.fromhex(form.digest)
    reports = {form.client().report(value) for value in range(9)}
    assert {report[:11] for report in reports} == {header}
    assert {len(report) for report in reports} == {11 + form.randomizer.report_bytes}
    many = form.client().report_each(range(9))
    assert many.count(header) >= 9
    assert len(form.client().batch(range(9))) == form.layout.batch_bytes(9)
    assert form.client().report_each([]) == b""


# --- plans ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS[:5], ids=lambda form: form.randomizer.name)
def test_the_predicted_half_width_holds_and_is_not_too_wide(form):
    """By exact binomial laws, of a value that nobody holds and of one that all hold."""
    people = 400
    planned = plan(form, people=people, confidence="0.9", delta="1e-3")
    p, q = (float(chance) for chance in form.randomizer.exact_chances())
    for half_width, chance in (
        (planned.half_widths["rare"], q),
        (planned.half_widths["common"], p),
    ):
        reach = half_width * people * (p - q)
        law = stats.binom(people, chance)
        mean = people * chance
        inside = law.cdf(np.floor(mean + reach + 1e-9)) - law.cdf(np.ceil(mean - reach - 1e-9) - 1)
        assert 0.9 <= inside < 0.96
        normal = 1.645 * (people * chance * (1 - chance)) ** 0.5
        assert abs(reach - normal) < 2
    assert planned.half_widths["all"] > max(
        planned.half_widths["rare"], planned.half_widths["common"]
    )


def test_a_plan_says_everything_before_anybody_reports():
    planned = plan(Form.of(Domain(range(128)), epsilon=1), people=10_000)
    assert planned.form.layout.report_bytes == 27
    assert planned.batch_bytes == 15 + 16 * 10_000
    assert round(planned.shuffled_epsilon, 4) == 0.053
    assert round(planned.one_hostile * 10_000, 3) == 3.174
    text = str(planned)
    assert "share that is 0         ± 0.038 (95 %)" in text
    assert "epsilon 0.05301 at delta 1e-06" in text
    assert json.loads(json.dumps(planned.to_json()))["form"] == planned.form.digest


@pytest.mark.parametrize(
    "wrong",
    [
        {"people": 1},
        {"people": 0},
        {"people": -5},
        {"people": "many"},
        {"people": 10, "confidence": 1},
        {"people": 10, "confidence": "x"},
        {"people": 10, "delta": 2},
        {"people": 10, "delta": "x"},
    ],
    ids=str,
)
def test_plans_that_cannot_be_made(wrong):
    with pytest.raises(DiscreetError):
        plan(Form.of(ILLNESS, epsilon=1), **wrong)


def test_only_forms_are_planned():
    for wrong in (None, ILLNESS, Form):
        with pytest.raises(WrongKind):
            plan(wrong, people=10)
