"""Attacks on the implementation: everything a proof leaves out, tried on our own releases.

Trust: public.

Each attack is a file with a function ``attack(*, quick)`` that returns a Finding.  A quick attack
takes seconds at most; a long one looks harder.  Files are loaded when their attack is made.

>>> [attack.code for attack in ATTACKS][:3]
['A1', 'A2', 'A3']
>>> ATTACKS[13](quick=True).passed
True
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from typing import Final, final

from discreet_audit.findings import Finding

__all__ = ["ATTACKS", "Attack", "Finding"]


@final
@dataclass(frozen=True, slots=True)
class Attack:
    """One attack: its code, what it is about, and the file that makes it."""

    code: str
    title: str
    file: str

    def __call__(self, *, quick: bool) -> Finding:
        """Load the file and make the attack."""
        finding: Finding = importlib.import_module(f"{__name__}.{self.file}").attack(quick=quick)
        return replace(finding, code=self.code, title=self.title)


ATTACKS: Final = (
    Attack("A1", "support and precision of floats", "float_support"),
    Attack("A2", "time of the samplers", "sampler_timing"),
    Attack("A3", "time of a whole answer", "ask_timing"),
    Attack("A4", "sensitivity of sums", "sum_sensitivity"),
    Attack("A5", "poisoned rows", "poison"),
    Attack("A6", "defaults taken from data", "defaults"),
    Attack("A7", "claimed against measured", "claimed"),
    Attack("A8", "composition of what is charged", "odometer"),
    Attack("A9", "protocol of the budget", "budget_protocol"),
    Attack("A10", "errors that tell", "error_oracle"),
    Attack("A11", "averaging and replay", "replay"),
    Attack("A12", "differencing and reconstruction", "small_groups"),
    Attack("A13", "randomness", "randomness"),
    Attack("A14", "weights of selection", "selection_weights"),
    Attack("A15", "questions that kill", "query_of_death"),
    Attack("A16", "fuzzed questions", "fuzz"),
    Attack("A17", "laws against code", "drift"),
    Attack("A18", "noise that repeats", "sessions.repeated_noise"),
    Attack("A19", "visitors beyond every limit", "sessions.beyond_limits"),
    Attack("A20", "charges before reads", "sessions.charge_first"),
    Attack("A21", "accounts below accounts", "sessions.sub_accounts"),
    Attack("A22", "two questions with one digest", "sessions.one_digest"),
    Attack("A23", "people who are replaced", "sessions.replaced_people"),
    Attack("A24", "joins that mix people", "sessions.refused_joins"),
    Attack("A25", "tables that drift between sessions", "sessions.drifting_tables"),
    Attack("A26", "people who do not pay", "sessions.scopes"),
)
