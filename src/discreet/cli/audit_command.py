"""``discreet audit PROGRAM``: what a program loses, in any language.

Trust: public.

Its neighbors are two files, or made up from a policy: then each table is a CSV file, and the data
set is the file of the one table, or the folder of several.  The command exits with 6 if the program
loses more than it claims.
"""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Final, final

import typer

from discreet.attacks import neighbors_for
from discreet.attacks.claim import Claim
from discreet.attacks.claims import ApproximateClaim, Concentrated, Curve, GaussianMu
from discreet.attacks.estimate import estimate_epsilon
from discreet.attacks.measured import Measured
from discreet.attacks.search.generators import Generator, Neighbors
from discreet.attacks.stopped_audit import refute
from discreet.attacks.subjects import Command
from discreet.cli.exit_codes import DONE, VIOLATION, Ending, errors_reported, tell, write_result
from discreet.cli.options import JsonOption
from discreet.errors import WrongKind

_FIRST: Final = 250


def audit(  # noqa: PLR0913  the options of an audit
    program: Annotated[
        str,
        typer.Argument(
            help="A Python file, or a command line that has {data}; it prints an answer about the "
            "file {data}."
        ),
    ],
    *,
    data: Annotated[
        list[str] | None, typer.Option(help="A file of the program; given twice, for neighbors.")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(help="A policy, beyond whose limits neighbors are made up for the program."),
    ] = None,
    epsilon: Annotated[
        list[str] | None,
        typer.Option(help="What the program claims to lose; again for every delta of a curve."),
    ] = None,
    delta: Annotated[
        list[str] | None, typer.Option(help="The delta that goes with it; 0 unless given.")
    ] = None,
    rho: Annotated[str | None, typer.Option(help="A claim of zero-concentrated privacy.")] = None,
    mu: Annotated[str | None, typer.Option(help="A claim of Gaussian privacy.")] = None,
    curve: Annotated[
        bool, typer.Option("--curve", help="Show what is lost at many deltas, not at one.")
    ] = False,
    runs: Annotated[
        int,
        typer.Option(help="How many answers about each side are drawn at most; fewer if refuted."),
    ] = 2000,
    lines: Annotated[int, typer.Option(help="How many answers a run prints, a line each.")] = 1,
    timeout: Annotated[float, typer.Option(help="How many seconds a run may take.")] = 60.0,
    as_json: JsonOption = False,
) -> None:
    """Measure what a program loses, and refute its claim if that is more."""
    with errors_reported(as_json=as_json) as ending:
        audited = AuditedProgram(
            command=_command(program),
            data=data,
            policy=policy,
            epsilon=epsilon or (),
            delta=delta or (),
            rho=rho,
            mu=mu,
            runs=runs,
            lines=lines,
            timeout=timeout,
            curve=curve,
        )
        audited.audit(ending, as_json=as_json)


def _command(program: str) -> str:
    """Run a Python file with this interpreter and the path of the data.

    >>> _command("./count {data}")
    './count {data}'
    >>> _command("count.py").endswith(" count.py {data}")
    True
    """
    if program.endswith(".py") and "{data}" not in program:
        return f"{shlex.quote(sys.executable)} {shlex.quote(program)} {{data}}"
    return program


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedProgram:
    """A command line, its neighbors, and what it claims: the options of one audit."""

    command: str
    data: Sequence[str] | None
    policy: Path | None
    epsilon: Sequence[str]
    delta: Sequence[str]
    rho: str | None
    mu: str | None
    runs: int
    lines: int
    timeout: float
    curve: bool

    def audit(self, ending: Ending, *, as_json: bool) -> None:
        """Run the program many times, and write what came of it."""
        claim, program = (
            self._claim(),
            Command(self.command, lines=self.lines, timeout=self.timeout),
        )
        with self._neighbors() as neighbors:
            found = self._measured(program, neighbors, claim)
        ending.code = VIOLATION if found.violates else DONE
        if program.timeouts:
            tell(f"{program.timeouts} runs took longer than {program.timeout:g} seconds, ")
            tell("and count as an answer of their own; --timeout gives them more.\n")
        content = {**found.to_json(), "timeouts": program.timeouts}
        write_result("measured", content, self._text(found), as_json=as_json)

    def _measured(self, program: Command, neighbors: Neighbors, claim: Claim) -> Measured:
        """Stop once the claim is refuted; without a claim, judge half of all at once."""
        claimed = any((self.epsilon, self.rho, self.mu))
        if claimed or (isinstance(neighbors, tuple) and isinstance(neighbors[0], Generator)):
            first = max(_FIRST, self.lines)
            return refute(program, neighbors, self.runs, claim=claim, first=first)
        return estimate_epsilon(program, neighbors, max(self.runs // 2, 1), claim=claim)  # type: ignore[arg-type]  # a pair, by now

    def _text(self, found: Measured) -> str:
        spent = f"\n{found.drawn:,} answers about each side were drawn." if found.drawn else ""
        if not self.curve:
            return f"{found}{spent}"
        rows = [
            f"{delta:>8g}  {_number(lower):>16}  {'' if claimed is None else f'{claimed:.4g}':>7}"
            for delta, lower, claimed in found.curve
        ]
        return "\n".join([f"{found}{spent}", "", "   delta  epsilon at least  claimed", *rows])

    def _claim(self) -> Claim:
        """Return the claim: a rho, a mu, or one epsilon for each delta."""
        given = [name for name in ("epsilon", "rho", "mu") if getattr(self, name)]
        if len(given) > 1 or (self.delta and given not in ([], ["epsilon"])):
            raise WrongKind(
                what=f"{' and '.join(f'--{name}' for name in given)} are claimed at once."
                if len(given) > 1
                else f"--delta does not go with --{given[0]}.",
                why="a rho or a mu says what is lost at every delta.",
                do="claim a rho, a mu, or an epsilon for each delta.",
            )
        if self.rho is not None:
            return Concentrated(rho=self.rho)
        if self.mu is not None:
            return GaussianMu(mu=self.mu)
        deltas = list(self.delta) or ["0"]
        if self.epsilon and len(self.epsilon) != len(deltas):
            raise WrongKind(
                what=f"there are {len(self.epsilon)} epsilons and {len(deltas)} deltas.",
                why="each epsilon is claimed at one delta.",
                do="give --epsilon and --delta in turn, as often as the curve has points.",
            )
        if len(self.epsilon) > 1:
            return Curve(dict(zip(deltas, self.epsilon, strict=True)))
        return ApproximateClaim(delta=deltas[0], epsilon=self.epsilon[0] if self.epsilon else None)

    @contextmanager
    def _neighbors(self) -> Iterator[Neighbors]:
        """Yield two files, or generators of pairs of files that exist for as long as it takes."""
        if self.policy is None:
            yield _pair(self.data)
            return
        if self.data:
            raise WrongKind(
                what="--data and --policy are both given.",
                why="neighbors are two files, or made up from a policy.",
                do="leave one of them out.",
            )
        with tempfile.TemporaryDirectory() as folder:
            yield tuple(_written(neighbors_for(self.policy), Path(folder)))


def _number(value: float) -> str:
    return f"{value:.4f}" if value < 1e9 else "infinity"


def _pair(data: Sequence[str] | None) -> tuple[str, str]:
    if data is None or len(data) != 2:
        raise WrongKind(
            what="--data does not name two files.",
            why="what a program loses is measured between two neighboring tables.",
            do="give --data twice: a table with a person, and the same table without; or --policy, "
            "from which such tables are made up.",
        )
    missing = [path for path in data if not Path(path).exists()]
    if missing:
        raise WrongKind(
            what=f"there is no file {missing[0]}.",
            why="the program is run on both files.",
            do="check the path.",
        )
    return data[0], data[1]


def _written(generators: Sequence[Generator], folder: Path) -> Iterator[Generator]:
    """Write every data set as CSV."""
    numbers = count()
    for generator in generators:
        pairs = tuple(
            (_write(one, folder / f"{next(numbers)}"), _write(other, folder / f"{next(numbers)}"))
            for one, other in generator.pairs
        )
        yield Generator(generator.name, pairs)


def _write(tables: dict[str, Any], folder: Path) -> str:
    from pyarrow import csv  # noqa: PLC0415  (a plain audit needs none of it)

    folder.mkdir()
    for name, table in tables.items():
        csv.write_csv(table, folder / f"{name}.csv")
    return str(folder if len(tables) > 1 else folder / f"{next(iter(tables))}.csv")
