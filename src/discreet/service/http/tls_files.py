"""The files of TLS: a certificate and its key, tried before anything is served with them.

Trust: kernel.  A server that was meant to use TLS never starts without it.
"""

from __future__ import annotations

import ssl

from discreet.errors import BadPolicy
from discreet.service.site import ServerAddress


def check_tls(address: ServerAddress) -> None:
    """Refuse a certificate and a key that no server could use.

    >>> check_tls(ServerAddress())
    """
    if address.certificate is None:
        return
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(address.certificate, address.key, password=_none)
    except OSError as error:  # errors of TLS among them
        raise _bad(_words(error)) from None


def _none() -> str:
    """Give no password: nobody is there to type one."""
    return ""


def _words(error: OSError) -> str:
    if not isinstance(error, ssl.SSLError):
        return "one of the files is not there, or cannot be read"
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the key is not that of the certificate"
    return "one of the files is not PEM, or the key has a password"


def _bad(what: str) -> BadPolicy:
    return BadPolicy(
        what=f"TLS cannot be used: {what}.",
        why="passwords and answers must not travel in the clear where TLS was meant to be.",
        do="name a certificate (with its chain) and its key without a password, both in PEM.",
    )


__all__ = ["check_tls"]
