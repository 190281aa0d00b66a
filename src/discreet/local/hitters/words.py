"""Words of a fixed number of bits, as integers and as texts, and their prefixes.

Trust: kernel.  A word is what a randomizer hides.

Definition.  A word of w bits is a row of 64-bit limbs.  Its first bit is the highest one of the
first limb, and bits beyond w are 0.  A text is its UTF-8 bytes, cut to w / 8 of them at the end of
a character and filled with zeros; texts that begin alike may become one word.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind

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
            what="the words of people are not an array of integers, or rows of 64-bit limbs.",
            why=f"each person has one word of {width} bits.",
            do="give a NumPy array of integers, or what text_words returns.",
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
            what=f"words of {width} bits hold no whole number of bytes.",
            why="a text is made of bytes.",
            do="use words of 8, 16, 24, ... bits.",
        )
    size, row = width // 8, 8 * limbs_of(width)
    packed = b"".join(_cut(text, size).ljust(row, b"\0") for text in texts)
    return np.frombuffer(packed, ">u8").astype(np.uint64).reshape(-1, limbs_of(width))


def text_of(word: int, *, width: int) -> str:
    """Return the text of a word; bytes that are no text become question marks.

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
        raise WrongKind(
            what="a text is not a str.",
            why="both sides must spell every word alike.",
            do="give texts.",
        )
    spelled = text.encode("utf-8", "replace")
    return spelled if len(spelled) <= size else spelled[:size].decode("utf-8", "ignore").encode()


def _too_long(width: int) -> OutOfRange:
    return OutOfRange(
        what=f"a word has more than {width} bits.",
        why="a report about a part of it would be about another word.",
        do="cut or code every word so that it fits.",
    )
