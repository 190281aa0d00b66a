"""A check that is bought: the largest distance of a workload, measured with noise.

Trust: kernel.  It reads the data again, and is charged as a question of its own.

Definition.  The model is public, and its marginals are rounded to the grid of scores.  The check
releases the largest L1 distance between the counts of a marginal of the workload and the model's,
in whole rows, plus discrete Laplace noise.
Theorem (key ``workload-check``).  If one unit moves the joint histogram by at most d rows, the
largest distance moves by at most d, and by at most 2 d if one unit replaces another.
Proof.  Each distance to fixed numbers moves by no more than the counts of its marginal do in L1
(key ``joint-histogram``), and so does the largest of them.  Rounding down to whole rows keeps a
whole bound, since it commutes with adding integers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Leaf
from discreet.errors import NewerFormat, SourceChanged
from discreet.exact import decimal, positive
from discreet.mechanisms import Laplace
from discreet.noise import Entropy
from discreet.query.question import Question
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import RawTotals
from discreet.session import Session
from discreet.session.programs import Program
from discreet.synthetic.domain import Domain
from discreet.synthetic.inference.inference import Marginal, Model
from discreet.synthetic.joint import GRID, JointHistogram, UnitMoves, joint_request, moved_by
from discreet.units import PrivacyUnit

_FORMAT: Final = 1


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The largest distance of a workload, with noise: in rows, and as a share of the model's.

    >>> print(Checked(rows=120, half_width=30, total=1000.0, epsilon=Fraction(1, 10),
    ...               confidence=Fraction(19, 20)))
    Checked for epsilon 0.1: the worst marginal is off by 120 ± 30 rows (6 %), at 95 % confidence.
    """

    rows: int
    half_width: int
    total: float
    epsilon: Fraction
    confidence: Fraction
    replayed: bool = False

    @property
    def share(self) -> float:
        """Half of the distance as a share of the rows of the model: the total variation, about."""
        return min(1.0, max(0.0, self.rows / (2 * self.total))) if self.total > 0 else 1.0

    def __str__(self) -> str:
        """Say it in a sentence."""
        return (
            f"Checked for epsilon {float(self.epsilon):.4g}: the worst marginal is off by "
            f"{self.rows:,} ± {self.half_width:,} rows ({100 * self.share:.3g} %), at "
            f"{float(100 * self.confidence):.4g} % confidence."
        )


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CheckDraw:
    """Computes the largest distance, and adds noise; ``evidence`` is a digest of what it checks."""

    evidence: str
    sizes: tuple[int, ...]
    expected: tuple[tuple[Marginal, NDArray[np.int64]], ...]
    noise: Laplace

    def document(self) -> dict[str, Any]:
        """Return all public parameters."""
        public = hashlib.sha256(b"".join(counts.tobytes() for _, counts in self.expected))
        return {
            "kind": "check of a synthetic table",
            "evidence": self.evidence,
            "workload": [list(marginal) for marginal, _ in self.expected],
            "expected": public.hexdigest(),
        }

    def charged(self, reads: tuple[EngineRequest, ...], unit: PrivacyUnit) -> Leaf:
        """Return one count, which moves as far as a marginal does in L1."""
        (request,) = reads
        return UnitMoves(moved_by(request), unit).measured(self.noise)

    def __call__(
        self,
        raws: tuple[RawTotals, ...],
        *,
        entropy: Entropy,
        digest: str,  # noqa: ARG002  the ledger has it
        sources: tuple[tuple[str, str], ...],  # noqa: ARG002  the evidence names them
    ) -> bytes:
        """Return the stored form."""
        (raw,) = raws
        largest = self.largest(JointHistogram.of(raw, self.sizes))
        released = int(self.noise.run(largest, entropy=entropy))
        return json.dumps({"format": _FORMAT, "rows": released}).encode("ascii")

    def largest(self, joint: JointHistogram) -> int:
        """Return the largest distance, in whole rows; it is private."""
        return max(
            _distance(joint.marginal(marginal), expected) for marginal, expected in self.expected
        )


def check_program(  # noqa: PLR0913  all that a check is about
    session: Session,
    question: Question,
    domain: Domain,
    model: Model,
    workload: Sequence[Marginal],
    *,
    evidence: bytes,
    epsilon: Fraction,
) -> tuple[Program, Laplace]:
    """Return the program of a check, and its noise."""
    rows = session.program_rows(question)
    read = joint_request(rows, domain)
    moves = UnitMoves(moved_by(read), session.unit)
    noise = Laplace(scale=Fraction(moves.l1) / epsilon)
    expected = tuple((r, _on_grid(model.marginal(r))) for r in workload)
    draw = CheckDraw(
        evidence=hashlib.sha256(evidence).hexdigest(),
        sizes=domain.coded.sizes,
        expected=expected,
        noise=noise,
    )
    return Program.of(rows, unit=session.unit, reads=(read,), delta=None, draw=draw), noise


def buy_check(  # noqa: PLR0913  all that a check is about
    session: Session,
    question: Question,
    domain: Domain,
    model: Model,
    workload: Sequence[Marginal],
    *,
    evidence: bytes,
    sources: tuple[tuple[str, str], ...],
    epsilon: object,
    confidence: Fraction,
    confirm: bool = False,
) -> Checked:
    """Charge for a check and carry it out; the same check again is free."""
    price = positive(decimal(epsilon, name="epsilon"), name="epsilon")
    program, noise = check_program(
        session, question, domain, model, workload, evidence=evidence, epsilon=price
    )
    if session.sources(program) != sources:
        raise SourceChanged(
            what="the data is not that of the synthetic table: it changed, or is another table.",
            why="a check compares the synthetic table with the data that it was made from.",
            do="make a synthetic table of the data as it is now, and check that one.",
        )
    stored = session.perform(program, confirm=confirm)
    return Checked(
        rows=_read(stored.answer),
        half_width=int(noise.error(confidence=confidence)),
        total=model.total,
        epsilon=price,
        confidence=confidence,
        replayed=stored.replayed,
    )


def _distance(counts: NDArray[np.int64], expected: NDArray[np.int64]) -> int:
    """Return an L1 distance in whole rows; cells are clamped so that no sum overflows."""
    apart = np.abs(counts * GRID - expected)
    return int(np.minimum(apart, (1 << 62) // apart.size).sum()) // GRID


def _on_grid(counts: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(np.clip(counts, 0, 1 << 40) * GRID).astype(np.int64).ravel()


def _read(data: bytes) -> int:
    found = json.loads(data)
    if found.get("format") != _FORMAT:
        raise NewerFormat(
            what="a check on record has a format that is not known here.",
            why="a newer version may have written it.",
            do="read it with that version.",
        )
    return int(found["rows"])
