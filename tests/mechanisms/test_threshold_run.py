"""Runs: their law, what they cost, and every way to misuse them."""

import copy
import itertools
import multiprocessing
import pickle
import threading
from fractions import Fraction
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest

from discreet.errors import EntropyCopied, NotExact, OutOfRange, WrongKind
from discreet.mechanisms.sparse_vector import (
    AboveThreshold,
    NumericSparse,
    Sparse,
    ThresholdRun,
)
from discreet.noise import DiscreteLaplace

PLANS = [
    AboveThreshold(threshold=10, epsilon=1),
    Sparse(threshold=10, answers=2, epsilon=1, monotone=True),
    NumericSparse(threshold=10, answers=2, epsilon=1, sensitivity=3),
]


class Script:
    """Noise that was written down before, with a count of what was asked for."""

    def __init__(self, *values):
        self.values = list(values)

    def draw(self, entropy):
        return self.values.pop(0)


def scripted(rho, noises, fresh=None, *, threshold=0, answers=1, form=lambda above, _: above):
    plan = SimpleNamespace(
        threshold=threshold,
        answers=answers,
        sensitivity=1,
        threshold_noise=Script(rho),
        query_noise=Script(*noises),
        answer_noise=None if fresh is None else Script(*fresh),
        answer=form,
    )
    return ThresholdRun(plan, None)


def finish(run, values):
    answers = []
    for value in values:
        answers.append(run.ask(value))
        if run.halted:
            break
    return tuple(answers)


@pytest.mark.theorem("above-threshold")
@pytest.mark.parametrize("answers", [1, 2])
def test_all_noise_in_a_window_leads_to_the_reference_law(answers):
    plan = Sparse(threshold=1, answers=answers, epsilon=8)
    reach, values = range(-9, 10), (0, 1)
    rho = {k: plan.threshold_noise.pmf_bounds(k).low for k in reach}
    nu = {k: plan.query_noise.pmf_bounds(k).low for k in reach}
    found, missing = {}, Fraction(1)
    for t, *noises in itertools.product(reach, repeat=3):
        weight = rho[t] * nu[noises[0]] * nu[noises[1]]
        pattern = finish(scripted(t, noises, threshold=1, answers=answers), values)
        found[pattern] = found.get(pattern, 0) + weight
        missing -= weight
    law = plan.reference_pmf(values)
    assert missing < Fraction(1, 100)
    assert found.keys() == law.keys()
    for pattern, mass in found.items():
        assert law[pattern].low <= mass + missing
        assert mass <= law[pattern].high


def test_numbers_get_fresh_noise():
    run = scripted(
        0, [5, 0], [-3, 4], answers=2, form=lambda above, noisy: noisy if above else None
    )
    assert (run.ask(10), run.ask(20)) == (7, 24)


def test_ties_are_above():
    assert scripted(3, [1], threshold=10).ask(12) is True
    assert scripted(3, [1], threshold=10).ask(11) is False


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: type(plan).__name__)
def test_a_run_ends_after_its_last_answer(plan):
    run = plan.start()
    answers = getattr(plan, "answers", 1)
    for left in range(answers, 0, -1):
        assert (run.answers_left, run.halted) == (left, False)
        run.ask(10**9)
    assert run.halted
    for value in (0, 10**9):
        with pytest.raises(OutOfRange):
            run.ask(value)


def test_a_halted_run_draws_nothing():
    run = scripted(0, [0])
    run.ask(1)
    with pytest.raises(OutOfRange):
        run.ask(1)
    assert run._plan.query_noise.values == []


@pytest.mark.parametrize("value", [1.0, np.float64(2), float("nan")])
def test_a_float_is_refused(value):
    run = scripted(0, [])
    with pytest.raises(NotExact):
        run.ask(value)


@pytest.mark.parametrize("value", [None, "1", True, Fraction(1, 2), [1]])
def test_what_is_no_integer_is_refused(value):
    run = scripted(0, [])
    with pytest.raises(WrongKind):
        run.ask(value)


def test_integers_of_any_size_and_of_numpy_are_welcome():
    run = Sparse(threshold=0, answers=3, epsilon=1).start()
    assert run.ask(np.int64(10**6))
    assert run.ask(10**30)
    assert not run.ask(-(10**30))


def test_a_query_of_larger_sensitivity_is_refused_before_noise_is_drawn():
    run = scripted(0, [0])
    for sensitivity in (2, 100):
        with pytest.raises(OutOfRange):
            run.ask(5, sensitivity=sensitivity)
    for sensitivity in (1.0, "1", True):
        with pytest.raises(WrongKind):
            run.ask(5, sensitivity=sensitivity)
    assert run.ask(5, sensitivity=1)


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_run_cannot_be_copied_and_a_plan_can(copier):
    with pytest.raises(EntropyCopied):
        copier(PLANS[0].start())
    copier(PLANS[0])
    assert pickle.loads(pickle.dumps(PLANS[1])) == PLANS[1]  # noqa: S301


def _ask_in_child(run, pipe):
    try:
        run.ask(10**9)
    except EntropyCopied:
        pipe.send("refused")
    else:
        pipe.send("answered")


def test_a_run_is_refused_in_a_forked_child_and_goes_on_in_the_parent():
    run = PLANS[0].start()
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=_ask_in_child, args=(run, there))
    child.start()
    assert here.poll(20)
    assert here.recv() == "refused"
    child.join()
    assert run.ask(10**9)


def test_threads_cannot_get_more_answers_than_were_paid_for():
    run = Sparse(threshold=0, answers=5, epsilon=1).start()
    given, refused = [], []

    def work():
        for _ in range(20):
            try:
                given.append(run.ask(10**9))
            except OutOfRange:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(given), len(refused)) == (5, 155)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: type(plan).__name__)
def test_a_run_is_charged_once_and_before_anything_is_drawn(plan):
    charges = []
    run = plan.start(charge=charges.append)
    for _ in range(50):
        run.ask(-(10**9))
    run.ask(10**9)
    assert charges == [plan.loss()]


def test_no_charge_no_run():
    class Refused(Exception):
        pass

    def charge(_):
        raise Refused

    with (
        mock.patch.object(DiscreteLaplace, "draw", side_effect=AssertionError),
        pytest.raises(Refused),
    ):
        PLANS[0].start(charge=charge)


def test_a_source_that_is_none_is_refused_before_the_charge():
    charges = []
    with pytest.raises(WrongKind):
        PLANS[0].start(charge=charges.append, entropy=np.random.default_rng(0))
    assert charges == []


def test_a_failed_draw_gives_nothing_away():
    """All noise of an answer is drawn before the comparison, so a failure says nothing of it."""
    for value in (-100, 100):
        run = scripted(0, [0, 0], [], form=lambda above, noisy: noisy if above else None)
        with pytest.raises(IndexError):
            run.ask(value)
        assert run.answers_left == 1


def test_neither_a_representation_nor_an_error_shows_noise_or_values():
    run = scripted(123456, [0], threshold=10)
    with pytest.raises(NotExact) as refused:
        run.ask(987654.0)
    assert repr(run) == "<run against 10, 1 of 1 answers left>"
    for text in (repr(run), str(refused.value)):
        assert "123466" not in text
        assert "987654" not in text
