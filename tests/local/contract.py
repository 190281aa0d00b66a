"""The contract of every randomizer: law, loss, estimates, words and bytes agree with each other.

A ``RandomizerCase`` is a randomizer on few values.  One line in ``test_contract.py`` registers it.

``check_law``        follows every word that ``run`` could draw, with narrow words, and compares
                     rational chances with ``reference_pmf``;
``check_privacy``    no report is likelier by more than e^epsilon under another value, and the loss
                     is that of the worst two values;
``check_unbiased``   the mean and the variance of estimates, over all reports, are those claimed:
                     equal as fractions;
``check_words``      the same words are asked for, whatever the values are;
``check_tally``      tallies of batches add up;
``check_bytes``      any bytes are a report in its one spelling, or refused;
``check_described``  a description in JSON makes the randomizer again;
``check_people``     many reports at once support values as often as claimed (statistical).
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

from discreet.accounting import Leaf, account
from discreet.attacks import exact_epsilon
from discreet.local import FrequencyOracle, Randomizer, randomizer_of
from discreet.local import hashing as hash_family
from discreet.noise import Bernoulli
from discreet.noise.bernoulli import CoinWords
from tests.mechanisms import contract as mechanisms
from tests.noise.laws import check_law as check_words_against
from tests.noise.laws import stream

SIGMAS = 6.5  # one assertion over all values of a domain fails by chance less often than 1e-6
Broken = mechanisms.Broken


@dataclass(frozen=True)
class RandomizerCase:
    """A randomizer on few values, and two that claim its law but have less and more noise."""

    name: str
    randomizer: Randomizer
    less: Randomizer  # noise
    more: Randomizer  # noise
    large: Randomizer | None = None  # the same on many values, for statistics
    estimate: Callable[[Any], Sequence[Fraction]] | None = (
        None  # of one report; oracles know theirs
    )
    truth: Callable[[int], Sequence[Fraction]] | None = None  # what it estimates, at each code
    tight: bool = True  # the loss is attained at every epsilon
    unexplored: Fraction = Fraction(1, 20)
    max_runs: int = 3_000

    def __str__(self):
        return self.name

    @property
    def inputs(self):
        return range(min(self.randomizer.values, 4))


class Mutant:
    """A randomizer with the law of another one: only ``run`` and ``reference_pmf`` differ."""

    def __init__(self, claimed, actual):
        self._claimed, self._actual = claimed, actual
        self.run, self.run_each = actual.run, actual.run_each
        self.reference_pmf = actual.reference_pmf

    def __getattr__(self, name):
        return getattr(self._claimed, name)


@contextlib.contextmanager
def narrow():
    """Let randomizers ask for words so narrow, and so few, that all of them can be tried."""
    tiny = {"words": CoinWords(first_bits=2, word_bits=4, step_bits=2)}
    with (
        mock.patch.object(Bernoulli.__init__, "__kwdefaults__", tiny),
        mock.patch.object(hash_family, "_EXTRA_BITS", 0),
    ):
        yield


def laws(case, randomizer):
    return [dict(randomizer.reference_pmf(code)) for code in case.inputs]


def check_law(case, randomizer):
    code = case.inputs[-1]
    with narrow():
        check_words_against(
            lambda entropy: randomizer.run(code, entropy=entropy),
            randomizer._claimed.reference_pmf(code).__getitem__
            if isinstance(randomizer, Mutant)
            else randomizer.reference_pmf(code).__getitem__,
            unexplored=case.unexplored,
            max_runs=case.max_runs,
        )


def check_privacy(case, randomizer):
    """Compare ratios with e^epsilon, and the loss with the divergence of every two laws."""
    with narrow():
        known = laws(case, randomizer)
        loss = randomizer.loss(distance=1)
    odds = mechanisms.growth(randomizer.epsilon)[0]  # at most e^epsilon
    largest = Fraction(0)
    for here, there in itertools.permutations(known, 2):
        assert sum(chance.low for chance in here.values()) <= 1
        for report, chance in here.items():
            largest = max(largest, chance.high / there[report].low)
    if largest > odds:
        raise Broken(f"{case.name}: a report is likelier by more than e^epsilon")
    if loss.epsilon(delta=0) < math.log(largest) * (1 - 1e-12):
        raise Broken(f"{case.name}: the loss is below what reports tell")
    assert loss.epsilon(delta=0) <= float(randomizer.epsilon) * (1 + 1e-12)
    for epsilon in (0.0, 0.3, 0.8):
        pairs = itertools.permutations(known, 2)
        worst = max(float(mechanisms.least_divergence(p, q, epsilon)) for p, q in pairs)
        claimed = loss.delta(epsilon=epsilon)
        if claimed < worst * (1 - 1e-12):
            raise Broken(f"{case.name}: delta {claimed} at {epsilon}, but reports tell {worst}")
        if case.tight:
            assert claimed <= worst * (1 + 1e-6) + 1e-12


def check_unbiased(case, randomizer):
    """Add up estimates over all reports: mean and variance are exactly those claimed."""
    with narrow():
        known = laws(case, randomizer)
        if case.estimate is not None:
            reports = {report: case.estimate(report) for report in known[0]}
            for code, law in zip(case.inputs, known, strict=True):
                means = [
                    sum(law[report].low * estimate[at] for report, estimate in reports.items())
                    for at in range(len(case.truth(code)))
                ]
                if means != list(case.truth(code)):
                    raise Broken(f"{case.name}: estimates are biased")
            return
        if not isinstance(case.randomizer, FrequencyOracle):
            return
        p, q = randomizer.exact_chances()
        supported = {report: supports_of(case.randomizer, report) for report in known[0]}
        variances = [randomizer.variance(share).low for share in (0, 1)]
    for (code, law), value in itertools.product(
        zip(case.inputs, known, strict=True), range(case.randomizer.values)
    ):
        chance = sum(law[report].low for report, support in supported.items() if support[value])
        mean = (chance - q) / (p - q)
        second = (chance * (1 - q) ** 2 + (1 - chance) * q**2) / (p - q) ** 2
        if mean != (value == code) or second - mean**2 != variances[value == code]:
            raise Broken(f"{case.name}: value {value} is supported with another chance")


def supports_of(oracle, report):
    """Return which values one report supports, as its tally tells."""
    if isinstance(report, bytes):
        rows = np.frombuffer(report, np.uint8)[None, :]
    else:
        rows = np.array([report], np.uint64)
    supports = oracle.supports(oracle.tally(rows))
    assert set(supports.tolist()) <= {0, 1}
    return supports


class Recorder:
    """Entropy that remembers how many words of which width were asked for."""

    def __init__(self):
        self.source, self.asked = stream("the same words"), []

    def words(self, count, width):
        self.asked.append((count, width))
        return self.source.words(count, width)

    def bits(self, width):
        self.asked.append((None, width))
        return self.source.bits(width)


def check_words(case, randomizer):
    people = 60
    asked = []
    for codes in (
        np.zeros(people, np.int64),
        np.full(people, randomizer.values - 1),
        np.arange(people) % randomizer.values,
    ):
        recorder = Recorder()
        randomizer.run_each(codes, entropy=recorder)
        asked.append(recorder.asked)
    if asked[0] != asked[1] or asked[0] != asked[2]:
        raise Broken(f"{case.name}: how many words are drawn depends on the values")


def reports_of(randomizer, people=90, label="reports"):
    codes = np.arange(people) % randomizer.values
    return randomizer.run_each(codes, entropy=stream(label))


def check_tally(case, randomizer):
    reports = reports_of(randomizer)
    whole = randomizer.tally(reports)
    assert whole.dtype == np.int64
    parts = sum(randomizer.tally(reports[part::3]) for part in range(3))
    if not np.array_equal(whole, parts) or randomizer.tally(reports[:0]).any():
        raise Broken(f"{case.name}: tallies do not add up")
    if isinstance(case.randomizer, FrequencyOracle):
        assert randomizer.supports(whole).shape == (randomizer.values,)


def check_bytes(case, randomizer):
    reports = reports_of(randomizer)
    rows = randomizer.pack(reports)
    assert rows.shape == (len(reports), randomizer.report_bytes)
    assert randomizer.report_bytes == math.ceil(randomizer.bits / 8)
    again, valid = randomizer.unpack(rows)
    assert valid.all()
    assert again.dtype == reports.dtype
    assert np.array_equal(again, reports)
    batch = randomizer.pack_batch(reports)
    assert len(batch) == math.ceil(len(reports) * randomizer.bits / 8)
    again, valid = randomizer.unpack_batch(batch, count=len(reports))
    assert valid.all()
    assert np.array_equal(again, reports)
    noise = stream("any bytes").words(500 * randomizer.report_bytes, 8).reshape(500, -1)
    found, valid = randomizer.unpack(noise)
    assert len(found) == valid.sum()
    if not np.array_equal(randomizer.pack(found), noise[valid]):
        raise Broken(f"{case.name}: a report has two spellings")
    randomizer.tally(found)
    for wrong in (batch[:-1], np.append(batch, np.uint8(0))):
        found, valid = randomizer.unpack_batch(wrong, count=len(reports))
        assert not len(found)
        assert not len(valid)


def check_described(case, randomizer):
    text = json.dumps(randomizer.describe())
    assert randomizer_of(json.loads(text)) == randomizer
    assert hash(randomizer) == hash(randomizer_of(json.loads(text)))


def check_in_trees(case, randomizer):
    alone = account(Leaf(randomizer), relation="local").epsilon(delta=0)
    assert alone <= float(randomizer.epsilon) * (1 + 1e-12)
    with narrow():
        measured = exact_epsilon(randomizer, (0, randomizer.values - 1), claim=randomizer.epsilon)
    assert measured.lower <= randomizer.epsilon


def check_people(case, randomizer, claimed=None):
    """Many reports support their own value, and every other one, as often as claimed."""
    claimed, people = claimed or randomizer, 20_000
    chances = [float(chance) for chance in claimed.exact_chances()]
    for code in (0, claimed.values - 1):
        label = f"{case.name}, {code}"
        reports = randomizer.run_each(np.full(people, code), entropy=stream(label))
        chance = np.where(np.arange(claimed.values) == code, *chances)
        far = np.abs(claimed.supports(claimed.tally(reports)) - people * chance)
        if (far > SIGMAS * np.sqrt(people * chance * (1 - chance))).any():
            raise Broken(f"{case.name}: values are supported more or less often than claimed")
