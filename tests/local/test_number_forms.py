"""Forms about a number: from a person's device over the wire to a mean with an interval."""

import json

import numpy as np
import pytest

from discreet.errors import DiscreetError, OutOfRange, WrongKind
from discreet.local import Direct, Domain, Form, NumberRange, TwoPoint, WindowResponse, plan
from tests.noise.laws import stream

AGES = NumberRange(low=0, high=120)
FORM = Form.of(AGES, epsilon=2)


def test_numbers_come_back_as_a_mean():
    numbers = np.arange(12_000) % 61 + 20.0
    collector = FORM.collector()
    client = FORM.client()
    collector.add(client.report("61.5", entropy=stream("one")))
    collector.add_many(client.batch(numbers, entropy=stream("many")))
    collector.add_many(client.report_each([0, 120, 7], entropy=stream("few")))
    assert collector.reports == 12_004
    estimate = collector.mean(confidence="0.999999", target="reported")
    assert estimate.low < numbers.mean() < estimate.high
    assert estimate.high - estimate.low < 12
    again = type(collector).deserialize(collector.serialize(), form=FORM)
    assert again.mean() == collector.mean()


def test_the_document_holds_all_that_both_sides_need():
    text = FORM.serialize()
    assert Form.deserialize(text) == FORM
    assert Form.deserialize(text).randomizer.points() == FORM.randomizer.points()
    assert json.loads(text)["domain"] == {"low": "0", "high": "120"}
    assert Form.of(NumberRange(low=0, high=121), epsilon=2).digest != FORM.digest
    assert "numbers from 0 to 120" in str(FORM)
    for low in ("0.0", 0, None):
        document = {**json.loads(text), "domain": {"low": low, "high": "120"}}
        with pytest.raises(WrongKind):
            Form.deserialize(json.dumps(document))


def test_other_reports_are_refused():
    other = Form.of(NumberRange(low=0, high=121), epsilon=2)
    collector = FORM.collector()
    collector.add(other.client().report(3))
    assert (collector.reports, collector.refused.other_form) == (0, 1)
    assert Form(AGES, TwoPoint(epsilon=1)).client().report(3)


def test_what_does_not_fit_is_refused():
    with pytest.raises(WrongKind):
        Form(AGES, Direct(epsilon=1, values=10))
    with pytest.raises(WrongKind):
        FORM.collector().estimates()
    with pytest.raises(WrongKind):
        Form.of(Domain(["a", "b"]), epsilon=1).collector().mean()
    with pytest.raises(WrongKind):
        Form((0, 120), WindowResponse.minimax(epsilon=1, outcomes=8))
    for number in (-1, 121, "x", None):
        with pytest.raises(OutOfRange):
            FORM.client().report(number)
    with pytest.raises(DiscreetError):
        FORM.collector().mean()


def test_a_plan_predicts_the_error_of_a_mean():
    planned = plan(FORM, people=300)
    spread = 60 * (FORM.randomizer.variance().nearest() / 300) ** 0.5
    assert planned.half_widths["mean"] == pytest.approx(1.96 * spread, rel=1e-3)
    assert planned.to_json()["batch_bytes"] == planned.batch_bytes
    assert "moves the mean by at most" in str(planned)
    levels = FORM.randomizer.levels()
    assert planned.one_hostile == pytest.approx(60 * (1 + float(levels[-1])) / 300)
    with pytest.raises(WrongKind):
        plan(Form(Domain(["a", "b"]), TwoPoint(epsilon=1)), people=10)
