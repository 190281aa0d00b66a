"""Tables of real size against an independent oracle (Arb ball arithmetic)."""

import bisect
from fractions import Fraction

import flint
import numpy as np
import pytest

from discreet.noise import KeyedEntropy, table
from discreet.noise.decay import Decay
from discreet.noise.table import BlockLaw, SignedLaw, Table, TableSizes, block_number, signed

SMALL = [
    Decay(linear=Fraction(1)),
    Decay(linear=Fraction(3, 31)),
    Decay(linear=Fraction(1, 16)),
    Decay(linear=Fraction(10**6)),
    Decay(quadratic=Fraction(1, 2)),
    Decay(quadratic=Fraction(3, 700)),
    Decay(quadratic=Fraction(1, 2 * 64**2)),
]
WIDE = [
    (Decay(linear=Fraction(1, 17)), 1),
    (Decay(linear=Fraction(2, 2001)), 5),
    (Decay(linear=Fraction(1, 2**57)), 53),
    (Decay(quadratic=Fraction(1, 2 * 65**2)), 1),
    (Decay(quadratic=Fraction(1, 2 * 10**12)), 14),
]


@pytest.fixture(autouse=True)
def _precision():
    before = flint.ctx.prec
    flint.ctx.prec = 400
    yield
    flint.ctx.prec = before


def weight(decay, k):
    exponent = decay.exponent(abs(k))
    return (-flint.arb(flint.fmpq(exponent.numerator, exponent.denominator))).exp()


def prefix_sums(weights):
    sums, total = [], flint.arb(0)
    for weight in weights:
        total += weight
        sums.append(total)
    return sums


def small_sums(decay):
    last = decay.reach(400)
    return prefix_sums(weight(decay, int(k)) for k in signed(np.arange(2 * last + 1)))


def block_sums(decay, law, width):
    """Sum flat and residual weights in the order of the law, from the definition of a block."""
    numbers = block_number(np.arange(2 * (decay.reach(400) // width + 2)))
    flat, residual = [], []
    for number in numbers.tolist():
        ends = weight(decay, number * width), weight(decay, number * width + width - 1)
        small, large = (ends[1], ends[0]) if number >= 0 else ends
        flat.append(small)
        residual.append(large - small)
    order = flat[: law.near] + residual[: law.near]
    for index in range(law.near, len(flat)):
        order += flat[index], residual[index]
    return prefix_sums(order)


def check_boundaries(law, sums, bits):
    known = law.boundaries(bits)
    scale = flint.arb(2) ** bits / sums[-1]  # what the oracle leaves out is below 2**-390
    slack = flint.arb(2) ** (bits - 380)
    for low, high, true in zip(known.low, known.high, sums, strict=False):
        assert low <= true * scale + slack
        assert true * scale - slack <= high
        assert high - low <= 3
    assert len(known.low) <= len(sums)
    assert not known.finite


@pytest.mark.theorem("enclosure")
@pytest.mark.parametrize("decay", SMALL, ids=str)
@pytest.mark.parametrize("bits", [64, 128])
def test_boundaries_of_small_laws(decay, bits):
    check_boundaries(SignedLaw(decay), small_sums(decay), bits)


@pytest.mark.theorem("enclosure")
@pytest.mark.theorem("block-mixture")
@pytest.mark.parametrize(("decay", "block_bits"), WIDE, ids=str)
@pytest.mark.parametrize("bits", [64, 128])
def test_boundaries_of_blocks(decay, block_bits, bits):
    law = BlockLaw(decay, 1 << block_bits)
    check_boundaries(law, block_sums(decay, law, 1 << block_bits), bits)


@pytest.mark.theorem("lazy-inversion")
@pytest.mark.parametrize("decay", SMALL, ids=str)
def test_every_cell_of_the_guide_is_settled_rightly_or_left_open(decay):
    guide = Table(SignedLaw(decay), TableSizes())
    sums = small_sums(decay)
    cells, scale = 1 << 16, flint.arb(1 << 16) / sums[-1]
    # the first and the last outcome of each cell, by the oracle
    first, last = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
    for each in sums:
        floor = min(cells, int((each * scale).mid().floor().unique_fmpz()))
        first[floor + 1 :] += 1  # every point of these cells is at or beyond the boundary
        last[floor:] += 1  # some point of these cells is
    settled = guide._guide != guide._void
    assert (first[settled] == last[settled]).all()
    assert (guide._guide[settled] == signed(first[settled])).all()
    assert (~settled).sum() <= (first != last).sum() + 1  # open cells are those that must be


def test_guides_are_settled_almost_everywhere():
    assert Table(SignedLaw(SMALL[0]), TableSizes())._guide.dtype == np.int16
    for decay in SMALL:
        guide = Table(SignedLaw(decay), TableSizes())
        assert (guide._guide == guide._void).mean() < 0.03


class Recorded:
    """Words of a keyed stream, kept in the order in which they are served."""

    def __init__(self, label):
        self.stream, self.served = KeyedEntropy(key=bytes(32), label=label), []

    def words(self, count, width):
        self.served.append(self.stream.words(count, width))
        return self.served[-1]

    def bits(self, width):
        return self.stream.bits(width)


@pytest.mark.theorem("lazy-inversion")
@pytest.mark.parametrize("decay", SMALL[:3] + SMALL[4:], ids=str)
def test_every_draw_of_many_is_the_outcome_of_its_own_word(decay, monkeypatch):
    monkeypatch.setattr(table, "_DRAWN", 5000)  # several requests, each in several pieces
    monkeypatch.setattr(table, "_CHUNK", 700)
    entropy, out = Recorded(str(decay)), np.empty(12345, np.int64)
    sampler = table.SignedSampler(decay, TableSizes())
    sampler.sample_into(out, entropy)
    *prefixes, more = entropy.served
    prefix = np.concatenate(prefixes)
    assert prefix.size == out.size
    known = SignedLaw(decay).boundaries(64)
    voids = iter(more.tolist())
    for place, first in enumerate(prefix.tolist()):
        void = sampler._table._guide[first] == sampler._table._void
        word = first << 48 | (next(voids) if void else 0)
        assert out[place] == signed(np.array([bisect.bisect_right(known.high, word)]))[0]
    assert next(voids, None) is None


@pytest.mark.theorem("lazy-inversion")
@pytest.mark.parametrize(("decay", "bits"), WIDE, ids=str)
def test_words_of_open_cells_are_settled_as_by_a_search_of_all_boundaries(decay, bits):
    made = Table(BlockLaw(decay, 1 << bits), TableSizes())
    void = np.flatnonzero(made._guide == made._void)
    prefix = np.repeat(void, 20).astype(np.uint16)
    entropy = Recorded(str(decay))
    index = made._refine(prefix, entropy)
    word = prefix.astype(np.uint64) << np.uint64(48) | entropy.served[0]
    expected, settled = made._settle(word, word)
    assert (index == expected)[settled].all()
    assert settled.mean() > 0.99
