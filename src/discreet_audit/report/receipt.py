"""The receipt of a report: one line that names its content, and a signature where a key is given.

Trust: public.

Like the receipt of a ledger, it is a name, a number and 64 hex digits with colons between them: who
was audited (``discreet``), how many rows there are, and the SHA-256 of the report.  The digest is
taken of the JSON form without its receipt, with sorted keys and no blanks, so whoever has
``audit.json`` can take it again.  Filed elsewhere, it proves later that no figure was changed.
A digest says what was written; only a signature says by whom.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from discreet.errors import WrongKind

_NAME: Final = "discreet"
_OWN: Final = ("receipt", "signature", "signed_by")


def with_receipt(form: Mapping[str, Any], key: Path | None = None) -> dict[str, Any]:
    """Return the form with its receipt, signed if there is a key.

    >>> with_receipt({"lines": [1, 2]})["receipt"][:11]
    'discreet:2:'
    """
    receipt = receipt_of(form)
    if key is None:
        return {**form, "receipt": receipt}
    secret = check_key(key)
    return {
        **form,
        "receipt": receipt,
        "signature": secret.sign(receipt.encode()).hex(),
        "signed_by": secret.public_key().public_bytes_raw().hex(),
    }


def receipt_of(form: Mapping[str, Any]) -> str:
    """Return the receipt that belongs to the content of a form."""
    content = {name: value for name, value in form.items() if name not in _OWN}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{_NAME}:{len(content.get('lines', ()))}:{digest}"


def check_receipt(form: object, *, signed_by: str | None = None) -> str:
    """Return the receipt of a report that was read back, or refuse one that was changed.

    ``signed_by`` is the public key that must have signed it, as 64 hex digits.
    """
    if not isinstance(form, Mapping) or not isinstance(form.get("receipt"), str):
        raise WrongKind(
            what="the file is no report with a receipt.",
            why="the receipt says what the report held when it was written.",
            do="give the audit.json that `discreet audit --out` wrote.",
        )
    receipt = receipt_of(form)
    if receipt != form["receipt"]:
        raise WrongKind(
            what="the report was changed after its receipt was taken.",
            why=f"its content has the receipt {receipt}.",
            do="get the report again from where it was made, or make another one.",
        )
    if signed_by is not None or "signature" in form:
        _check_signature(form, receipt, signed_by)
    return receipt


def _check_signature(form: Mapping[str, Any], receipt: str, signed_by: str | None) -> None:
    named = str(form.get("signed_by", ""))
    wanted = named if signed_by is None else signed_by
    if named != wanted or not _signs(named, str(form.get("signature", "")), receipt):
        raise WrongKind(
            what="the report is not signed by that key.",
            why="its digest may have been taken by somebody else.",
            do="ask whoever made the report for their public key, and for the report again.",
        )


def _signs(key: str, signature: str, receipt: str) -> bool:
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        public.verify(bytes.fromhex(signature), receipt.encode())
    except (ValueError, InvalidSignature):
        return False
    return True


def check_key(path: Path) -> Ed25519PrivateKey:
    """Return the key of a file, or say how to make one."""
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise WrongKind(
            what=f"'{path}' holds no private key to sign with.",
            why="a report is signed by an Ed25519 key without a password.",
            do="make one with: openssl genpkey -algorithm ed25519 -out audit-key.pem",
        )
    return key
