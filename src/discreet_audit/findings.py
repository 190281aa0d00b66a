"""What an attack on an implementation found.

Trust: public.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

from discreet.attacks.measured import Measured


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one attack.

    Attributes:
        code: the name of the attack, A1 to A26, from the list of attacks.
        title: what is attacked, in a few words, from the same list.
        claimed: what must hold.
        measured: what was found, in words and numbers.
        passed: whether it holds, as far as was looked.
        numbers: figures of the measurement, by name.
        rows: certified bounds, where the attack has several.
        not_covered: what the attack does not look at.

    >>> found = Finding(code="A6", title="data-dependent defaults", claimed="refused",
    ...                 measured="3 of 3 refused", passed=True, not_covered="other front ends")
    >>> print(found)
    A6 data-dependent defaults: passed (3 of 3 refused)
    """

    code: str = ""
    title: str = ""
    claimed: str
    measured: str
    passed: bool
    numbers: Mapping[str, int | float | str] = field(default_factory=dict)
    rows: tuple[Measured, ...] = ()
    not_covered: str

    def to_json(self) -> dict[str, Any]:
        """Return all of it in types that JSON knows; an infinite number is text."""
        return {
            "code": self.code,
            "title": self.title,
            "claimed": self.claimed,
            "measured": self.measured,
            "passed": self.passed,
            "numbers": {name: _finite(value) for name, value in self.numbers.items()},
            "rows": [row.to_json() for row in self.rows],
            "not_covered": self.not_covered,
        }

    def __str__(self) -> str:
        """Show the verdict and what it rests on, on one line."""
        verdict = "passed" if self.passed else "VIOLATED"
        return f"{self.code} {self.title}: {verdict} ({self.measured})"


def _finite(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
