"""The site: what one server serves, to whom, and within which limits; and the file that says so.

Trust: kernel.  Which ledger belongs to which data is read here.

A site file is TOML.  It names datasets (data, policy and ledger of each), people and groups with
their roles, limits, and the address.  It holds no password and no token.  It is read strictly:
what cannot be followed is refused, and never ignored.  Paths are relative to the file.

The path of a policy may replace a site: its table ``[session]`` names data and ledger, and it is
served as one dataset with the name of its file, to ``owner`` and to the analysts that it names.
"""

from __future__ import annotations

import ipaddress
import re
import ssl
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, final

from discreet.errors import BadPolicy, DiscreetError, NotAllowed
from discreet.exact import decimal
from discreet.ledger.sqlite import is_own_file, same_file
from discreet.plan.policy.policy import Policy, read_policy
from discreet.service.roles import Grant, Role, check_grants, check_name
from discreet.service.state import socket_path

PORT: Final = 8750
SQL_PORT: Final = 5432
_MEBIBYTE: Final = 1 << 20


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ServedDataset:
    """One dataset: tables, the owner's policy for them, and the ledger that pays.

    ``witness`` is a file in another place, which detects a ledger that was put back.
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
        """The address that people use."""
        scheme = "http" if self.certificate is None else "https"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.public_url or f"{scheme}://{host}:{self.port}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedProxy:
    """A proxy that says where calls come from and, if it logs people in, who they are.

    Its headers are believed if a call comes from one of its addresses, and nowhere else (T8).

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
class IdentityProvider:
    """An OpenID Connect provider, which names people and their groups.

    >>> IdentityProvider(issuer="https://login.example", client_id="discreet",
    ...                  secret_file=Path("oidc.secret")).claims
    ('preferred_username', 'groups')
    """

    issuer: str
    client_id: str
    secret_file: Path
    """Holds the client's secret, on one line."""
    claims: tuple[str, str] = ("preferred_username", "groups")
    """The claims with the name and with the groups."""
    scope: str = "openid profile"

    def secret(self) -> str:
        """Read the client's secret."""
        try:
            return self.secret_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise BadPolicy(
                what="the secret of the identity provider cannot be read.",
                why="the server shows by it who it is.",
                do=f"write it into {self.secret_file.name}, for the user of the server alone.",
            ) from None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """What one call, one person and one worker may use; none of it depends on data.

    ``tick`` is the time after which answers of the smallest class of plans are sent; larger
    classes wait longer (:mod:`discreet.service.workers.jobs`).  Zero sends them at once, which
    reveals how long they took.
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

    ``loopback_person`` is set in the mode without log-in, for one person on a laptop: every visitor
    of the server is that person, so it listens on this machine alone.

    >>> site = Site(state=Path("state"), datasets={})
    >>> site.address.port, site.loopback_person is None
    (8750, True)
    """

    state: Path
    datasets: Mapping[str, ServedDataset]
    people: Mapping[str, Grant] = field(default_factory=lambda: MappingProxyType({}))
    """Who may log in, with their roles and datasets: the only source of both."""
    groups: Mapping[str, Grant] = field(default_factory=lambda: MappingProxyType({}))
    """What the members of groups may do, which a provider or a proxy names."""
    proxy: TrustedProxy | None = None
    provider: IdentityProvider | None = None
    address: ServerAddress = field(default_factory=ServerAddress)
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    sql_clients: ServerAddress | None = None
    """Where SQL clients connect, by PostgreSQL's protocol; nowhere unless given."""
    loopback_person: str | None = None

    @property
    def passwords(self) -> Path:
        """The file with the passwords, next to the state folder."""
        return self.state.with_suffix(".passwords")

    def __post_init__(self) -> None:
        """Refuse a server without log-in, or tokens without TLS, that others can reach."""
        sql = self.sql_clients
        if sql is not None and not sql.loopback and sql.certificate is None:
            raise NotAllowed(
                what=f"SQL clients would send tokens to {sql.host} without TLS.",
                why="anyone who reads a token on its way can spend the budget.",
                do="name a certificate and a key, or listen on 127.0.0.1.",
            )
        if self.loopback_person is not None and not self.address.loopback:
            raise NotAllowed(
                what=f"a server without log-in would listen on {self.address.host}.",
                why="everybody who reaches it could spend the budget.",
                do="listen on 127.0.0.1, or use `discreet serve`, where people log in.",
            )


_FORMAT: Final = 1
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,38}", re.ASCII)
SITE_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "": (
        *("format", "state", "address", "sql_clients", "oidc", "proxy", "limits", "datasets"),
        *("people", "groups"),
    ),
    "address": ("host", "port", "certificate", "key", "public_url"),
    "sql_clients": ("host", "port", "certificate", "key"),
    "limits": (
        "workers",
        "memory_mib",
        "seconds",
        "tick",
        "calls_per_minute",
        "logins_per_minute",
        "session_hours",
        "body_kib",
    ),
    "datasets.NAME": ("policy", "data", "ledger", "witness"),
    "people.NAME": ("roles", "datasets"),
    "groups.NAME": ("roles", "datasets"),
    "oidc": ("issuer", "client_id", "secret_file", "name_claim", "groups_claim", "scope"),
    "proxy": ("addresses", "user", "groups"),
}
"""All keys of a site file, by the header above them; every other one is refused."""
_SERVERS: Final = ("postgresql://", "postgres://")


def read_site(path: Path, *, loopback_person: str | None = None) -> Site:
    """Read a site file, or make a site of a policy.

    Args:
        path: the file.
        loopback_person: serve this one person without log-in, on this machine alone.
    """
    data = _parsed(path)
    site = _site(data, path.parent, path) if "datasets" in data else _site_of_policy(path)
    return site if loopback_person is None else replace(site, loopback_person=loopback_person)


def _parsed(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        return tomllib.loads(text, parse_float=lambda digits: decimal(digits, name="a number"))
    except (OSError, UnicodeDecodeError):
        raise _unreadable(f"the file '{path}' cannot be read", "check its name") from None
    except (tomllib.TOMLDecodeError, DiscreetError) as error:
        words = str(error).splitlines()[0].rstrip(".")
        raise _unreadable(f"it is not TOML: {words}", "mend the line that is named") from None


def _site_of_policy(path: Path) -> Site:
    policy = read_policy(path)
    said = policy.session
    if said is None or said.data is None or said.ledger is None:
        raise _unreadable(
            "it names no dataset, and as a policy neither data nor ledger",
            "write [datasets.NAME] with policy, data and ledger; or [session] in the policy",
        )
    name = re.sub(r"[^a-z0-9_-]", "-", path.stem.lower()).strip("-0123456789") or "data"
    dataset = ServedDataset(
        name=name,
        policy=path.absolute(),
        data=said.data_from(path.parent.absolute()) or "",
        ledger=_beside(said.ledger, path.parent),
    )
    return Site(
        state=path.absolute().parent / f"{path.stem}.state",
        datasets={name: dataset},
        people={
            **{each: Grant(roles=frozenset({Role.ANALYST})) for each in policy.analysts or ()},
            "owner": Grant(roles=frozenset({Role.OWNER})),
        },
    )


def _site(data: Mapping[str, Any], folder: Path, path: Path) -> Site:
    _known(data, "")
    if data.get("format") != _FORMAT:
        raise _unreadable(f"format is not {_FORMAT}", f"write format = {_FORMAT} at the top")
    datasets = {
        name: _dataset(name, _table(each, f"datasets.{name}"), folder)
        for name, each in _table(data["datasets"], "datasets").items()
    }
    ledgers = [dataset.ledger for dataset in datasets.values()]
    if not datasets or len(set(ledgers)) != len(ledgers):
        raise _unreadable(
            "there is no dataset, or two have the same ledger",
            "give each dataset a ledger of its own; put tables about the same people into one",
        )
    witnesses = [each.witness for each in datasets.values() if each.witness is not None]
    if any(same_file(one, other) for one, other in combinations(witnesses, 2)):
        raise _unreadable(
            "two datasets have the same witness", "give each ledger a witness of its own"
        )
    people = dict(_people(_table(data.get("people", {}), "people"), datasets))
    state = (folder / _text(data.get("state", f"{path.stem}.state"), "state")).absolute()
    for witness in witnesses:
        if same_file(witness, path) or any(
            _is_used(witness, each, state) for each in datasets.values()
        ):
            raise _unreadable(
                "a witness is a file that is used already", "name a file of its own for it"
            )
    address = _address(_table(data.get("address", {}), "address"), folder)
    sql_clients = None
    if "sql_clients" in data:
        sql_clients = _sql_clients(_table(data["sql_clients"], "sql_clients"), folder, address)
    return Site(
        state=state,
        datasets=datasets,
        people=people,
        sql_clients=sql_clients,
        groups=dict(_grants(_table(data.get("groups", {}), "groups"), datasets, "groups")),
        proxy=_proxy(data.get("proxy")),
        provider=_provider(data.get("oidc"), folder),
        address=address,
        limits=_limits(_table(data.get("limits", {}), "limits")),
    )


def _dataset(name: str, data: Mapping[str, Any], folder: Path) -> ServedDataset:
    _known(data, "datasets.NAME", name)
    if not _NAME.fullmatch(name):
        raise _unreadable(
            f"'{name}' is not a name of a dataset", "use lower-case letters, digits, - and _"
        )
    policy_path = folder / _text(data.get("policy"), f"datasets.{name}.policy")
    policy = read_policy(policy_path)
    said = _said(policy, policy_path.parent)
    source = data.get("data")
    own = policy.session and policy.session.data_from(policy_path.parent.absolute())
    if "data" not in data and own is not None:
        where: str | Mapping[str, str] = own
    elif isinstance(source, Mapping):
        tables = {each: _beside(_text(where, each), folder) for each, where in source.items()}
        where = tables
    else:
        where = _beside(_text(source, f"datasets.{name}.data"), folder)
    ledger = _text(data.get("ledger", said.get("ledger")), f"datasets.{name}.ledger")
    witness = data.get("witness")
    return ServedDataset(
        name=name,
        policy=policy_path.absolute(),
        data=where,
        ledger=_beside(ledger, folder),
        witness=None
        if witness is None
        else (folder / _text(witness, f"datasets.{name}.witness")).absolute(),
    )


def _is_used(witness: Path, dataset: ServedDataset, state: Path) -> bool:
    """Say whether a witness is the policy, the data, the ledger or the socket of a dataset."""
    data = [dataset.data] if isinstance(dataset.data, str) else dataset.data.values()
    others = (dataset.policy, socket_path(state, dataset.name), *data)
    return is_own_file(dataset.ledger, witness) or any(same_file(witness, each) for each in others)


def _said(policy: Policy, folder: Path) -> dict[str, str]:
    """Return where a policy says that its ledger is."""
    said = policy.session
    found = {} if said is None else {"ledger": said.ledger}
    return {name: _beside(value, folder) for name, value in found.items() if value is not None}


def _people(data: Mapping[str, Any], datasets: Mapping[str, object]) -> Iterator[tuple[str, Grant]]:
    for name, grant in _grants(data, datasets, "people"):
        check_name(name)
        yield name, grant


def _grants(
    data: Mapping[str, Any], datasets: Mapping[str, object], header: str
) -> Iterator[tuple[str, Grant]]:
    for name, each in data.items():
        said = _table(each, f"{header}.{name}")
        _known(said, f"{header}.NAME", name)
        words = _texts(said.get("roles"), f"{header}.{name}.roles")
        if not words <= {role.value for role in Role}:
            known = ", ".join(role.value for role in Role)
            raise _unreadable(f"a role of {name} is unknown", f"use some of: {known}")
        where = said.get("datasets")
        seen = None if where is None else _texts(where, f"{header}.{name}.datasets")
        if seen is not None and not seen <= set(datasets):
            raise _unreadable(
                f"{name} may see a dataset that is not there", "name datasets of this file"
            )
        grant = Grant(roles=frozenset(map(Role, words)), datasets=seen)
        check_grants(name, [grant])
        yield name, grant


def _provider(data: object, folder: Path) -> IdentityProvider | None:
    if data is None:
        return None
    said = _table(data, "oidc")
    _known(said, "oidc")
    given = {name: _text(said.get(name), f"oidc.{name}") for name in ("issuer", "client_id")}
    names = zip(("name_claim", "groups_claim"), ("preferred_username", "groups"), strict=True)
    claims = [_text(said.get(name, usual), f"oidc.{name}") for name, usual in names]
    return IdentityProvider(
        issuer=given["issuer"],
        client_id=given["client_id"],
        secret_file=(folder / _text(said.get("secret_file"), "oidc.secret_file")).absolute(),
        claims=(claims[0], claims[1]),
        scope=_text(said.get("scope", "openid profile"), "oidc.scope"),
    )


def _proxy(data: object) -> TrustedProxy | None:
    if data is None:
        return None
    said = _table(data, "proxy")
    _known(said, "proxy")
    addresses = _texts(said.get("addresses"), "proxy.addresses")
    named = [name for name in ("user", "groups") if name in said]
    headers = {name: _text(said[name], f"proxy.{name}") for name in named}
    try:
        known = frozenset(str(ipaddress.ip_address(each)) for each in addresses)
    except ValueError:
        raise _unreadable("proxy.addresses has no address", 'write ["10.0.0.5"], say') from None
    return TrustedProxy(addresses=known, **headers)


def sql_address(address: ServerAddress, *, port: int = SQL_PORT) -> ServerAddress:
    """Return where SQL clients connect if only the port is named: the pages' host, with its TLS.

    >>> sql_address(ServerAddress()).port
    5432
    """
    return replace(address, port=port, public_url=None)


def _sql_clients(data: Mapping[str, Any], folder: Path, pages: ServerAddress) -> ServerAddress:
    given = _address(data, folder, "sql_clients")
    named = {name: getattr(given, name) for name in data}
    return replace(sql_address(pages), **named)


def _address(data: Mapping[str, Any], folder: Path, header: str = "address") -> ServerAddress:
    _known(data, header)
    files = {
        name: (folder / _text(data[name], f"{header}.{name}")).absolute()
        for name in ("certificate", "key")
        if name in data
    }
    if len(files) == 1:
        raise _unreadable("TLS needs a certificate and a key", "name both files, or none")
    port = data.get("port", ServerAddress().port)
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port < 65536:
        raise _unreadable(f"{header}.port is not a port", "write port = 8750, say")
    host = _text(data.get("host", "127.0.0.1"), f"{header}.host")
    url = data.get("public_url")
    return ServerAddress(
        host=host,
        port=port,
        public_url=None if url is None else _text(url, "address.public_url").rstrip("/"),
        **files,
    )


def _limits(data: Mapping[str, Any]) -> ServiceLimits:
    _known(data, "limits")
    given: dict[str, Any] = {}
    for name, value in data.items():
        exact = isinstance(value, Fraction) and name in {"seconds", "tick"}
        whole = isinstance(value, int) and not isinstance(value, bool)
        least = 0 if name == "tick" else 1
        if not (exact or whole) or value < (least if whole else 0):
            raise _unreadable(f"limits.{name} is not a valid number", f"write {name} = 1, say")
        given[name] = Fraction(value) if name in {"seconds", "tick"} else value
    if "memory_mib" in given:
        given["memory"] = given.pop("memory_mib") << 20
    if "body_kib" in given:
        given["body_bytes"] = given.pop("body_kib") << 10
    return ServiceLimits(**given)


def _beside(path: str, folder: Path) -> str:
    return path if path.startswith(_SERVERS) else str((folder / path).absolute())


def _known(data: Mapping[str, Any], header: str, name: str = "") -> None:
    for key in data:
        if key not in SITE_KEYS[header]:
            place = header.replace("NAME", name) or "the top level"
            raise _unreadable(
                f"{place} has an unknown key '{key}'", "remove it, or mend its spelling"
            )


def _table(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _unreadable(f"{name} is not a table", f"write [{name}]")
    return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise _unreadable(
            f"{name} is missing, or no text", f'write {name.rpartition(".")[2]} = "..."'
        )
    if "\0" in value:
        raise _unreadable(
            f"{name} has the character 0 in it", "remove it: no name or path holds one"
        )
    return value


def _texts(value: object, name: str) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise _unreadable(
            f"{name} is not a list of texts", f'write {name.rpartition(".")[2]} = ["..."]'
        )
    return frozenset(value)


def _unreadable(what: str, do: str) -> BadPolicy:
    return BadPolicy(
        what=f"the site file cannot be followed: {what}.",
        why="a server must not guess what it serves, and to whom.",
        do=f"{do}.",
    )


def check_tls(address: ServerAddress) -> None:
    """Refuse a certificate and a key that no server could use.

    >>> check_tls(ServerAddress())
    """
    if address.certificate is None:
        return
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(address.certificate, address.key, password=_no_password)
    except OSError as error:  # errors of TLS among them
        raise _bad_tls(_words(error)) from None


def _no_password() -> str:
    """Return no password, for lack of a terminal."""
    return ""


def _words(error: OSError) -> str:
    if not isinstance(error, ssl.SSLError):
        return "one of the files is not there, or cannot be read"
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the key is not that of the certificate"
    return "one of the files is not PEM, or the key has a password"


def _bad_tls(what: str) -> BadPolicy:
    return BadPolicy(
        what=f"TLS cannot be used: {what}.",
        why="passwords and answers must not travel in the clear where TLS was meant to be.",
        do="name a certificate (with its chain) and its key without a password, both in PEM.",
    )
