"""Sets of a fixed size, and rows of coins, have the law that is claimed."""

from collections import Counter
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from scipy import stats

from discreet.exact import Interval
from discreet.local import subset as uniform_sets
from discreet.local.randomizer import narrow_bits, widen_bits
from discreet.local.unary import bitmap_of_members, column_sums, members_of_bitmap
from discreet.noise import Bernoulli
from discreet.noise.bernoulli import CoinWords, packed_coins
from tests.noise.laws import check_law, stream

TINY = {"words": CoinWords(first_bits=2, word_bits=4, step_bits=2)}


class Again(Exception):
    """The first coins were outside the window, and would be flipped again."""


@pytest.mark.theorem("uniform-sets")
@pytest.mark.parametrize(("values", "size", "few"), [(4, 2, 4), (3, 2, 0), (4, 3, 0)])
def test_every_set_and_guest_is_equally_likely(values, size, few):
    pairs = Fraction(1, size) / len(_subsets(values, size))

    def program(entropy):
        flips = iter([packed_coins])  # one attempt; what is rejected starts again

        def attempt(*arguments):
            for flip in flips:
                return flip(*arguments)
            raise Again

        with mock.patch.object(uniform_sets, "packed_coins", attempt):
            try:
                rows, guests = uniform_sets.uniform_sets(1, values, size, entropy)
            except Again:
                return None
        return rows.tobytes(), int(guests[0])

    with (
        mock.patch.object(uniform_sets, "_FEW", few),
        mock.patch.object(uniform_sets, "_TRIES", 1),
    ):
        check_law(program, lambda _: Interval(pairs, pairs), unexplored=Fraction(1, 20))


def _subsets(values, size):
    return [number for number in range(1 << values) if number.bit_count() == size]


@pytest.mark.parametrize(("values", "size"), [(5, 2), (128, 34), (100, 99), (4096, 1101), (300, 6)])
def test_first_coins_often_leave_a_few_to_add(values, size):
    chance, window = uniform_sets.first_chance(values, size)
    law = stats.binom(values, float(chance))
    assert law.cdf(size - 1) - law.cdf(size - 1 - window) > 0.15
    assert chance.denominator <= 256


def test_large_sets_have_their_size_and_a_member_as_guest():
    rows, guests = uniform_sets.uniform_sets(3000, 100, 30, stream("large sets"))
    single = np.unpackbits(rows, axis=1, bitorder="little")
    assert (single.sum(axis=1) == 30).all()
    assert not single[:, 100:].any()
    assert single[np.arange(3000), guests].all()
    expected, spread = 3000 * 0.3, (3000 * 0.3 * 0.7) ** 0.5
    assert (abs(single[:, :100].sum(axis=0) - expected) < 6.5 * spread).all()
    counts = np.bincount(guests, minlength=100)
    assert (abs(counts - 30) < 6.5 * 30**0.5).all()


@pytest.mark.theorem("lazy-inversion")
@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 4), Fraction(0), Fraction(1)])
def test_packed_coins_are_coins(p):
    def chance(row):
        ones = row[0].bit_count()
        exactly = p**ones * (1 - p) ** (2 - ones)
        return Interval(exactly, exactly)

    with mock.patch.object(Bernoulli.__init__, "__kwdefaults__", TINY):
        check_law(
            lambda entropy: packed_coins(p, 1, 2, entropy).tobytes(),
            chance,
            unexplored=Fraction(1, 20),
        )


@pytest.mark.parametrize("p", [Fraction(1, 4), Fraction(2, 7)])
def test_packed_coins_fall_as_often_as_single_ones(p):
    count, columns = 4000, 13
    rows = packed_coins(p, count, columns, stream("packed coins"))
    assert rows.shape == (count, 2)
    assert not (rows[:, 1] >> 5).any()
    heads = column_sums(rows, columns)
    spread = float(count * p * (1 - p)) ** 0.5
    assert (abs(heads - float(count * p)) < 6 * spread).all()


def test_columns_are_added_up_exactly():
    rows = stream("columns").words(40_000 * 3, 8).reshape(-1, 3)
    expected = np.unpackbits(rows, axis=1, count=19, bitorder="little").sum(axis=0)
    for people in (0, 1, 23, 25, 1000, 40_000):
        some = np.unpackbits(rows[:people], axis=1, count=19, bitorder="little")
        assert np.array_equal(column_sums(rows[:people], 19), some.sum(axis=0))
    assert expected.sum() > 0
    assert column_sums(np.full((100, 1), 0xFF, np.uint8), 8).tolist() == [100] * 8


def test_names_of_members_have_one_spelling():
    rows, _ = uniform_sets.uniform_sets(50, 100, 3, stream("names"))
    names = members_of_bitmap(rows, 100, 3)
    again, valid = bitmap_of_members(names, 100, 3)
    assert valid.all()
    assert np.array_equal(again, rows)
    noise = stream("any names").words(3000 * 3, 8).reshape(-1, 3)
    found, valid = bitmap_of_members(noise, 100, 3)
    assert np.array_equal(members_of_bitmap(found, 100, 3), noise[valid])
    kinds = Counter(valid.tolist())
    assert kinds[True] > 0
    assert kinds[False] > 0


@pytest.mark.parametrize("bits", [1, 3, 7, 8, 9, 12, 17, 24, 25, 40])
def test_rows_without_gaps_are_the_bits_one_after_another(bits):
    for count in (0, 1, 7, 8, 9, 100):
        numbers = [int(stream(f"{bits} {at}").bits(bits)) for at in range(count)]
        size = (bits + 7) // 8
        rows = np.array([list(number.to_bytes(size, "little")) for number in numbers], np.uint8)
        rows = rows.reshape(count, size)
        joined = sum(number << at * bits for at, number in enumerate(numbers))
        expected = joined.to_bytes((count * bits + 7) // 8, "little")
        assert narrow_bits(rows, bits).tobytes() == expected
        again = widen_bits(np.frombuffer(expected, np.uint8), bits, count)
        assert np.array_equal(again, rows)
