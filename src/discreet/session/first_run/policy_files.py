"""A new policy on disk: its ledger is made first, and its id goes into the file.

Trust: kernel.  A policy that names the id of its ledger never makes another one.
"""

from __future__ import annotations

import os
import textwrap
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from discreet.errors import NotALedger, WrongKind
from discreet.ledger import Ledger
from discreet.ledger.store import is_server
from discreet.plan.policy.policy import Policy, SessionSettings

_TITLE: Final = "# Who is protected, and what is public.  Review this file like code.\n"
_KNOWN: Final = "# Bounds and categories are what people know, and never come from the rows.\n"
_WIDTH: Final = 98


def with_ledger(rules: Policy, ledger: str, policy: Path) -> Policy:
    r"""Make the ledger, and return the policy with its id: from now on it has to exist.

    >>> import tempfile
    >>> from discreet.plan.policy.policy import read_policy
    >>> rules = read_policy('format = 1\nunit = "patient"\n[budget]\nepsilon = 1')
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = with_ledger(rules, "clinic.ledger", Path(folder) / "policy.toml")
    >>> len(made.session.ledger_id)
    32
    """
    with Ledger.open(_address(ledger, policy), unit=rules.unit, budget=rules.budget) as made:
        session = replace(rules.session or SessionSettings(), ledger_id=made.id)
    return replace(rules, session=session)


def _address(ledger: str, policy: Path) -> str:
    return ledger if is_server(ledger) else str(policy.parent / ledger)


def refuse_damaged(ledger: str, policy: Path) -> None:
    """Refuse a file that is no ledger, or what a lost one left, before anybody answers questions.

    >>> refuse_damaged("a ledger that nobody has made", Path("policy.toml"))
    """
    place = Path(_address(ledger, policy))
    if not is_server(ledger):
        with suppress(*(() if place.exists() else (NotALedger,))):
            Ledger.open(place).close()


def refuse_overwriting(path: Path) -> None:
    """Refuse a path at which something lies.

    >>> refuse_overwriting(Path("a policy that nobody has written"))
    """
    if path.exists():
        raise WrongKind(
            what=f"{path} is there already.",
            why="a policy that people have reviewed is not replaced in passing.",
            do="remove it, or give --policy with another name.",
        )


def _header(rules: Policy) -> str:
    """Say above a policy whether anything in it comes from the rows, and who let it."""
    told = rules.about.tuning
    if told is None:
        return f"{_TITLE}{_KNOWN}\n"
    words = f"NOT PRIVATE: {told}  Whoever sees them learns that much."
    lines = (f"# {line}\n" for line in textwrap.wrap(words, _WIDTH))
    return f"{_TITLE}{''.join(lines)}\n"


def write_policy(path: Path, rules: Policy) -> None:
    r"""Write a new policy: after a power cut or on a full disk the whole of it is there, or none.

    >>> import tempfile
    >>> from discreet.plan.policy.policy import read_policy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_policy(Path(folder) / "policy.toml", read_policy('format = 1\nunit = "patient"'))
    ...     [found.name for found in Path(folder).iterdir()]
    ['policy.toml']
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with beside.open("x", encoding="utf-8") as file:
            file.write(_header(rules) + rules.written())
            file.flush()
            os.fsync(file.fileno())
        refuse_overwriting(path)
        beside.replace(path)
    except OSError as error:
        raise WrongKind(
            what=f"{path} cannot be written: {error.strerror}.",
            why="nothing was written; the ledger that was made for it is still there.",
            do="make room, or choose another folder; remove the ledger, which is empty.",
        ) from None
    finally:
        with suppress(OSError):
            beside.unlink()
