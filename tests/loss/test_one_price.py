"""The same question has the same answer, to the last digit, whatever was asked before."""

import functools
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from discreet.accounting import Budget, Leaf, PrivacyFilter
from discreet.loss import Approximate, GaussianDP, Pure
from discreet.loss import Laplace as ContinuousLaplace
from discreet.mechanisms import Exponential, Gaussian, Laplace
from discreet.units import row

LOSSES = {
    "bounded range beside Laplace": lambda: (
        Exponential(candidates=4, scale=20)
        .loss()
        .power(30)
        .compose(ContinuousLaplace(scale=9).power(5))
    ),
    "discrete Gaussian beside Laplace": lambda: (
        Gaussian(sigma=30).loss().power(20).compose(Laplace(scale=9).loss().power(5))
    ),
    "continuous Laplace": lambda: ContinuousLaplace(scale=10).power(50),
    "a promise beside Laplace": lambda: (
        Approximate(epsilon="0.1", delta="1e-8").power(30).compose(ContinuousLaplace(scale=7))
    ),
    "training": lambda: GaussianDP(mu=1).sampled(rate="0.01").power(400),
    "sampled Laplace": lambda: ContinuousLaplace(scale=2).sampled(rate="0.02").power(50),
    "a group": lambda: ContinuousLaplace(scale=20).power(10).group(3),
    "a shuffle": lambda: Pure(epsilon=1).shuffled(population=1000),
}
QUESTIONS = [
    *(("delta", epsilon) for epsilon in ("0.3", "1", "2")),
    *(("epsilon", delta) for delta in ("1e-3", "1e-6", "1e-12")),
    ("renyi", 8),
]


def forget():
    """Empty every cache of the package, as a fresh process has it."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "discreet":
            for each in list(vars(module).values()):
                if isinstance(each, functools._lru_cache_wrapper):
                    each.cache_clear()


def asked(loss, question):
    kind, number = question
    match kind:
        case "delta":
            return loss.delta_interval(epsilon=number)
        case "epsilon":
            return loss.interval(delta=number)
        case _:
            return loss.renyi(order=number)


@functools.cache
def fresh(name, question):
    forget()
    return asked(LOSSES[name](), question)


@pytest.mark.parametrize("name", LOSSES)
def test_answers_do_not_depend_on_earlier_questions(name):
    expected = {question: fresh(name, question) for question in QUESTIONS}
    rng = np.random.default_rng(len(name))
    for _ in range(2):
        forget()
        loss = LOSSES[name]()
        for question in map(QUESTIONS.__getitem__, rng.permutation(len(QUESTIONS))):
            assert asked(loss, question) == expected[question], question


@pytest.mark.parametrize("name", LOSSES)
def test_threads_that_share_a_loss_hear_the_same(name):
    expected = {question: fresh(name, question) for question in QUESTIONS}
    forget()
    loss = LOSSES[name]()
    places = np.random.default_rng(len(name)).permutation(2 * len(QUESTIONS)) % len(QUESTIONS)
    asks = [QUESTIONS[place] for place in places]
    with ThreadPoolExecutor(6) as pool:
        answers = pool.map(lambda question: asked(loss, question), asks)
        for question, answer in zip(asks, answers, strict=True):
            assert answer == expected[question], question


def test_a_filter_charges_the_same_whatever_it_priced_before():
    leaf = Leaf(LOSSES["bounded range beside Laplace"]())

    def price(*before):
        forget()
        book = PrivacyFilter(Budget(epsilon=100, delta="1e-3"), unit=row())
        for delta in before:
            book.pieces(leaf, delta=delta)
        return book.pieces(leaf, delta="1e-6")

    assert price() == price("1e-3", "1e-4", "1e-9", "1e-12")
