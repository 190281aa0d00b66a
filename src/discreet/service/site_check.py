"""Checking a site before it is served: what would fail, and what is unwise.

Trust: public.  No private row is read: tables are opened for their columns.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

from discreet.errors import DiscreetError
from discreet.plan.policy.policy import read_policy
from discreet.service.people.roles import Permission, Role, permissions_of
from discreet.service.site import ServedDataset, Site
from discreet.session import open as open_session


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
    serious = [words for name in site.datasets for words in _dataset(site.datasets[name])]
    serious += _files(site)
    findings = [SiteFinding(serious=True, words=words) for words in serious]
    findings += [SiteFinding(serious=False, words=words) for words in _unwise(site)]
    return tuple(findings)


def _dataset(dataset: ServedDataset) -> Iterator[str]:
    """Open a dataset as a worker does, without its ledger."""
    try:
        policy = read_policy(dataset.policy)
        analyst = None if policy.analysts is None else policy.analysts[0]
        open_session(dataset.data, policy=policy, analyst=analyst).close()
    except DiscreetError as error:
        yield f"dataset {dataset.name}: {error.what}"
        return
    there = "://" in dataset.ledger or os.path.lexists(dataset.ledger)
    if policy.budget is None and not there:
        yield f"dataset {dataset.name}: there is no ledger yet, and the policy names no budget."
    if there and "://" not in dataset.ledger and not os.access(dataset.ledger, os.W_OK):
        yield f"dataset {dataset.name}: the ledger cannot be written."


def _files(site: Site) -> Iterator[str]:
    for path in (site.address.certificate, site.address.key):
        if path is not None and not path.is_file():
            yield f"the TLS file {path.name} is not there."
    if site.address.key is not None and site.address.key.is_file() and _others(site.address.key):
        yield f"the TLS key {site.address.key.name} can be read by others."
    if site.state.is_dir() and _others(site.state):
        yield "the state folder can be read by others."


def _others(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o077)


def _unwise(site: Site) -> Iterator[str]:
    if not site.address.loopback and site.address.certificate is None:
        yield "others can reach the address, and there is no TLS: put a proxy with TLS before it."
    if not site.limits.tick:
        yield "ticks are off: the time of an answer tells how long its data took."
    if not site.people:
        yield "the file names nobody: the first run makes one owner, who invites the others."
        return
    held = site.people.values()
    if not any(Role.OWNER in roles for roles in held):
        yield "nobody is an owner: the first run makes one."
    deciding = [roles for roles in held if Permission.DECIDE in permissions_of(roles)]
    if not deciding:
        yield "nobody can decide on requests for higher limits."
