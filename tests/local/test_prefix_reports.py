"""Words, linear hashes, and reports about prefixes."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.local import PrefixResponse
from discreet.local.prefix_response import (
    HashPool,
    bit_field,
    checked_words,
    integers_of,
    prefix_limbs,
    text_of,
    text_words,
)
from discreet.noise import KeyedEntropy


def fixed(label="hitters"):
    return KeyedEntropy(key=bytes(32), label=label)


# Words


@pytest.mark.parametrize("width", [1, 8, 48, 63, 64, 65, 200])
def test_words_prefixes_and_fields_agree_with_integers(width):
    generator = np.random.default_rng(width)
    numbers = [int.from_bytes(generator.bytes(30), "big") % (1 << width) for _ in range(20)]
    limbs = -(-width // 64)
    words = np.array([prefix_limbs(number, length=width, limbs=limbs) for number in numbers])
    assert integers_of(words, width=width) == numbers
    assert (checked_words(words, width=width) == words).all()
    for start in range(0, width, 7):
        length = min(11, width - start)
        expected = [number >> (width - start - length) & ((1 << length) - 1) for number in numbers]
        assert bit_field(words, start=start, length=length).tolist() == expected


def test_texts_are_cut_between_characters():
    words = text_words(["abcdefgh", "grüüße", ""], width=48)
    assert [text_of(word, width=48) for word in integers_of(words, width=48)] == [
        "abcdef",
        "grüü",
        "",
    ]
    assert text_of(0xFF41000000, width=40) == "�A"


@pytest.mark.parametrize(
    "words",
    [
        np.array([1 << 20]),
        np.array([-1]),
        np.array([1.0]),
        [1, 2],
        np.array([[1]], np.uint64),
        np.zeros((1, 2), np.uint64),
    ],
)
def test_what_is_no_word_is_refused(words):
    with pytest.raises(DiscreetError):
        checked_words(words, width=16)


# Hashes


@pytest.mark.theorem("linear-hash")
def test_linear_maps_put_two_words_together_as_often_as_a_uniform_function():
    """All maps from three bits to two: pairs collide with chance 1/4, pairwise independently."""
    maps = list(itertools.product(range(8), repeat=2))
    cell = {
        (rows, word): tuple((row & word).bit_count() & 1 for row in rows)
        for rows in maps
        for word in range(8)
    }
    for u, v, w in itertools.permutations(range(8), 3):
        one = [cell[rows, u] == cell[rows, v] for rows in maps]
        other = [cell[rows, u] == cell[rows, w] for rows in maps]
        both = sum(a and b for a, b in zip(one, other, strict=True))
        assert (sum(one), both) == (16, 4)


@pytest.mark.theorem("linear-hash-decoding")
@pytest.mark.parametrize(("width", "before", "length"), [(6, 0, 4), (6, 2, 6), (70, 60, 68)])
def test_one_transform_counts_supports(width, before, length):
    pool = HashPool(size=32, width=width, cell_bits=3)
    counts = np.random.default_rng(2).integers(0, 100, (32, 8))
    prefixes = [0, 1, (1 << before) - 1] if before else [0]
    found = pool.supports(counts, prefixes=prefixes, before=before, length=length)
    limbs = -(-width // 64)
    words = [
        prefix << (length - before) | extension
        for prefix in prefixes
        for extension in range(1 << (length - before))
    ]
    for word, support in zip(words, found.tolist(), strict=True):
        row = prefix_limbs(word, length=length, limbs=limbs)[None].repeat(32, axis=0)
        cells = pool.cells(row, np.arange(32))
        assert support == counts[np.arange(32), cells].sum()


def test_the_public_rows_are_balanced():
    rows = HashPool(size=1 << 12, width=64, cell_bits=4).rows(np.arange(1 << 12))
    share = np.unpackbits(rows.view(np.uint8)).mean()
    assert abs(share - 0.5) < 5.5 / 2 / math.sqrt(64 * 4 * (1 << 12))
    assert len(np.unique(rows)) == rows.size


# Reports

SMALL = PrefixResponse(epsilon=1, width=4, first=2, step=2, pool=3)


@pytest.mark.theorem("prefix-response")
def test_no_report_is_likelier_by_more_than_the_loss():
    laws = [SMALL.reference_pmf(word) for word in range(16)]
    worst = Fraction(0)
    for one, other in itertools.permutations(laws, 2):
        worst = max(worst, *(one[report].low / other[report].low for report in one))
    assert all(sum(chance.low for chance in law.values()) == 1 for law in laws)
    assert Fraction(27, 10) < worst < Fraction(271829, 100_000)
    assert SMALL.loss().epsilon(delta=0) == 1


def twin(less):
    """Return a response with less or more noise than it says."""
    return PrefixResponse(epsilon=2 if less else "0.25", width=4, first=2, step=2, pool=3)


@pytest.mark.parametrize(
    ("response", "right"), [(SMALL, True), (twin(True), False), (twin(False), False)]
)
def test_reports_follow_their_law(response, right):
    people, word = 60_000, 11
    reports = response.run_each(np.full(people, word), entropy=fixed())
    law = SMALL.reference_pmf(word)
    chances = np.array([float(law[report].low) for report in range(len(law))])
    if response.cells != SMALL.cells:
        reports = reports % SMALL.cells + reports // response.cells * SMALL.cells
    counts = np.bincount(reports, minlength=len(law))[: len(law)]
    statistic = float(((counts - people * chances) ** 2 / (people * chances)).sum())
    assert (statistic < 110) == right  # 23 degrees of freedom: above with a chance below 1e-6


def test_the_same_words_are_drawn_whatever_the_word_is():
    class Recorded:
        def __init__(self):
            self.asked, self.inner = [], fixed()

        def words(self, count, width):
            self.asked.append((count, width))
            return self.inner.words(count, width)

        def bits(self, width):
            self.asked.append(width)
            return self.inner.bits(width)

    asked = []
    for word in (0, 7, 15):
        entropy = Recorded()
        SMALL.run_each(np.full(500, word), entropy=entropy)
        asked.append(entropy.asked)
    assert asked[0] == asked[1] == asked[2]


def test_bytes_are_reports_or_refused_and_tallies_add_up():
    reports = SMALL.run_each(np.arange(16).repeat(20), entropy=fixed())
    packed = SMALL.pack(reports)
    assert packed.shape == (320, SMALL.report_bytes)
    again, valid = SMALL.unpack(packed)
    assert valid.all()
    assert (again == reports).all()
    every = np.arange(256, dtype=np.uint8)[:, None]
    read, valid = SMALL.unpack(every)
    assert valid.sum() == len(read) == 2 * 3 * SMALL.cells
    halves = SMALL.tally(reports[:100]) + SMALL.tally(reports[100:])
    assert (halves == SMALL.tally(reports)).all()
    batch, valid = SMALL.unpack_batch(SMALL.pack_batch(reports), count=320)
    assert (batch == reports).all()
    assert valid.all()


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": 0},
        {"width": 0},
        {"first": 0},
        {"first": 5},
        {"step": 0},
        {"pool": 0},
    ],
)
def test_responses_that_cannot_be_are_refused(changes):
    with pytest.raises(DiscreetError):
        PrefixResponse(**({"epsilon": 1, "width": 4, "first": 2} | changes))
