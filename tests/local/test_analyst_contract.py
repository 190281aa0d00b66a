"""Randomizers of ranges and of heavy hitters keep the contract; two mutants of each break it."""

import numpy as np
import pytest

from discreet.local import PrefixResponse, Ranges, SignedHadamard, randomizer_of
from tests.local import contract
from tests.local.contract import Broken, Mutant, RandomizerCase
from tests.noise.laws import WrongLaw


def three(kind, **parameters):
    """Return a randomizer, and the same with less and with more noise."""
    kinds = (kind(epsilon=epsilon, **parameters) for epsilon in (1, "1.25", "0.9"))
    return dict(zip(("randomizer", "less", "more"), kinds, strict=True))


CASES = [
    RandomizerCase("signed hadamard", **three(SignedHadamard, values=4)),
    RandomizerCase("prefixes", **three(PrefixResponse, width=2, first=1, pool=2), tight=False),
]

every_case = pytest.mark.parametrize("case", CASES, ids=str)


@pytest.mark.theorem("signed-hadamard")
@pytest.mark.theorem("prefix-response")
@every_case
def test_every_word_leads_to_the_claimed_law(case):
    contract.check_law(case, case.randomizer)


@every_case
def test_no_report_tells_more_than_epsilon(case):
    contract.check_privacy(case, case.randomizer)


@every_case
def test_words_tallies_bytes_and_descriptions(case):
    contract.check_words(case, case.randomizer)
    contract.check_tally(case, case.randomizer)
    contract.check_bytes(case, case.randomizer)
    contract.check_described(case, case.randomizer)


@every_case
def test_less_and_more_noise_are_caught(case):
    for other in (case.less, case.more):
        with pytest.raises((Broken, WrongLaw)):
            contract.check_law(case, Mutant(case.randomizer, other))


@pytest.mark.parametrize("width", [0, 4])
def test_the_record_of_a_tree_is_described(width):
    record = Ranges(cells=16, epsilon=1, branching=width).record
    assert randomizer_of(record.describe()) == record
    assert record.loss().epsilon(delta=0) == pytest.approx(1, abs=1e-9)
    assert record.run_each(np.arange(5)).shape[0] == 5
