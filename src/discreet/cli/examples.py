r"""Examples that the help of each command ends with.

Trust: public.

A line that begins with ``\b`` keeps the lines below it as they are.
"""

from __future__ import annotations

from typing import Final

__all__ = ["EXAMPLES"]

_LINES: Final = {
    "discreet": (
        "discreet demo",
        "discreet init visits.csv",
        "discreet check policy.toml",
        'discreet plan "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward" --error n=20',
        'discreet ask "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward" --epsilon 0.1',
        "discreet ledger show",
        "discreet audit",
    ),
    "demo": ("discreet demo", "discreet demo --page tour.html"),
    "init": (
        "discreet init visits.csv",
        "discreet init visits.csv --unit patient --bounds cost=0:900 --categories ward=A,B,C --yes",
    ),
    "check": ("discreet check", "discreet check clinic.toml --data visits.csv --json"),
    "plan": (
        'discreet plan "SELECT COUNT(*) AS n FROM visits" --epsilon 0.1',
        'discreet plan "SELECT AVG(cost) AS c FROM visits" --error c=9 --size 500',
        "discreet plan - --epsilon 0.1 --json < question.sql",
    ),
    "ask": (
        'discreet ask "SELECT COUNT(*) AS n FROM visits" --epsilon 0.1',
        'discreet ask "SELECT COUNT(*) AS n FROM visits" --epsilon 0.1 --dry-run',
        'discreet ask "SELECT COUNT(*) AS n FROM visits" --error n=20 --json',
    ),
    "audit": (
        "discreet audit",
        "discreet audit --long --out audit",
        (
            'discreet audit --command "python3 count.py {data}" --data with.csv --data without.csv '
            "--epsilon 1 --runs 2000"
        ),
    ),
    "ledger": ("discreet ledger show", "discreet ledger verify", "discreet ledger backup FILE"),
    "show": ("discreet ledger show", "discreet ledger show clinic.ledger --json"),
    "verify": ("discreet ledger verify", "discreet ledger verify clinic.ledger --receipt RECEIPT"),
    "backup": ("discreet ledger backup backup.jsonl",),
    "restore": (
        "discreet ledger restore backup.jsonl --reason moved --by ana --approved-by ben",
        "discreet ledger restore backup.jsonl new.ledger --reason moved --by ana --approved-by ben",
    ),
    "reopen": (
        'discreet ledger reopen KEY --reason "a broken disk was replaced" --by ana',
        "discreet ledger reopen KEY clinic.ledger --reason ... --by ana --json",
    ),
    "export": ("discreet ledger export backup.jsonl",),
}
EXAMPLES: Final = {
    name: "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
    for name, lines in _LINES.items()
}
"""The examples of each command, by its name."""
