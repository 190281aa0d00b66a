"""A question as code to copy: for a server, Python, SQL and curl; on a laptop, a command.

Trust: public.  No token is in it: whoever runs it brings their own.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any, Final

from discreet.service.site import Site

_TOKEN: Final = "DISCREET_TOKEN"  # noqa: S105  the name of a variable


def copies_of(
    question: str, price: Mapping[str, Any], *, site: Site, dataset: str
) -> dict[str, str]:
    """Return a question as code: of a client, or of whoever has the files."""
    price = {name: value for name, value in price.items() if name != "confirm"}
    if site.loopback_person is None:
        return served_copies(question, price, server=site.address.url, dataset=dataset)
    found = site.datasets[dataset]
    data = found.data if isinstance(found.data, str) else dict(found.data)
    return local_copies(question, price, data=data, policy=str(found.policy), ledger=found.ledger)


def served_copies(
    question: str, price: Mapping[str, Any], *, server: str, dataset: str
) -> dict[str, str]:
    """Return the same question in three languages, by their names.

    >>> told = served_copies("SELECT COUNT(*) AS n FROM t", {"epsilon": "0.1"},
    ...                      server="https://data.example", dataset="clinic")
    >>> list(told)
    ['Python', 'SQL', 'curl']
    >>> print(told["SQL"])
    SELECT COUNT(*) AS n FROM t
    """
    asked = question.strip()
    body = json.dumps({"question": asked, **price})
    address = f"{server}/v1/datasets/{dataset}/queries"
    return {
        "Python": (
            "import os\n\nimport discreet as dp\n\n"
            f"server, token = {server!r}, os.environ[{_TOKEN!r}]\n"
            f"with dp.connect(server, token=token, dataset={dataset!r}) as data:\n"
            f"    print(data.ask({asked!r}{_arguments(price)}))\n"
        ),
        "SQL": asked,
        "curl": (
            f"curl --fail-with-body -X POST {shlex.quote(address)} \\\n"
            f'  -H "Authorization: Bearer ${_TOKEN}" -H "Content-Type: application/json" \\\n'
            f'  -H "Idempotency-Key: $(date +%s%N)" \\\n  -d {shlex.quote(body)}\n'
        ),
    }


def local_copies(
    question: str, price: Mapping[str, Any], *, data: object, policy: str, ledger: str
) -> dict[str, str]:
    """Return the same question for somebody who has the files.

    >>> told = local_copies("SELECT COUNT(*) AS n FROM t", {"epsilon": "0.1"},
    ...                     data="t.csv", policy="policy.toml", ledger="t.ledger")
    >>> print(told["command"])
    discreet ask 'SELECT COUNT(*) AS n FROM t' --policy policy.toml --epsilon 0.1
    """
    asked = question.strip()
    options = ["--policy", policy]
    for name, value in price.items():
        if isinstance(value, Mapping):
            options += [part for each in value.items() for part in ("--error", "=".join(each))]
        else:
            options += [f"--{name}", str(value)]
    return {
        "Python": (
            "import discreet as dp\n\n"
            f"with dp.open({data!r}, policy={policy!r}, ledger={ledger!r}) as data:\n"
            f"    print(data.ask({asked!r}{_arguments(price)}))\n"
        ),
        "SQL": asked,
        "command": shlex.join(["discreet", "ask", asked, *options]),
    }


def _arguments(price: Mapping[str, Any]) -> str:
    return "".join(f", {name}={value!r}" for name, value in price.items())
