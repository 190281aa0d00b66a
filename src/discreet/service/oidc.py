"""Log-in by OpenID Connect: an identity provider names the person and their groups.

Trust: kernel (T8).

The authorization code flow with PKCE, as OpenID Connect Core 3.1 describes it.  Each log-in has a
state, a nonce and a verifier of its own, which this process keeps for ten minutes and uses once; a
cookie ties it to the browser that began it, so that a link cannot log a person in as another. An
identity token counts if a key of the provider has signed it, for this client, in answer to this
log-in, within its time.  Roles and datasets come from the site file, by name and by group.
"""

from __future__ import annotations

import ipaddress
import json
import threading
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, final
from urllib.parse import urlsplit

import httpx
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from discreet.errors import NotAllowed, TryAgain
from discreet.service.credentials import new_secret, same_secret, secret_hash
from discreet.service.site import IdentityProvider

CALLBACK: Final = "/login/callback"
"""Where the provider sends browsers back to; it is registered there."""
_ALGORITHMS: Final = ("RS256", "PS256", "ES256", "ES384", "EdDSA", "Ed25519")
_SECONDS: Final = 600.0
_MOST: Final = 10_000
_TIMEOUT: Final = 10.0
_LEEWAY: Final = 60
_FRESH: Final = 3600.0


class Identity(NamedTuple):
    """A person logged in by a provider, and their groups."""

    name: str
    groups: tuple[str, ...]


class _Begun(NamedTuple):
    browser: str
    nonce: str
    verifier: str
    until: float


@final
class OpenIdLogin:
    """The log-ins by one identity provider."""

    __slots__ = ("_begun", "_client", "_known", "_lock", "_provider", "_redirect")

    def __init__(self, provider: IdentityProvider, *, url: str) -> None:
        """Take the provider, and the address at which browsers know this server."""
        self._provider, self._redirect = provider, f"{url}{CALLBACK}"
        self._client = httpx.Client(timeout=_TIMEOUT, follow_redirects=False)
        self._begun: dict[str, _Begun] = {}
        self._known: tuple[float, Mapping[str, Any], KeySet] | None = None
        self._lock = threading.Lock()

    def begin(self) -> tuple[str, str]:
        """Return where a browser logs in, and the secret that ties it to this browser."""
        known, _ = self._metadata()
        state, nonce, verifier, browser = (new_secret() for _ in range(4))
        now = time.monotonic()
        with self._lock:
            if len(self._begun) >= _MOST:
                self._begun = {key: each for key, each in self._begun.items() if each.until > now}
            if len(self._begun) >= _MOST:
                self._begun.clear()
            self._begun[state] = _Begun(secret_hash(browser), nonce, verifier, now + _SECONDS)
        address = prepare_grant_uri(
            _secure(known["authorization_endpoint"]),
            client_id=self._provider.client_id,
            response_type="code",
            redirect_uri=self._redirect,
            scope=self._provider.scope,
            state=state,
            nonce=nonce,
            code_challenge=create_s256_code_challenge(verifier),
            code_challenge_method="S256",
        )
        return str(address), browser

    def end(self, said: Mapping[str, str], browser: str) -> Identity:
        """Return whom the provider has logged in; a state is used once, by its own browser."""
        with self._lock:
            begun = self._begun.pop(said.get("state", ""), None)
        ours = begun is not None and same_secret(secret_hash(browser), begun.browser)
        if begun is None or not ours or begun.until < time.monotonic() or "code" not in said:
            raise _refused("it was not begun here, took too long, or was broken off")
        known, keys = self._metadata()
        answer = self._fetched(
            "POST",
            _secure(known["token_endpoint"]),
            data={
                "grant_type": "authorization_code",
                "code": said["code"],
                "redirect_uri": self._redirect,
                "code_verifier": begun.verifier,
            },
            auth=(self._provider.client_id, self._provider.secret()),
        )
        claims = self._claims(str(answer.get("id_token", "")), keys, begun.nonce)
        name, groups = (claims.get(each, "") for each in self._provider.claims)
        listed = [groups] if isinstance(groups, str) else groups
        if not isinstance(name, str) or not isinstance(listed, list):
            raise _refused("it names nobody")
        return Identity(name, tuple(str(each) for each in listed if each))

    def _claims(self, token: str, keys: KeySet, nonce: str) -> Mapping[str, Any]:
        provider = self._provider
        try:
            read = jwt.decode(token, keys, algorithms=_ALGORITHMS)
            claims = CodeIDToken(
                read.claims,
                read.header,
                options={"iss": {"value": provider.issuer}, "aud": {"value": provider.client_id}},
                params={"nonce": nonce, "client_id": provider.client_id},
            )
            claims.validate(leeway=_LEEWAY)
        except (JoseError, ValueError):
            with self._lock:
                self._known = None  # the provider may have new keys
            raise _refused("what it says is not signed by it, or is about another log-in") from None
        return dict(claims)

    def _metadata(self) -> tuple[Mapping[str, Any], KeySet]:
        """Return what the provider says of itself, and its keys; it is asked once an hour."""
        with self._lock:
            known = self._known
        if known is not None and known[0] > time.monotonic():
            return known[1:]
        issuer = self._provider.issuer
        place = f"{_secure(issuer).rstrip('/')}/.well-known/openid-configuration"
        found = self._fetched("GET", place)
        if found.get("issuer") != issuer:
            raise _refused("it calls itself by another name than the site file does")
        keys = KeySet.import_key_set(self._fetched("GET", _secure(found.get("jwks_uri"))))  # type: ignore[arg-type]
        with self._lock:
            self._known = (time.monotonic() + _FRESH, found, keys)
        return found, keys

    def _fetched(self, method: str, address: str, **more: Any) -> dict[str, Any]:
        try:
            answer = self._client.request(method, address, **more)
            found = json.loads(answer.content) if answer.is_success else None
        except (httpx.HTTPError, ValueError):
            found = None
        if not isinstance(found, dict):
            raise TryAgain(
                what="the identity provider does not answer as it should.",
                why="it says who you are, and nobody is let in without it.",
                do="try again in a while; if it stays so, ask the owner of the server.",
            )
        return found

    def close(self) -> None:
        """Close connections to the provider."""
        self._client.close()


def _secure(address: object) -> str:
    """Return an address to which secrets may be sent: over TLS, or within this machine (T8)."""
    parts = urlsplit(str(address))
    try:
        here = ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        here = parts.hostname == "localhost"
    if parts.scheme != "https" and not (parts.scheme == "http" and here):
        raise _refused("an address of it is not https")
    return str(address)


def _refused(what: str) -> NotAllowed:
    return NotAllowed(
        what=f"the log-in by the identity provider did not succeed: {what}.",
        why="answers cost budget, so everybody shows who they are.",
        do="begin the log-in again.",
    )


__all__ = ["CALLBACK", "Identity", "OpenIdLogin"]
