"""Broken twins of what devices do: the audit must catch them, and acquit the right ones."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks import Batches, estimate_epsilon
from discreet.local import Direct, Memo, Record
from discreet.mechanisms.randomized_response import respond
from tests.noise.laws import stream

ANSWERS = 4000


def reports_of_memo(draw_again):
    """Return a device that reports one value on five days; its twin loses the memo every night."""
    words = stream(f"memo, {draw_again}")

    def draw(code, count):
        truths = np.full(count, code, np.int64)
        cells = respond(truths, Fraction(1), 2, words)
        days = []
        for _ in range(5):
            if draw_again:
                cells = respond(truths, Fraction(1), 2, words)
            days.append(respond(cells, Fraction(3), 2, words))
        return np.stack(days, axis=1)

    return Batches(draw)


def test_a_memo_that_is_lost_every_night_is_caught():
    claim = Memo(values=2, permanent=1, fresh=3, constant=True).loss(reports=5)
    right = estimate_epsilon(reports_of_memo(False), (0, 1), ANSWERS, claim=claim)
    assert not right.violates
    twin = estimate_epsilon(reports_of_memo(True), (0, 1), ANSWERS, claim=claim)
    assert twin.violates


def grouped(follows):
    """Return a randomizer in one of two groups; that of its twin follows the value."""
    words = stream(f"group, {follows}")

    def draw(code, count):
        truths = np.full(count, code, np.int64)
        group = words.words(count, 1).astype(np.int64)
        reports = respond(truths, Fraction(1), 4, words)
        return np.stack([truths % 2 if follows else group, reports], axis=1)

    return Batches(draw)


def test_a_group_that_follows_the_value_is_caught():
    assert not estimate_epsilon(grouped(False), (0, 1), ANSWERS, claim=1).violates
    assert estimate_epsilon(grouped(True), (0, 1), ANSWERS, claim=1).violates


@pytest.mark.theorem("sampled-attribute")
def test_an_epsilon_that_is_spent_on_every_attribute_and_charged_once_is_caught():
    record, words = Record(parts=[Direct(epsilon=1, values=2)] * 3), stream("attributes")

    def right(code, count):
        return record.run_each(np.full(count, code, np.int64), entropy=words)

    def twin(code, count):
        columns = [np.full(count, code >> bit & 1, np.int64) for bit in range(3)]
        return np.stack([respond(c, Fraction(1), 2, words) for c in columns], axis=1)

    claim = record.loss()
    assert not estimate_epsilon(Batches(right), (0, 7), ANSWERS, claim=claim).violates
    assert estimate_epsilon(Batches(twin), (0, 7), ANSWERS, claim=claim).violates
    assert not estimate_epsilon(Batches(twin), (0, 7), ANSWERS, claim=3).violates
