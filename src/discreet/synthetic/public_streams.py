"""Public randomness: a reproducible stream, because its key is a public text.

Trust: kernel.  It chooses rows, random queries and starting points of searches, after noise was
drawn or before data was read.  Noise never comes from here: an attacker who knows the key text
could subtract it.  This is the one place of the room that opens a keyed stream.
"""

from __future__ import annotations

import hashlib
from typing import Final

from discreet.noise import Entropy
from discreet.noise.keyed_entropy import KeyedEntropy

_DOMAIN: Final = b"discreet synthetic public stream 1\0"


def public_stream(text: bytes, label: str) -> Entropy:
    """Return the stream of a public text, such as stored evidence, and a label.

    >>> public_stream(b"evidence", "rows").bits(16) == public_stream(b"evidence", "rows").bits(16)
    True
    """
    return KeyedEntropy(key=hashlib.sha256(_DOMAIN + text).digest(), label=label)
