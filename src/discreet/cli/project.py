"""Where data, policy and ledger are: from options, and from the policy.

Trust: public.

A policy may name data and ledger in its table ``[session]``; the paths are relative to it.  A file
``policy.toml`` in the current folder is the policy unless another is named.  So in a folder that
``discreet init`` has set up, a question is all that a command needs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, final

from discreet.errors import NotALedger, WrongKind
from discreet.ledger import Ledger
from discreet.ledger.addresses import is_server
from discreet.plan.policy import Policy, read_policy

__all__ = ["POLICY", "SERVERS", "Project", "project_of"]

POLICY: Final = "policy.toml"
SERVERS: Final = ("postgresql://", "postgres://")

Data = str | Mapping[str, str]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The rules, the data and the ledger that a command works with.

    Where they are is not shown, because a password may be in an address.
    """

    policy: Policy
    data: Data | None = field(repr=False)
    ledger: str | None = field(repr=False)

    def named_ledger(self) -> str:
        """Return the address of the ledger, or say how to name it."""
        return self.ledger if self.ledger is not None else _missing("ledger")

    def named_data(self) -> Data:
        """Return where the data is, or say how to name it."""
        return self.data if self.data is not None else _missing("data")

    def before_asking(self) -> Project:
        """Return the same without a ledger that is not there: planning does not make one.

        A ledger whose id is in the policy has to be there; it is never left out.
        """
        said = self.policy.session
        if self.ledger is None or (said is not None and said.ledger_id is not None):
            return self
        if not is_server(self.ledger) and os.path.lexists(self.ledger):
            return self
        try:
            Ledger.open(self.ledger).close()
        except NotALedger:
            return replace(self, ledger=None)
        return self


def project_of(
    *, data: Data | None = None, policy: str | None = None, ledger: str | None = None
) -> Project:
    """Put options before what the policy says.

    >>> project_of(data="visits.csv", ledger="visits.ledger").named_data()
    'visits.csv'
    """
    path = Path(POLICY if policy is None else policy)
    if policy is None and not path.is_file():
        return Project(policy=Policy(), data=data, ledger=ledger)
    if not path.is_file():
        raise WrongKind(
            what="there is no policy at this path.",
            why="without the owner's rules nothing is answered.",
            do="check --policy, or make a policy with `discreet init`.",
        )
    rules, folder = read_policy(path), path.parent
    said = rules.session
    return Project(
        policy=rules,
        data=data if data is not None or said is None else _beside(said.data, folder),
        ledger=ledger if ledger is not None or said is None else _beside(said.ledger, folder),
    )


def _beside(path: str | None, folder: Path) -> str | None:
    return path if path is None or is_server(path) else str(folder / path)


def _missing(name: str) -> str:
    raise WrongKind(
        what=f"no {name} is named.",
        why=f"neither an option nor the policy says where the {name} is.",
        do=f"give --{name}, or write it into the policy: [session], {name} = ...",
    )
