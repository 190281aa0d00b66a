"""Checking a site before it is served: errors and unwise settings.

Trust: public.  No private row is read: tables are opened for their columns.

Everything that a server refuses at startup is found here, by the same functions, and nothing is
created: a ledger is opened only if it exists.  People and limits are checked when the file is read.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, final

from discreet.errors import DiscreetError
from discreet.ledger.witness import WitnessFile
from discreet.plan.policy.policy import read_policy
from discreet.service.directory import PasswordFile
from discreet.service.opened_site import opened_ledger
from discreet.service.roles import Permission, permissions_of
from discreet.service.site import ServedDataset, ServerAddress, Site, check_tls
from discreet.service.state import (
    LOCK_NAME,
    LOG_NAME,
    STATE_NAME,
    check_state_file,
    socket_path,
)
from discreet.session import open as open_session

_PACKAGES: Final = ("argon2", "authlib", "fastapi", "httpx", "jinja2", "multipart", "uvicorn")
_SOCKET_PATH: Final = 107
"""How many bytes the path of a socket may have."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFinding:
    """Something about a site; ``serious`` if it cannot or must not be served like this.

    >>> print(SiteFinding(serious=False, words="ticks are off."))
    look at: ticks are off.
    """

    serious: bool
    words: str

    def __str__(self) -> str:
        """Say it on a line."""
        return f"{'mend' if self.serious else 'look at'}: {self.words}"


def check_site(site: Site) -> tuple[SiteFinding, ...]:
    """Return what there is to say about a site."""
    running = _is_running(site)
    serious = [words for name in site.datasets for words in _dataset(site.datasets[name])]
    serious += [*_files(site), *_state(site), *_packages()]
    serious += [] if running else _state_file(site)
    taken = list(_port(site))
    serious += [] if running else taken
    findings = [SiteFinding(serious=True, words=words) for words in serious]
    findings += [SiteFinding(serious=False, words=words) for words in _unwise(site)]
    if running:
        words = "a server runs with this state folder; a second one would be refused."
        findings.append(SiteFinding(serious=False, words=words))
    return tuple(findings)


def _dataset(dataset: ServedDataset) -> Iterator[str]:
    """Open a dataset as a worker does, without its ledger; then open that as the server does."""
    try:
        policy = read_policy(dataset.policy)
        analyst = None if policy.analysts is None else policy.analysts[0]
        open_session(dataset.data, policy=policy, analyst=analyst).close()
        on_server = "://" in dataset.ledger
        if on_server or os.path.lexists(dataset.ledger):
            with opened_ledger(dataset, policy) as ledger:
                if dataset.witness is not None:
                    WitnessFile(dataset.witness).check(ledger)
                    WitnessFile(dataset.witness).check_writable()
            if not on_server and not os.access(dataset.ledger, os.W_OK):
                yield f"dataset {dataset.name}: the ledger cannot be written."
            return
    except DiscreetError as error:
        yield f"dataset {dataset.name}: {error.what}"
        return
    if policy.session is not None and policy.session.ledger_id is not None:
        yield f"dataset {dataset.name}: the ledger that its policy names is not there."
    elif policy.budget is None:
        yield f"dataset {dataset.name}: there is no ledger yet, and the policy names no budget."
    elif not _can_be_made(Path(dataset.ledger)):
        yield f"dataset {dataset.name}: the ledger cannot be made in its folder."
    else:
        yield from _witness(dataset)


def _witness(dataset: ServedDataset) -> Iterator[str]:
    """Check the witness of a ledger that is still to be made."""
    if dataset.witness is None:
        return
    try:
        if WitnessFile(dataset.witness).last() is not None:
            yield f"dataset {dataset.name}: its witness knows a ledger, and there is none."
        WitnessFile(dataset.witness).check_writable()
    except DiscreetError as error:
        yield f"dataset {dataset.name}: {error.what}"


def _can_be_made(path: Path) -> bool:
    return path.parent.is_dir() and os.access(path.parent, os.W_OK | os.X_OK)


def _files(site: Site) -> Iterator[str]:
    for address in _addresses(site):
        try:
            check_tls(address)
        except DiscreetError as error:
            yield error.what
    for key in {each.key for each in _addresses(site)} - {None}:
        if key is not None and key.is_file() and _others(key):
            yield f"the TLS key {key.name} can be read by others."
    if site.provider is not None:
        try:
            site.provider.secret()
        except DiscreetError as error:
            yield error.what
        if site.provider.secret_file.is_file() and _others(site.provider.secret_file):
            yield "the secret of the identity provider can be read by others."
    if site.passwords.is_file() and _others(site.passwords):
        yield f"the password file {site.passwords.name} can be read by others."


def _state(site: Site) -> Iterator[str]:
    folder = site.state
    if folder.is_dir():
        if _others(folder):
            yield "the state folder can be read by others."
        if not os.access(folder, os.W_OK | os.X_OK):
            yield "the state folder cannot be written."
    else:
        above = next(each for each in folder.parents if os.path.lexists(each))
        if os.path.lexists(folder) or not (above.is_dir() and os.access(above, os.W_OK | os.X_OK)):
            yield "the state folder cannot be made."
    for name in site.datasets:
        path = socket_path(folder, name)
        if len(os.fsencode(path)) > _SOCKET_PATH:
            yield f"the path of the state folder is too long for the socket of {name}."
        elif os.path.lexists(path) and not stat.S_ISSOCK(path.lstat().st_mode):
            yield f"something else lies where the socket of {name} goes: {path.name}."


def _state_file(site: Site) -> Iterator[str]:
    """Check what a server writes into its state folder; none runs there now."""
    for name in (LOG_NAME, LOCK_NAME, STATE_NAME):
        path = site.state / name
        if not path.exists():
            continue
        if not (path.is_file() and os.access(path, os.R_OK | os.W_OK)):
            yield f"{name} in the state folder is not a file that can be written."
        elif name == STATE_NAME:
            try:
                check_state_file(path)
            except DiscreetError as error:
                yield error.what


def _packages() -> Iterator[str]:
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        yield f"packages are not installed: {', '.join(missing)}: pip install 'discreet[service]'."


def _port(site: Site) -> Iterator[str]:
    """Try to listen as the server will."""
    for address in _addresses(site):
        host, port = address.host, address.port
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with closing(socket.socket(family, socket.SOCK_STREAM)) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((host, port))
            except (OSError, TypeError):
                yield f"nothing can listen on {host}, port {port}."


def _addresses(site: Site) -> tuple[ServerAddress, ...]:
    return (site.address,) if site.sql_clients is None else (site.address, site.sql_clients)


def _is_running(site: Site) -> bool:
    """Say whether a server holds the state folder."""
    with suppress(OSError):  # it does not exist, or is something else
        held = os.open(site.state / LOCK_NAME, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(held)
    return False


def _others(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o077)


def _unwise(site: Site) -> Iterator[str]:
    if not site.address.loopback and site.address.certificate is None:
        yield "others can reach the address, and there is no TLS: put a proxy with TLS before it."
    if not site.limits.tick:
        yield "ticks are off: the time of an answer reveals how long its data took."
    grants = (*site.people.values(), *site.groups.values())
    if not grants:
        yield "the file names nobody who may log in."
    elif not any(Permission.DECIDE in permissions_of(each.roles) for each in grants):
        yield "nobody can decide on requests for higher limits."
    for name in sorted(PasswordFile(site.passwords).names - set(site.people)):
        yield f"{name} has a password, and no role."
