"""Secrets: passwords as argon2id hashes, and random texts that are stored as hashes alone.

Trust: kernel.

A password is guessed, so it is stored by argon2id, which is slow.  Tokens, cookies and one-time
links are 256 random bits, which nobody guesses: SHA-256 is enough for them.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from discreet.errors import OutOfRange
from discreet.noise import SYSTEM

_HASHER: Final = PasswordHasher()  # argon2id, with the parameters of RFC 9106 for small memory
_NOBODY: Final = _HASHER.hash("a password that nobody has")
_SHORTEST: Final = 10
_LONGEST: Final = 512
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


def hashed_password(password: object) -> str:
    """Return what is stored of a password, or refuse a bad one."""
    if not isinstance(password, str) or not _SHORTEST <= len(password) <= _LONGEST:
        raise OutOfRange(
            what=f"the password is shorter than {_SHORTEST} or longer than {_LONGEST} characters.",
            why="a short one is guessed.",
            do="take a sentence of several words.",
        )
    return _HASHER.hash(password.encode("utf-8", "surrogatepass"))


def password_fits(stored: str | None, password: object) -> bool:
    """Say whether a password is the stored one; it takes as long where there is none.

    >>> password_fits(None, "a password that nobody has")
    False
    """
    given = password if isinstance(password, str) and len(password) <= _LONGEST else ""
    try:
        fits = _HASHER.verify(stored or _NOBODY, given.encode("utf-8", "surrogatepass"))
    except (VerificationError, InvalidHashError):
        return False
    return fits and stored is not None
