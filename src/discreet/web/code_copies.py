"""A question as code to copy: Python, SQL and curl.

Trust: public.  No token is in it: whoever runs it brings their own.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Final

_TOKEN: Final = "DISCREET_TOKEN"  # noqa: S105  the name of a variable


def copies(
    question: str, price: Mapping[str, object], *, server: str, dataset: str
) -> dict[str, str]:
    """Return the same question in three languages, by their names.

    >>> told = copies("SELECT COUNT(*) AS n FROM t", {"epsilon": "0.1"},
    ...               server="https://data.example", dataset="clinic")
    >>> list(told)
    ['Python', 'SQL', 'curl']
    >>> print(told["SQL"])
    SELECT COUNT(*) AS n FROM t
    """
    return {
        "Python": _python(question, price, server, dataset),
        "SQL": question.strip(),
        "curl": _curl(question, price, server, dataset),
    }


def _python(question: str, price: Mapping[str, object], server: str, dataset: str) -> str:
    options = "".join(f", {name}={value!r}" for name, value in price.items())
    return (
        "import os\n\nimport discreet as dp\n\n"
        f'data = dp.connect({server!r}, token=os.environ["{_TOKEN}"], dataset={dataset!r})\n'
        f"print(data.ask({question.strip()!r}{options}))\n"
    )


def _curl(question: str, price: Mapping[str, object], server: str, dataset: str) -> str:
    body = json.dumps({"sql": question.strip(), **price})
    address = f"{server}/v1/datasets/{dataset}/queries"
    return (
        f"curl --fail-with-body -X POST {shlex.quote(address)} \\\n"
        f'  -H "Authorization: Bearer ${_TOKEN}" -H "Content-Type: application/json" \\\n'
        f'  -H "Idempotency-Key: $(uuidgen)" \\\n  -d {shlex.quote(body)}\n'
    )
