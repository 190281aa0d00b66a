"""Prefix response: a report about one prefix of a word, of a length that the device draws.

Trust: kernel.  Proofs are in docs/proofs/local.md.

Definition.  Lengths l_1 < ... < l_G are public.  A device draws one of them and one function of a
public pool (see ``hash_pool``), both without looking at its word.  It hashes the prefix of its word
of that length to one of g cells, and reports the cell by randomized response at the full epsilon.
Theorem (key ``prefix-response``).  The report loses as much as randomized response on g cells, for
all lengths, pools and words.

A report is an integer: its length, function and cell as digits.

A public pool of hash functions that are linear over two elements.

The function is drawn independently of the value, and a report of its cell is private for every
function; a bad pool costs accuracy.

Definition.  Function s maps a word to t bits: bit r is the parity of the bits of the word that row
(s, r) selects.  Rows are public: SplitMix64 (Steele, Lea and Flood 2014) of their numbers.
Theorem (key ``linear-hash``; Carter and Wegman 1979, Universal Classes of Hash Functions).  If
rows are uniform and independent, two different words share a cell with probability 1/g, g = 2**t,
and whether a third word shares it with the first is independent of that.

Theorem (key ``linear-hash-decoding``).  If T[s, y] reports have function s and cell y, the number
of reports that support a word v is 1/g times the sum over s and c of W[s, c] (-1)**(z(s, c) . v): W
is the Walsh-Hadamard transform of each row of T, and z(s, c) the sum of the rows of s that c
selects.  Proof.  The sum over c of (-1)**(c . (h_s(v) - y)) is g if y = h_s(v), and 0 otherwise.
For all K extensions of one prefix that is one transform: m g additions and K log K, not m K.  So
the pool can be large, and its floor low.

Words of a fixed number of bits, as integers and as texts, and their prefixes.

A word is what a randomizer hides.

Definition.  A word of w bits is a row of 64-bit limbs.  Its first bit is the highest one of the
first limb, and bits beyond w are 0.  A text is its UTF-8 bytes, cut to w / 8 of them at the end of
a character and filled with zeros; texts that begin alike may become one word.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import Interval, freeze, whole
from discreet.local.direct import Direct
from discreet.local.hadamard import transform_in_place
from discreet.local.randomizer import (
    IntegerReports,
    Reports,
    local_epsilon,
)
from discreet.loss import PrivacyLoss
from discreet.mechanisms.mechanism import Number, at_confidence
from discreet.mechanisms.randomized_response import respond, response_chances
from discreet.noise import SYSTEM, Entropy, Uniform
from discreet.noise.entropy import word_type

_COUNTERS: Final = 1 << 20
_MOST_CELL_BITS: Final = 10
_WIDEST: Final = 512
_CHUNK: Final = 1 << 15  # people whose rows stay in the cache


@final
@dataclass(frozen=True, slots=True, init=False)
class PrefixResponse(IntegerReports):
    """Report a hashed prefix of a word of ``width`` bits.

    >>> response = PrefixResponse(epsilon=1, width=48, first=16, step=16)
    >>> response.lengths, response.cells, response.pool, response.bits
    ((16, 32, 48), 4, 262144, 22)
    >>> response.loss().epsilon(delta=0)
    1.0
    """

    name: ClassVar[str] = "prefix"
    parameters: ClassVar[tuple[str, ...]] = ("width", "first", "step", "pool")

    epsilon: Fraction
    width: int
    first: int
    step: int
    pool: int
    cells: int

    def __init__(
        self, *, epsilon: Number, width: int, first: int, step: int = 1, pool: int | None = None
    ) -> None:
        """Take the loss of a report, and the bits of a word, of its first prefix and between two.

        ``pool`` is the number of hash functions: by default, functions times cells is 2**20.
        """
        loss = local_epsilon(epsilon)
        bits = whole(width, name="width", low=1, high=_WIDEST)
        cells = 1 << _best_cell_bits(float(loss))
        functions = _COUNTERS // cells if pool is None else pool
        most = 4 * _COUNTERS // cells
        freeze(
            self,
            epsilon=loss,
            width=bits,
            first=whole(first, name="first", low=1, high=bits),
            step=whole(step, name="step", low=1, high=_WIDEST),
            pool=whole(functions, name="pool", low=1, high=most),
            cells=cells,
        )

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of prefixes; the last one is the whole word."""
        return (*range(self.first, self.width, self.step), self.width)

    @property
    def values(self) -> int:  # type: ignore[override]  # here it follows from the width
        """Return how many words there are."""
        return 1 << self.width

    @property
    def hashes(self) -> HashPool:
        """The functions."""
        return HashPool(size=self.pool, width=self.width, cell_bits=self.cells.bit_length() - 1)

    @property
    def outcomes(self) -> int:
        """Return as many as there are triples of a length, a function and a cell."""
        return len(self.lengths) * self.pool * self.cells

    def chances(self) -> tuple[Interval, Interval]:
        """Return how often a report supports its sender's word, and another one."""
        kept, _ = response_chances(self.epsilon, self.cells)
        return Interval(kept, kept), Interval(Fraction(1, self.cells), Fraction(1, self.cells))

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss of randomized response on the cells."""
        return Direct(epsilon=self.epsilon, values=self.cells).loss(distance=distance)

    def error(self, *, confidence: Number) -> int:
        """Return 0 if a report supports its sender's word with this probability, else 1."""
        return int(self.chances()[0].low < at_confidence(confidence))

    def run(self, value: int, *, entropy: Entropy = SYSTEM) -> int:
        """Return one report."""
        return int(self.run_each(self._one(value), entropy=entropy)[0])

    def run_each(self, codes: NDArray[np.integer[Any]], *, entropy: Entropy = SYSTEM) -> Reports:
        """Return one integer for each person's word: integers up to 64 bits, or rows of limbs."""
        words = checked_words(codes, width=self.width)
        reports = np.empty(len(words), word_type(self.bits))
        for start in range(0, len(words), _CHUNK):
            part = words[start : start + _CHUNK]
            groups = Uniform(below=len(self.lengths)).sample(len(part), entropy)
            functions = Uniform(below=self.pool).sample(len(part), entropy)
            cells = self._cells(part, groups, functions)
            answers = respond(cells, self.epsilon, self.cells, entropy)
            reports[start : start + _CHUNK] = (
                groups * self.pool + functions
            ) * self.cells + answers
        return reports

    def reference_pmf(self, value: int) -> dict[int, Interval]:
        """Return the probability of every length, function and cell."""
        kept, lied = response_chances(self.epsilon, self.cells)
        ways = len(self.lengths) * self.pool
        groups, functions = np.divmod(np.arange(ways), self.pool)
        truths = self._cells(np.repeat(self._one(value), ways, axis=0), groups, functions)
        law = {}
        for way, truth in enumerate(truths.tolist()):
            for cell in range(self.cells):
                chance = (kept if cell == truth else lied) / ways
                law[way * self.cells + cell] = Interval(chance, chance)
        return law

    def _cells(
        self,
        words: NDArray[np.uint64],
        groups: NDArray[np.int64],
        functions: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Return the cell of each person's prefix; prefixes of all lengths take the same steps."""
        limbs = limbs_of(self.width)
        masks = np.array(
            [prefix_limbs((1 << size) - 1, length=size, limbs=limbs) for size in self.lengths]
        )
        return self.hashes.cells(words & masks[groups], functions)

    def _one(self, value: object) -> NDArray[np.uint64]:
        word = whole(value, name="the word", low=0, high=self.values - 1)
        limbs = limbs_of(self.width)
        return prefix_limbs(word << (limbs * LIMB - self.width), length=limbs * LIMB, limbs=limbs)[
            None
        ]


def _best_cell_bits(epsilon: float) -> int:
    """Return for which power of two the variance (e^epsilon + g - 1)**2 / (g - 1) is least."""
    growth = math.exp(min(epsilon, 20.0))
    sizes = range(1, _MOST_CELL_BITS + 1)
    return min(sizes, key=lambda bits: (growth + (1 << bits) - 1) ** 2 / ((1 << bits) - 1))


Integers = NDArray[np.int64]

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HashPool:
    """``size`` functions from words of ``width`` bits to 2**``cell_bits`` cells.

    >>> pool = HashPool(size=4, width=8, cell_bits=2)
    >>> pool.cells(np.array([[7 << 56], [7 << 56]], np.uint64), np.array([0, 3])).shape
    (2,)
    """

    size: int
    width: int
    cell_bits: int

    def cells(self, words: Words, functions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cell of each word, by the function of each person."""
        ones = np.bitwise_count(self.rows(functions) & words[:, None, :]).sum(
            axis=2, dtype=np.int64
        )
        return np.asarray((ones & 1) @ (1 << np.arange(self.cell_bits)))

    def rows(self, functions: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the rows of functions: function, row, limb."""
        shape = (len(functions), self.cell_bits, limbs_of(self.width))
        inner = np.arange(shape[1] * shape[2], dtype=np.uint64)
        number = functions.astype(np.uint64)[:, None] * np.uint64(len(inner)) + inner
        return _mixed(number).reshape(shape)

    def supports(
        self, counts: Integers, *, prefixes: Sequence[int], before: int, length: int
    ) -> Integers:
        """Return how many reports support each extension, to ``length`` bits, of each prefix.

        ``counts`` has a row for each function, and a column for each cell.
        """
        sums, waves = _row_sums(self), _transformed(counts)
        places = bit_field(sums, start=before, length=length - before).ravel()
        size = 1 << (length - before)
        found = np.empty((len(prefixes), size), np.int64)
        for spectrum, prefix in zip(found, prefixes, strict=True):
            chosen = prefix_limbs(prefix, length=before, limbs=sums.shape[2])
            odd = np.bitwise_count(sums & chosen).sum(axis=2, dtype=np.uint8) & 1
            signed = np.where(odd, -waves, waves).ravel()
            spectrum[:] = np.rint(np.bincount(places, weights=signed, minlength=size))
            transform_in_place(spectrum)
        return found.ravel() >> self.cell_bits


def _transformed(counts: Integers) -> NDArray[np.float64]:
    """Transform each row of counters."""
    waves = counts.astype(np.int64)
    half = 1
    while half < waves.shape[1]:
        pairs = waves.reshape(len(waves), -1, 2, half)
        first, second = pairs[:, :, 0, :], pairs[:, :, 1, :]
        first += second
        second *= -2
        second += first
        half *= 2
    return waves.astype(float)


@functools.lru_cache(maxsize=2)
def _row_sums(pool: HashPool) -> NDArray[np.uint64]:
    """Return all sums of the rows of each function: function, which rows, limb."""
    rows = pool.rows(np.arange(pool.size))
    sums = np.zeros((pool.size, 1 << pool.cell_bits, rows.shape[2]), np.uint64)
    for row in range(pool.cell_bits):
        known = sums[:, : 1 << row]
        sums[:, 1 << row : 2 << row] = known ^ rows[:, row, None, :]
    return sums


def _mixed(number: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return SplitMix64 of each number."""
    mixed = (number + np.uint64(1)) * _GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    return mixed ^ (mixed >> np.uint64(31))


Words = NDArray[np.uint64]
"""One row of limbs for each person."""

LIMB: Final = 64


def limbs_of(width: int) -> int:
    """Return how many limbs a word has.

    >>> limbs_of(48), limbs_of(65)
    (1, 2)
    """
    return -(-width // LIMB)


def checked_words(words: object, *, width: int) -> Words:
    """Read the words of many people: rows of limbs, or integers if one limb is enough.

    >>> checked_words(np.array([1, 2]), width=4).tolist() == [[1 << 60], [2 << 60]]
    True
    """
    given: NDArray[Any] = words if isinstance(words, np.ndarray) else np.array(None)
    limbs, spare = limbs_of(width), -width % LIMB
    if given.ndim == 1 and given.dtype.kind in "iu" and limbs == 1:
        if given.size and (int(given.min()) < 0 or int(given.max()).bit_length() > width):
            raise _too_long(width)
        return (given.astype(np.uint64) << np.uint64(spare))[:, None]
    if given.ndim != 2 or given.dtype != np.uint64 or given.shape[1] != limbs:
        raise WrongKind(
            "the words of people are not an array of integers, or rows of 64-bit limbs; give a "
            "NumPy array of integers, or what text_words returns."
        )
    if bool((given[:, -1] & np.uint64((1 << spare) - 1)).any()):
        raise _too_long(width)
    return given


def text_words(texts: Iterable[str], *, width: int) -> Words:
    """Return the words of texts.

    >>> words = text_words(["rain", "weather"], width=48)
    >>> [text_of(word, width=48) for word in integers_of(words, width=48)]
    ['rain', 'weathe']
    """
    if width % 8:
        raise OutOfRange(
            f"words of {width} bits hold no whole number of bytes; use words of 8, 16, 24, ... "
            "bits."
        )
    size, row = width // 8, 8 * limbs_of(width)
    packed = b"".join(_cut(text, size).ljust(row, b"\0") for text in texts)
    return np.frombuffer(packed, ">u8").astype(np.uint64).reshape(-1, limbs_of(width))


def text_of(word: int, *, width: int) -> str:
    """Return the text of a word; bytes that are not text become question marks.

    >>> text_of(0x7261696E0000, width=48)
    'rain'
    """
    spelled = word.to_bytes(width // 8, "big").rstrip(b"\0").decode("utf-8", "replace")
    return "".join(letter if letter.isprintable() else "?" for letter in spelled)


def integers_of(words: Words, *, width: int) -> list[int]:
    """Return words as integers of ``width`` bits.

    >>> integers_of(np.array([[3 << 60]], np.uint64), width=4)
    [3]
    """
    spare = LIMB * words.shape[1] - width
    return [int.from_bytes(row.astype(">u8").tobytes(), "big") >> spare for row in words]


def prefix_limbs(prefix: int, *, length: int, limbs: int) -> NDArray[np.uint64]:
    """Return a prefix of some bits as the limbs of a word.

    >>> prefix_limbs(3, length=2, limbs=1).tolist() == [3 << 62]
    True
    """
    bits = prefix << (LIMB * limbs - length)
    parts = [(bits >> (LIMB * place)) & ((1 << LIMB) - 1) for place in reversed(range(limbs))]
    return np.array(parts, np.uint64)


def bit_field(words: NDArray[np.uint64], *, start: int, length: int) -> NDArray[np.int64]:
    """Return bits ``start`` to ``start + length`` of words, whose last axis is limbs, as integers.

    >>> bit_field(np.array([[0b1011 << 60]], np.uint64), start=1, length=2).tolist()
    [1]
    """
    limb, offset = divmod(start, LIMB)
    field = words[..., limb] << np.uint64(offset)
    if offset and limb + 1 < words.shape[-1]:
        field = field | (words[..., limb + 1] >> np.uint64(LIMB - offset))
    shifted: NDArray[Any] = field >> np.uint64(LIMB - length)
    return shifted.astype(np.int64)


def _cut(text: object, size: int) -> bytes:
    if not isinstance(text, str):
        raise WrongKind("a text is not a str; give texts.")
    spelled = text.encode("utf-8", "replace")
    return spelled if len(spelled) <= size else spelled[:size].decode("utf-8", "ignore").encode()


def _too_long(width: int) -> OutOfRange:
    return OutOfRange(f"a word has more than {width} bits; cut or code every word so that it fits.")
