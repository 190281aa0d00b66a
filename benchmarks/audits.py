"""Audit other libraries by their answers alone: ``./run bench audits``.

docs/benchmarks/audits.md says what is audited and how to read it.  A mechanism is listed as broken
only if its defect has been public before, at the place that the row names.
"""

from __future__ import annotations

import contextlib
import json
import sys
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import machine
from benchmarks.peers.environment import Peers, PeersUnavailable
from discreet.attacks import Batches, Generator, refute
from discreet.attacks.claim import Claim
from discreet.attacks.claims import ApproximateClaim, Concentrated, PureClaim
from discreet.attacks.measured import Measured

MOST, QUICK = 40_000, 4000
COUNTS = ((0, 1), (1, 0))
OTHERS = [[person, "A", 5.0] for person in range(20)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A mechanism of another library, what it claims, and where a defect is public, if one is."""

    library: str
    name: str
    mechanism: str
    claim: Claim
    neighbors: Any
    known: str = ""
    most: int = MOST


MIRONOV = "Mironov 2012"
TRACKER = "IBM/differential-privacy-library#94"
NOISE = (
    Subject(
        library="numpy",
        name="Laplace noise in floats, scale 1",
        mechanism="numpy laplace",
        claim=PureClaim(epsilon=1),
        neighbors=COUNTS,
        known=MIRONOV,
    ),
    Subject(
        library="numpy",
        name="difference of geometric numbers",
        mechanism="numpy geometric",
        claim=PureClaim(epsilon="1.0001"),
        neighbors=COUNTS,
    ),
    Subject(
        library="diffprivlib",
        name="Laplace, epsilon 1",
        mechanism="diffprivlib Laplace",
        claim=PureClaim(epsilon=1),
        neighbors=COUNTS,
        known=TRACKER,
    ),
    Subject(
        library="diffprivlib",
        name="GaussianAnalytic, epsilon 1, delta 1e-5",
        mechanism="diffprivlib GaussianAnalytic",
        claim=ApproximateClaim(epsilon=1, delta="1e-5"),
        neighbors=COUNTS,
        known=TRACKER,
    ),
    Subject(
        library="diffprivlib",
        name="Geometric, epsilon 1",
        mechanism="diffprivlib Geometric",
        claim=PureClaim(epsilon=1),
        neighbors=COUNTS,
    ),
)
VISITORS = (
    Generator("somebody with one row", (([*OTHERS, [99, "A", 10.0]], OTHERS),)),
    Generator(
        "more rows than count",
        tuple(([*OTHERS, *([99, "A", 10.0] for _ in range(k))], OTHERS) for k in (2, 3, 20)),
    ),
    Generator(
        "an amount beyond its bounds",
        tuple(([*OTHERS, [99, "A", amount]], OTHERS) for amount in (1e4, -1e4)),
    ),
    Generator(
        "rows in other groups too",
        (([*OTHERS, *([99, place, 10.0] for place in "ABCD" for _ in range(3))], OTHERS),),
    ),
)
PIPELINE = tuple(
    Subject(
        library="pipeline-dp",
        name=f"{name}, epsilon 1, two rows a person",
        mechanism=name,
        claim=ApproximateClaim(epsilon=1, delta="1e-9"),
        neighbors=VISITORS,
        most=MOST // 10,
    )
    for name in ("count", "sum")
)


def opendp_subjects(claims: dict[str, float]) -> tuple[Subject, ...]:
    """Return the measurements of OpenDP, with what their own maps claim."""
    ties = (([0, 0], [1, -1]), ([1, -1], [0, 0]))
    return tuple(
        Subject(
            library="opendp",
            name=name,
            mechanism=f"opendp {mechanism}",
            claim=kind(claims[f"opendp {mechanism}"]),
            neighbors=pairs,
        )
        for name, mechanism, kind, pairs in (
            ("make_laplace on integers, scale 1", "laplace", pure, COUNTS),
            ("make_laplace on floats, scale 1", "float laplace", pure, COUNTS),
            ("make_gaussian on integers, scale 1", "gaussian", concentrated, COUNTS),
            ("make_noisy_max under zCDP, scale 1", "noisy max", concentrated, ties),
        )
    )


def pure(claimed: float) -> Claim:
    """Claim an epsilon."""
    return PureClaim(epsilon=claimed)


def concentrated(claimed: float) -> Claim:
    """Claim a rho."""
    return Concentrated(rho=claimed)


def audited(subject: Subject, peers: Peers, *, quick: bool) -> Measured:
    """Try to refute what a mechanism claims."""

    def draw(data: Any, n: int) -> list[Any]:
        drawn: list[Any] = peers.ask(mechanism=subject.mechanism, data=data, n=n)["drawn"]
        return drawn

    pairs = subject.neighbors
    generators = pairs if isinstance(pairs[0], Generator) else list(pairs)
    most = min(subject.most, QUICK) if quick else subject.most
    return refute(Batches(draw), generators, most, claim=subject.claim)


def main() -> int:
    """Audit, print and compare with what is known; return the exit status."""
    parser = ArgumentParser(prog="./run bench audits", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer answers, rougher bounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results here")
    options = parser.parse_args()
    rows: list[tuple[Subject, str, Measured]] = []
    try:
        with contextlib.ExitStack() as stack:
            noise = stack.enter_context(Peers("audit_noise", "noise"))
            pipeline = stack.enter_context(Peers("audit_pipelinedp", "ask_pipelinedp"))
            ours = [(each, noise) for each in (*NOISE, *opendp_subjects(noise.first["claims"]))]
            for subject, peers in (*ours, *((each, pipeline) for each in PIPELINE)):
                found = audited(subject, peers, quick=options.quick)
                rows.append((subject, peers.versions[subject.library], found))
    except PeersUnavailable as failure:
        print(f"NO FIGURES: {failure}", file=sys.stderr)
        return 1
    print_table(rows)
    if options.json:
        content = [
            {"library": s.library, "version": number, "name": s.name, "known": s.known}
            | found.to_json()
            for s, number, found in rows
        ]
        text = json.dumps({"machine": machine(), "results": content}, indent=2)
        options.json.write_text(f"{text}\n", encoding="utf-8")
    return int(any(found.violates != bool(subject.known) for subject, _, found in rows))


def print_table(rows: list[tuple[Subject, str, Measured]]) -> None:
    """Print what was claimed and measured, as Markdown."""
    print("| library | mechanism | claimed | measured | answers | verdict |")
    print("|---|---|---|---|---|---|")
    for subject, number, found in rows:
        verdict = f"broken ({subject.known})" if found.violates else "not refuted"
        claimed = f"{found.parameter} {found.claimed:.4g}"
        cells = (
            f"{subject.library} {number}",
            subject.name,
            claimed + (f" at delta {found.delta:g}" if found.delta else ""),
            f"≥ {found.lower:.3f}",
            f"{found.drawn:,}",
            verdict,
        )
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    sys.exit(main())
