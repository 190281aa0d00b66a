"""Reading a site file, strictly: what cannot be followed is refused, and never ignored.

Trust: kernel.

The path of a policy may stand in for a site: its table ``[session]`` names data and ledger, and it
is served as one dataset with the name of its file, to ``owner`` and to the analysts that it names.
"""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from discreet.errors import BadPolicy, DiscreetError
from discreet.exact import decimal
from discreet.ledger.sqlite import is_own_file, same_file
from discreet.plan.policy.policy import Policy, read_policy
from discreet.service.people.roles import Grant, Role, check_grants, check_name
from discreet.service.site import ServedDataset, ServerAddress, ServiceLimits, Site, TrustedProxy
from discreet.service.state_files import socket_path

_FORMAT: Final = 1
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,38}", re.ASCII)
SITE_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("format", "state", "address", "proxy", "limits", "datasets", "people", "groups"),
    "address": ("host", "port", "certificate", "key", "public_url"),
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
        raise _bad(f"the file '{path}' cannot be read", "check its name") from None
    except (tomllib.TOMLDecodeError, DiscreetError) as error:
        words = str(error).splitlines()[0].rstrip(".")
        raise _bad(f"it is not TOML: {words}", "mend the line that is named") from None


def _site_of_policy(path: Path) -> Site:
    policy = read_policy(path)
    said = policy.session
    if said is None or said.data is None or said.ledger is None:
        raise _bad(
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
        raise _bad(f"format is not {_FORMAT}", f"write format = {_FORMAT} at the top")
    datasets = {
        name: _dataset(name, _table(each, f"datasets.{name}"), folder)
        for name, each in _table(data["datasets"], "datasets").items()
    }
    ledgers = [dataset.ledger for dataset in datasets.values()]
    if not datasets or len(set(ledgers)) != len(ledgers):
        raise _bad(
            "there is no dataset, or two have the same ledger",
            "give each dataset a ledger of its own; put tables about the same people into one",
        )
    witnesses = [each.witness for each in datasets.values() if each.witness is not None]
    if any(same_file(one, other) for one, other in combinations(witnesses, 2)):
        raise _bad("two datasets have the same witness", "give each ledger a witness of its own")
    people = dict(_people(_table(data.get("people", {}), "people"), datasets))
    state = (folder / _text(data.get("state", f"{path.stem}.state"), "state")).absolute()
    for witness in witnesses:
        if same_file(witness, path) or any(
            _is_used(witness, each, state) for each in datasets.values()
        ):
            raise _bad("a witness is a file that is used already", "name a file of its own for it")
    return Site(
        state=state,
        datasets=datasets,
        people=people,
        groups=dict(_grants(_table(data.get("groups", {}), "groups"), datasets, "groups")),
        proxy=_proxy(data.get("proxy")),
        address=_address(_table(data.get("address", {}), "address"), folder),
        limits=_limits(_table(data.get("limits", {}), "limits")),
    )


def _dataset(name: str, data: Mapping[str, Any], folder: Path) -> ServedDataset:
    _known(data, "datasets.NAME", name)
    if not _NAME.fullmatch(name):
        raise _bad(f"'{name}' is no name of a dataset", "use lower-case letters, digits, - and _")
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
            raise _bad(f"a role of {name} is unknown", f"use some of: {known}")
        where = said.get("datasets")
        seen = None if where is None else _texts(where, f"{header}.{name}.datasets")
        if seen is not None and not seen <= set(datasets):
            raise _bad(f"{name} may see a dataset that is not there", "name datasets of this file")
        grant = Grant(roles=frozenset(map(Role, words)), datasets=seen)
        check_grants(name, [grant])
        yield name, grant


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
        raise _bad("proxy.addresses has no address", 'write ["10.0.0.5"], say') from None
    return TrustedProxy(addresses=known, **headers)


def _address(data: Mapping[str, Any], folder: Path) -> ServerAddress:
    _known(data, "address")
    files = {
        name: (folder / _text(data[name], f"address.{name}")).absolute()
        for name in ("certificate", "key")
        if name in data
    }
    if len(files) == 1:
        raise _bad("TLS needs a certificate and a key", "name both files, or none")
    port = data.get("port", ServerAddress().port)
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port < 65536:
        raise _bad("address.port is no port", "write port = 8750, say")
    host = _text(data.get("host", "127.0.0.1"), "address.host")
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
            raise _bad(f"limits.{name} is no number of its kind", f"write {name} = 1, say")
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
            raise _bad(f"{place} has an unknown key '{key}'", "remove it, or mend its spelling")


def _table(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _bad(f"{name} is no table", f"write [{name}]")
    return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise _bad(f"{name} is missing, or no text", f'write {name.rpartition(".")[2]} = "..."')
    if "\0" in value:
        raise _bad(f"{name} has the character 0 in it", "remove it: no name or path holds one")
    return value


def _texts(value: object, name: str) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise _bad(f"{name} is no list of texts", f'write {name.rpartition(".")[2]} = ["..."]')
    return frozenset(value)


def _bad(what: str, do: str) -> BadPolicy:
    return BadPolicy(
        what=f"the site file cannot be followed: {what}.",
        why="a server must not guess what it serves, and to whom.",
        do=f"{do}.",
    )
