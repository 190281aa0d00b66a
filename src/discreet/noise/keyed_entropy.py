"""Random words that repeat: the stream of a secret key and a label.

Trust: kernel.  Anyone who knows key and label knows the noise, and can subtract it.

The same pair gives the same words, for draws that must be the same again: public random words,
drawings and tests.  A contract on imports and the attack A13 keep such a stream out of releases.

Assumes: AES-256 keystreams and HMAC-SHA256 outputs look uniform to anyone who reads the releases
(the guarantee is computational to that extent).
"""

from __future__ import annotations

import hmac
import threading
from typing import Final, final

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import instance
from discreet.noise.entropy import KEY_BYTES, START, ByteSource, fill_keystream

_LABEL_DOMAIN: Final = b"discreet keyed noise, version 1\x00"


@final
class KeyedEntropy(ByteSource):
    """The random words of a secret key and a label: the same pair, the same words.

    Definition.  The stream is AES-256-CTR under the key HMAC-SHA256(key, domain || label), so
    streams of different labels are independent to anyone who does not hold the key.  Whoever holds
    it can subtract the noise: it must be drawn fresh for each release and guarded like raw data.

    One stream belongs to one process: it is refused in a forked child.

    >>> key = bytes(range(32))
    >>> one, same = (KeyedEntropy(key=key, label="ward A/count").bits(16) for _ in range(2))
    >>> one == same
    True
    """

    __slots__ = ("_lock", "_stream")

    def __init__(self, *, key: bytes, label: str | bytes) -> None:
        super().__init__()
        try:
            text = (
                label.encode() if isinstance(label, str) else instance(label, bytes, name="label")
            )
        except UnicodeEncodeError:  # half a character
            raise WrongKind("label must be a str of whole characters, or bytes.") from None
        if len(instance(key, bytes, name="key")) != KEY_BYTES:
            raise OutOfRange(f"key must have {KEY_BYTES} bytes; draw it with secrets.token_bytes.")
        derived = hmac.digest(key, _LABEL_DOMAIN + instance(text, bytes, name="label"), "sha256")
        self._stream = Cipher(algorithms.AES(derived), START).encryptor()
        self._lock = threading.Lock()

    def _fill(self, out: memoryview) -> None:
        self._check_process()
        with self._lock:
            fill_keystream(self._stream, out)
