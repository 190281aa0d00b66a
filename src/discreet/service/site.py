"""The site: what one server serves, to whom, and within which limits.

Trust: kernel.  Which ledger belongs to which data is read here.

A site file is TOML.  It names datasets (data, policy and ledger of each), people and their roles,
limits, and the address.  It holds no password and no token.  It is read strictly
(:mod:`discreet.service.site_toml`); paths are relative to the file.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Final, final

from discreet.errors import NotAllowed
from discreet.service.people.roles import Grant

PORT: Final = 8750
_MEBIBYTE: Final = 1 << 20


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ServedDataset:
    """One dataset: tables, the owner's policy for them, and the ledger that pays.

    ``witness`` is a file in another place, by which a ledger that was put back is known.
    Addresses are not shown, because a password may be in one.
    """

    name: str
    policy: Path
    data: str | Mapping[str, str] = field(repr=False)
    ledger: str = field(repr=False)
    witness: Path | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """Where the server listens.

    >>> ServerAddress().loopback, ServerAddress().url
    (True, 'http://127.0.0.1:8750')
    """

    host: str = "127.0.0.1"
    port: int = PORT
    certificate: Path | None = None
    key: Path | None = None
    public_url: str | None = None

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def url(self) -> str:
        """The address that people are told."""
        scheme = "http" if self.certificate is None else "https"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.public_url or f"{scheme}://{host}:{self.port}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedProxy:
    """A proxy that says where calls come from and, if it logs people in, who they are.

    Its headers are believed where a call comes from one of its addresses, and nowhere else (T8).

    >>> TrustedProxy(addresses=frozenset({"10.0.0.5"})).user is None
    True
    """

    addresses: frozenset[str]
    user: str | None = None
    """The header with the name of who has logged in."""
    groups: str | None = None
    """The header with their groups, between commas."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """What one call, one person and one worker may use; none of it depends on data.

    ``tick`` is the time after which answers of the smallest class of plans are sent; larger
    classes wait longer (:mod:`discreet.service.workers.plan_class`).  Zero sends them at once,
    which tells how long they took.
    """

    workers: int = 2
    memory: int = 4096 * _MEBIBYTE
    seconds: Fraction = Fraction(30)
    tick: Fraction = Fraction(1, 4)
    calls_per_minute: int = 120
    logins_per_minute: int = 10
    session_hours: int = 12
    body_bytes: int = 256 * 1024


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Everything that one server serves.

    ``loopback_person`` is set in the mode without log-in, for one person on a laptop: everybody
    who reaches the server is that person, so it listens on this machine alone.

    >>> site = Site(state=Path("state"), datasets={})
    >>> site.address.port, site.loopback_person is None
    (8750, True)
    """

    state: Path
    datasets: Mapping[str, ServedDataset]
    people: Mapping[str, Grant] = field(default_factory=lambda: MappingProxyType({}))
    """Who may log in, with their roles and datasets: the only source of both."""
    groups: Mapping[str, Grant] = field(default_factory=lambda: MappingProxyType({}))
    """What the members of groups may do, which a proxy names."""
    proxy: TrustedProxy | None = None
    address: ServerAddress = field(default_factory=ServerAddress)
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    loopback_person: str | None = None

    @property
    def passwords(self) -> Path:
        """The file with the passwords, beside the state folder."""
        return self.state.with_suffix(".passwords")

    def __post_init__(self) -> None:
        """Refuse a server without log-in that others can reach."""
        if self.loopback_person is not None and not self.address.loopback:
            raise NotAllowed(
                what=f"a server without log-in would listen on {self.address.host}.",
                why="everybody who reaches it could spend the budget.",
                do="listen on 127.0.0.1, or use `discreet serve`, where people log in.",
            )
