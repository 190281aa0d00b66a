"""Passwords, stored as argon2id hashes.

Trust: kernel.  Passwords are guessed, so checking one is slow and takes memory on purpose.
"""

from __future__ import annotations

from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from discreet.errors import OutOfRange

_HASHER: Final = PasswordHasher()  # argon2id, with the parameters of RFC 9106 for small memory
_NOBODY: Final = (  # the hash of a random text that nobody has kept
    "$argon2id$v=19$m=65536,t=3,p=4$MIIRqgvgQbgj220jfp0MPA$YfwJSVjtjSU0zzV/P3S9nnQ/USre2wvJMjfCIjrTQbg"
)
_SHORTEST: Final = 10
_LONGEST: Final = 512


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
