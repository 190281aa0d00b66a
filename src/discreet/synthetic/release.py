"""A synthetic table as it is handed out.

Trust: public.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, final

from discreet.synthetic.evidence import Evidence
from discreet.synthetic.synthesis_plan import SynthesisPlan

if TYPE_CHECKING:  # handed in
    from discreet.ledger.values import Receipt


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SyntheticRelease:
    """The evidence of a synthetic table, with its plan and its receipt."""

    plan: SynthesisPlan
    evidence: Evidence
    receipt: Receipt | None
    replayed: bool
    private: bool

    @classmethod
    def of(
        cls,
        plan: SynthesisPlan,
        evidence: Evidence,
        *,
        receipt: Receipt | None,
        replayed: bool,
        private: bool,
    ) -> Self:
        """Put together what belongs together."""
        return cls(
            plan=plan, evidence=evidence, receipt=receipt, replayed=replayed, private=private
        )
