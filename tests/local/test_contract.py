"""Every randomizer keeps the contract, and two mutants of each break it."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import Leaf, Shuffled, account
from discreet.local import Direct, Hadamard, Hashing, Subset, Unary
from tests.local import contract
from tests.local.contract import Broken, Mutant, RandomizerCase
from tests.noise.laws import WrongLaw


def three(kind, **parameters):
    """Return an oracle, and the same with less and with more noise."""
    return dict(
        zip(
            ("randomizer", "less", "more"),
            (kind(epsilon=epsilon, **parameters) for epsilon in (1, 2, "0.5")),
            strict=True,
        )
    )


CASES = [
    RandomizerCase("direct", **three(Direct, values=4), large=Direct(epsilon=1, values=128)),
    RandomizerCase(
        "symmetric unary",
        **three(Unary, values=2, coding="symmetric"),
        large=Unary(epsilon=1, values=20, coding="symmetric"),
    ),
    RandomizerCase("unary", **three(Unary, values=2), large=Unary(epsilon=1, values=128)),
    RandomizerCase(
        "subset", **three(Subset, values=4, size=2), large=Subset(epsilon=1, values=128)
    ),
    RandomizerCase(
        "small subset",
        **three(Subset, values=4, size=1),
        large=Subset(epsilon=4, values=100, size=3),
    ),
    RandomizerCase("hadamard", **three(Hadamard, values=3), large=Hadamard(epsilon=1, values=128)),
    RandomizerCase(
        "hashing", **three(Hashing, values=2, cells=3), large=Hashing(epsilon=1, values=128)
    ),
]
POOLED = RandomizerCase("pooled hashing", **three(Hashing, values=4, cells=3, pool=4), tight=False)
EVERY = [*CASES, POOLED]

every_case = pytest.mark.parametrize("case", EVERY, ids=str)


@pytest.mark.theorem("uniform-sets")
@every_case
def test_every_word_leads_to_the_claimed_law(case):
    contract.check_law(case, case.randomizer)


@pytest.mark.theorem("oracle-loss")
@pytest.mark.theorem("unary-oracle")
@every_case
def test_no_report_tells_more_than_epsilon(case):
    contract.check_privacy(case, case.randomizer)


@pytest.mark.theorem("frequency-oracle")
@pytest.mark.theorem("subset-oracle")
@pytest.mark.theorem("hadamard-oracle")
@pytest.mark.theorem("hashing-oracle")
@pytest.mark.parametrize("case", CASES, ids=str)  # a pool is unbiased over all pools alone
def test_estimates_are_unbiased_and_vary_as_claimed(case):
    contract.check_unbiased(case, case.randomizer)


@every_case
def test_the_same_words_are_drawn_whatever_the_value(case):
    contract.check_words(case, case.randomizer)
    if case.large is not None:
        contract.check_words(case, case.large)


@every_case
def test_tallies_add_up_and_bytes_have_one_meaning(case):
    for randomizer in filter(None, (case.randomizer, case.large)):
        contract.check_tally(case, randomizer)
        contract.check_bytes(case, randomizer)
        contract.check_described(case, randomizer)


@every_case
def test_it_works_in_accounting_trees_and_audits(case):
    contract.check_in_trees(case, case.randomizer)


def test_shuffled_reports_tell_less():
    leaf = Leaf(Subset(epsilon=1, values=4, size=2), relation="replace")
    crowd = account(Shuffled(leaf, population=1000), relation="replace")
    # .1825 for whatever loses 1 by itself
    assert 0.1 < crowd.epsilon(delta=Fraction(1, 10**6)) < 0.1826


@pytest.mark.parametrize("case", CASES, ids=str)
def test_many_reports_support_values_as_often_as_claimed(case):
    contract.check_people(case, case.large)


# --- mutants ----------------------------------------------------------------------------------


@every_case
def test_less_noise_is_caught(case):
    mutant = Mutant(case.randomizer, case.less)
    with pytest.raises(WrongLaw):
        contract.check_law(case, mutant)
    with pytest.raises(Broken):
        contract.check_privacy(case, mutant)
    if case in CASES:
        with pytest.raises(Broken):
            contract.check_unbiased(case, mutant)


@every_case
def test_more_noise_is_caught(case):
    mutant = Mutant(case.randomizer, case.more)
    with pytest.raises(WrongLaw):
        contract.check_law(case, mutant)
    if case in CASES:
        with pytest.raises(Broken):
            contract.check_unbiased(case, mutant)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("factor", [Fraction(2), Fraction(1, 2)])
def test_many_reports_with_other_noise_are_caught(case, factor):
    parameters = case.large.describe()
    del parameters["name"]
    parameters["epsilon"] = factor * case.large.epsilon
    with pytest.raises(Broken):
        contract.check_people(case, type(case.large)(**parameters), claimed=case.large)


def test_words_that_follow_the_value_are_caught():
    class Truthful:
        values = 4

        def run_each(self, codes, *, entropy):
            return entropy.words(int(np.count_nonzero(codes)), 8)

    with pytest.raises(Broken, match="depends on the values"):
        contract.check_words(CASES[0], Truthful())
