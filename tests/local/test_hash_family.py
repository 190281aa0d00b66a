"""Hash functions: the family with a proof is pairwise independent, a pool is the same for all."""

import hashlib
import itertools
from collections import Counter
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

from discreet.local import hashing as hash_family
from discreet.local.hashing import Affine, Pool, collision_chance


@pytest.mark.theorem("affine-hashing")
@pytest.mark.parametrize(("value_bits", "cells"), [(2, 3), (2, 4), (3, 2), (1, 5)])
def test_two_values_are_hashed_independently(value_bits, cells):
    with mock.patch.object(hash_family, "_EXTRA_BITS", 1):
        family = Affine(value_bits=value_bits, cell_count=cells)
        seeds = np.arange(family.seeds, dtype=np.uint64)
        values = np.arange(1 << value_bits, dtype=np.uint64)
        hashed = family.cells(seeds[:, None], values)
        upper = 1 << family.upper_bits
        collision = family.collision()
    sizes = Counter((number * cells) // upper for number in range(upper))
    for first, second in itertools.combinations(range(len(values)), 2):
        pairs = Counter(zip(hashed[:, first].tolist(), hashed[:, second].tolist(), strict=True))
        for here, there in itertools.product(range(cells), repeat=2):
            share = Fraction(pairs[here, there], len(seeds))
            assert share == Fraction(sizes[here] * sizes[there], upper * upper)
        same = Fraction(int((hashed[:, first] == hashed[:, second]).sum()), len(seeds))
        assert same == collision


def test_cells_of_equal_size_collide_with_the_least_chance():
    assert collision_chance(10, 4) == Fraction(1, 4)
    assert Fraction(1, 3) < collision_chance(10, 3) < Fraction(1, 3) * (1 + Fraction(1, 10**5))


def test_a_pool_is_what_it_says_in_plain_integers():
    values, seeds = (0, 1, 2**47), np.arange(3, dtype=np.uint64)
    expected = []
    for seed in range(3):
        label = b"discreet local hashing pool, version 1\x00" + seed.to_bytes(8, "little")
        digest = hashlib.sha256(label).digest()
        a, b, c = (int.from_bytes(digest[at : at + 8], "little") for at in (0, 8, 16))
        numbers = [((a | 1) * value + b) % 2**64 for value in values]
        mixed = [(number ^ number >> 32) * (c | 1) % 2**64 >> 32 for number in numbers]
        expected.append([number * 7 >> 32 for number in mixed])
    for size in (3, 100):
        found = Pool(seeds=size, cell_count=7).cells(seeds[:, None], np.array(values))
        assert found.tolist() == expected
