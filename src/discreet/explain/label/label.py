"""A privacy label: what was released about whom, how much it can give away, and what proves it.

Trust: public.  Every number is computed from the ledger; only ``said`` comes from people.

Definition.  A label has blocks in a fixed order.  ``said`` is the table ``[about]`` of the owner's
policy.  All other blocks follow from the entries of the ledger up to its ``head``, so a reader of
the ledger can recompute them (:mod:`discreet.explain.label.verification`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from discreet import __version__
from discreet.charts import Picture
from discreet.errors import OutOfRange, WrongKind
from discreet.explain.disclosure import Disclosure
from discreet.explain.figures import HOUSEHOLD, Figures
from discreet.explain.guesses import Guesses
from discreet.explain.label.accuracy import accuracy_block
from discreet.explain.label.papers import dpia_text, nist_text, registry_text
from discreet.explain.label.rendering import label_html, label_page, label_text
from discreet.explain.ledger_sources import (
    from_entry,
    from_ledger,
    leaves_of,
    recorded_entry,
)
from discreet.explain.not_hidden import not_hidden
from discreet.explain.pictures.catch_curve import catch_curve
from discreet.explain.pictures.icon_arrays import icon_arrays
from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.values import Receipt
from discreet.notebook import Shown
from discreet.plan.policy.policy import About
from discreet.release import Release
from discreet.session import Session

FORMAT: Final = "privacy-label/1"
_EPSILONS: Final = tuple(map(Fraction, ("0", "0.1", "0.25", "0.5", "1", "2", "4", "8")))


@final
@dataclass(frozen=True, slots=True)
class Label(Shown):
    """A label as plain values; ``to_json`` and the other forms show all of it."""

    content: dict[str, Any]
    pictures: tuple[Picture, ...] = ()

    def to_json(self) -> str:
        """Return the label as JSON, always with the same order of fields."""
        return json.dumps(self.content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """Return the label as one page of HTML, with pictures; it loads nothing."""
        return label_page(self.content, self.pictures)

    def to_nist(self) -> str:
        """Return the label by the sections of NIST SP 800-226, as text."""
        return nist_text(self.content)

    def to_dpia(self) -> str:
        """Return a paragraph for a data protection impact assessment."""
        return dpia_text(self.content)

    def to_registry(self) -> str:
        """Return a draft for the OpenDP registry of deployments, as JSON, which is YAML too."""
        return registry_text(self.content)

    def __str__(self) -> str:
        """Show it as lines of text."""
        return label_text(self.content)

    def _repr_html_(self) -> str:
        return label_html(self.content, self.pictures)


def label_of(
    what: object,
    *,
    about: About | None = None,
    receipt: Receipt | None = None,
    entry: int | None = None,
    ledger: object = None,
) -> Label:
    """Return the label of a session or a ledger, or of one answer that it records.

    Args:
        what: a session, a ledger that is open, or a release.
        about: the owner's description, if no session has one.
        receipt: a head of the ledger; its end unless given.
        entry: the number of the entry that records an answer; all answers by default.
        ledger: of a release, the session or the ledger that recorded it.
    """
    if isinstance(what, Release):
        return label_of(
            ledger, about=about, receipt=receipt, entry=recorded_entry(what, opened_ledger(ledger))
        )
    if isinstance(what, Session):
        about = about or what.policy.about
        what = what.ledger
    opened = opened_ledger(what)
    said = about or About()
    at = receipt or opened.receipt
    disclosure = labeled_disclosure(opened, said, at, entry)
    figures = Figures.of(disclosure)
    return Label(
        {
            "format": FORMAT,
            "said": dict(said.written()),
            **computed_blocks(opened, disclosure, figures, at, entry),
        },
        (icon_arrays(disclosure, figures.one), catch_curve(Guesses(*disclosure.losses))),
    )


def opened_ledger(what: object) -> LedgerView:
    """Return the ledger of a session, or a ledger itself; all else has no label."""
    ledger = what.ledger if isinstance(what, Session) else what
    if isinstance(ledger, LedgerView):
        return ledger
    raise WrongKind(
        what="no ledger is given."
        if ledger is None
        else f"a {type(ledger).__name__} has no label.",
        why="a label is filled from a ledger, which knows who is protected and what was paid.",
        do="give a session with a ledger, or an open ledger; of an answer: answer.label(session).",
    )


def labeled_disclosure(
    ledger: LedgerView, about: About, at: Receipt, entry: int | None
) -> Disclosure:
    """Return what a label is about: all answers up to a receipt, or one of them."""
    if entry is None:
        return from_ledger(ledger, about, receipt=at)
    if entry > at.seq:
        raise OutOfRange(
            what="the answer was recorded after the end of the label.",
            why="a label says nothing about entries after its head.",
            do="give a later receipt, or the number of an earlier entry.",
        )
    ledger.left_as_of(at)  # refuses the receipt of another past
    return from_entry(ledger, entry, about)


def computed_blocks(
    ledger: LedgerView, disclosure: Disclosure, figures: Figures, at: Receipt, entry: int | None
) -> dict[str, Any]:
    """Return the blocks that follow from the ledger alone."""
    numbers = figures.as_json(disclosure.relation)
    promise = numbers.pop("promise", None)
    return {
        "unit": {
            "name": disclosure.unit.name,
            "columns": list(disclosure.unit.columns),
            "relation": disclosure.relation.value,
            "household": HOUSEHOLD,
        },
        "strength": {
            "spent": disclosure.price,
            "left": disclosure.left,
            "curve": _curve(disclosure),
        },
        "odds": numbers,
        "promise": promise,
        "releases": disclosure.releases,
        "how": {
            "mechanisms": sorted(_mechanisms(disclosure)),
            "composition": list(disclosure.theorems),
            "noise": "exact, on integers",
            "randomness": "of the operating system",
        },
        "evidence": {
            "software": f"discreet {__version__}",
            "ledger": at.ledger,
            "entries": at.seq,
            "head": at.head,
            "published": _last_time(ledger, at.seq),
            **({} if entry is None else {"release": entry}),
        },
        "not_hidden": list(not_hidden(disclosure)),
        "total": None if entry is None else _total(ledger, disclosure.about, at),
        "accuracy": accuracy_block(ledger, disclosure.entries, at, entry),
    }


def _total(ledger: LedgerView, about: About, at: Receipt) -> dict[str, Any]:
    """Return the totals of all answers, for the label of one of them."""
    everything = from_ledger(ledger, about, receipt=at)
    return {
        "releases": everything.releases,
        "spent": everything.price,
        "left": everything.left,
        "odds": Figures.of(everything).one.as_json(),
    }


def _curve(disclosure: Disclosure) -> list[list[float]]:
    guesses = Guesses(*disclosure.losses)
    return [
        [float(epsilon), min(loss.delta(epsilon=epsilon) for loss in guesses.losses)]
        for epsilon in _EPSILONS
    ]


def _mechanisms(disclosure: Disclosure) -> set[str]:
    return {
        type(leaf.source).__name__ for tree in disclosure.trees for leaf, _ in leaves_of(tree, 1)
    }


def _last_time(ledger: LedgerView, last: int) -> str | None:
    entry = next(ledger.entries(after=last - 1), None)
    return None if entry is None else str(entry["at"])[:10]  # the day; more would say how long
