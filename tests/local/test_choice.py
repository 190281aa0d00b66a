"""The choice of an oracle follows the formulas, and says so."""

import pytest

from discreet.local import Direct, Domain, Hadamard, Hashing, Subset, Unary, choose
from discreet.local.choice import total_variance


@pytest.mark.parametrize(
    ("values", "epsilon", "options", "kind"),
    [
        (3, 1, {}, Direct),  # subsets of one value are the same, and no shorter
        (10, 4, {}, Direct),
        (16, 1, {}, Subset),
        (128, 1, {}, Subset),
        (4096, 1, {}, Subset),
        (128, 1, {"wire": 2}, Hadamard),  # 128 bits do not fit
        (2**16, 1, {}, Hadamard),
        (2**16, 1, {"wire": 2**14}, Unary),
        (2**16, 2, {"people": 10**4}, Hashing),
        (2**16, 2, {"people": 10**9}, Hadamard),  # no pool has a floor below a tenth of the noise
    ],
)
def test_which_oracle_when(values, epsilon, options, kind):
    choice = choose(values, epsilon=epsilon, **options)
    assert isinstance(choice.oracle, kind)
    assert choice.oracle.values == values
    assert choice.oracle.report_bytes <= options.get("wire", 512)
    assert kind.name in str(choice).lower()


def test_no_oracle_that_fits_has_less_variance():
    for values in (5, 20, 300):
        for epsilon in ("0.5", 1, 3):
            oracle = choose(values, epsilon=epsilon).oracle
            others = [
                kind(epsilon=epsilon, values=values) for kind in (Direct, Unary, Subset, Hadamard)
            ]
            least = min(other.variance().low for other in others)
            assert oracle.variance().low <= least * 1.01


def test_the_floor_of_a_chosen_pool_is_below_a_tenth_of_the_noise():
    people = 10**4
    oracle = choose(2**16, epsilon=2, people=people).oracle
    noise = oracle.variance().low
    assert total_variance(oracle, people) <= noise * 11 / 10
    smaller = Hashing(epsilon=2, values=2**16, pool=oracle.pool // 2)
    assert total_variance(smaller, people) > noise * 11 / 10


def test_a_domain_is_taken_as_it_is():
    assert choose(Domain(["a", "b", "c"]), epsilon=1).oracle == choose(3, epsilon=1).oracle
