"""Random secrets: tokens and cookies, which are stored as hashes alone.

Trust: kernel.

They are 256 random bits, which nobody guesses, so SHA-256 is enough for them; passwords need more
(:mod:`discreet.service.people.passwords`).
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from discreet.noise import SYSTEM

_BYTES: Final = 32


def new_secret() -> str:
    """Return 256 random bits as text.

    >>> len(new_secret())
    64
    """
    return f"{SYSTEM.bits(8 * _BYTES):0{2 * _BYTES}x}"


def secret_hash(secret: str) -> str:
    """Return what is stored of a random secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def same_secret(first: str, second: str) -> bool:
    """Compare two texts in a time that does not depend on where they differ.

    >>> same_secret("a", "a"), same_secret("a", "b")
    (True, False)
    """
    return hmac.compare_digest(first.encode("utf-8", "surrogatepass"), second.encode())
