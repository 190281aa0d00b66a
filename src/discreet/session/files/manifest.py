"""Answers in files: what a ledger records of them, and a way to read them.

Trust: kernel.  What is on record says which files are the answer, byte for byte.

Definition.  A manifest is canonical JSON: the files with their rows and SHA-256, the columns with
their types, the folder that they were first written to, the digest of the plan, and the confidence
of its intervals.  The numbers themselves are in the files alone: if these are lost, so is the
answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, final

import pyarrow as pa

from discreet.engines.parquet_files import ReleasedFile, digest_of, read_table
from discreet.errors import WrongKind
from discreet.ledger.entries import canonical
from discreet.plan.statistics.truncation import limits_bind
from discreet.release.odds import Odds, odds_of_plans

if TYPE_CHECKING:  # all are handed in
    from discreet.ledger.values import Receipt
    from discreet.loss import PrivacyLoss
    from discreet.plan.plan import Plan, Price

_FORMAT: Final = 1


def answered_into_files_error() -> WrongKind:
    """Return the error for asking for an answer that is in files."""
    return WrongKind(
        what="this question was answered into files, at this price.",
        why="one question at one price has one answer, and that one may be too large to hand out.",
        do="read it with session.write(question, folder), which costs nothing more.",
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The files of an answer, in the order in which they are read.

    >>> from discreet.session.answer_pipeline import is_manifest
    >>> file = ReleasedFile(name="answer.parquet", rows=2, digest="0" * 64)
    >>> known = Manifest(plan="p", folder="/answers/wards", confidence=Fraction(19, 20),
    ...                  columns=(("ward", "string"), ("n", "int64")), files=(file,))
    >>> Manifest.read(known.written(), plan="p") == known, is_manifest(known.written()), known.rows
    (True, True, 2)
    """

    plan: str
    folder: str
    confidence: Fraction
    columns: tuple[tuple[str, str], ...]
    files: tuple[ReleasedFile, ...]

    @property
    def rows(self) -> int:
        """How many rows all files have together."""
        return sum(file.rows for file in self.files)

    def matches(self, folder: Path) -> bool:
        """Say whether a folder holds all files as they were written."""
        return all(digest_of(folder / file.name) == file.digest for file in self.files)

    def written(self) -> bytes:
        """Return it as it is stored; ``read`` gives it back."""
        document = {
            "answer": "in files",
            "columns": self.columns,
            "confidence": str(self.confidence),
            "files": [[file.name, file.rows, file.digest] for file in self.files],
            "folder": self.folder,
            "format": _FORMAT,
            "plan": self.plan,
        }
        return canonical(document).encode("ascii")

    @classmethod
    def read(cls, stored: bytes, *, plan: str) -> Self:
        """Read what is stored for a plan."""
        try:
            document = json.loads(stored)
            known = document["format"] == _FORMAT and document["plan"] == plan
            manifest = cls._read(document) if known else None
        except (ValueError, KeyError, TypeError, ZeroDivisionError):
            manifest = None
        if manifest is None:
            raise WrongKind(
                what="what is stored about the files of an answer cannot be read.",
                why="it was written by another version of this package, or for another plan.",
                do="read it with the version that wrote it.",
            )
        return manifest

    @classmethod
    def _read(cls, document: Mapping[str, Any]) -> Self:
        return cls(
            plan=str(document["plan"]),
            folder=str(document["folder"]),
            confidence=Fraction(document["confidence"]),
            columns=tuple((str(name), str(kind)) for name, kind in document["columns"]),
            files=tuple(_file(*file) for file in document["files"]),
        )


def _file(name: str, rows: int, digest: str) -> ReleasedFile:
    if Path(name).name != name or type(rows) is not int:
        raise TypeError
    return ReleasedFile(name=name, rows=rows, digest=digest)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WrittenRelease:
    """A folder of Parquet files; any program can read them.

    Attributes:
        plan: how it was computed.
        folder: where the files are.
        manifest: the files, with their rows and digests.
        receipt: where the ledger stood once the answer was recorded.
        replayed: whether it had been recorded before, and so cost nothing.
        private: false if it comes from a rehearsal, where nothing is protected.
    """

    plan: Plan
    folder: Path
    manifest: Manifest
    receipt: Receipt | None
    replayed: bool
    private: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, those of the ends of intervals among them."""
        return tuple(name for name, _ in self.manifest.columns)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files, in their order."""
        return tuple(self.folder / file.name for file in self.manifest.files)

    @property
    def confidence(self) -> Fraction:
        """With which probability a number without noise lies in its interval."""
        return self.manifest.confidence

    @property
    def price(self) -> Price:
        """What was paid."""
        return self.plan.price

    @property
    def loss(self) -> PrivacyLoss:
        """The whole loss of one unit."""
        return self.plan.loss

    @property
    def odds(self) -> Odds:
        """What the loss means."""
        return odds_of_plans((self.plan,))

    def to_arrow(self) -> pa.Table:
        """Read all files, each of which has to be what was recorded."""
        return pa.concat_tables([read_table(self.folder, file) for file in self.manifest.files])

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.manifest.rows

    def __repr__(self) -> str:
        """Show the size, the names and the folder, and whether limits may have cut it."""
        cut = "; limits may have cut it" if limits_bind(self.plan.truncations) else ""
        names = ", ".join(self.columns)
        return f"WrittenRelease({len(self)} rows of {names} in {self.folder}{cut})"
