"""An answer in files: where it is, what it cost, and a way to read it.

Trust: public.  It holds the names and digests of files, and nothing else of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import final

import pyarrow as pa

from discreet.engines.parquet_files import read_table
from discreet.ledger import Receipt
from discreet.loss import PrivacyLoss
from discreet.plan.plan import Plan, Price
from discreet.release.odds import Odds, odds_of_plans
from discreet.session.manifest import Manifest

__all__ = ["WrittenRelease"]


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
        """Show the size, the names and the folder alone."""
        return f"WrittenRelease({len(self)} rows of {', '.join(self.columns)} in {self.folder})"
