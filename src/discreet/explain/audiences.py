"""Four audiences: a person in the data, an analyst, a steward, an auditor.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final, Literal

from discreet.errors import WrongKind
from discreet.explain import words
from discreet.explain.disclosure import Disclosure
from discreet.explain.explanation import Section
from discreet.explain.figures import HOUSEHOLD, Figures
from discreet.explain.not_hidden import not_hidden
from discreet.theorems import theorems
from discreet.units import describe_unit

Audience = Literal["analyst", "subject", "steward", "auditor"]
_PRIORS: Final = (Fraction(1, 100), Fraction(1, 10))
_PRICED: Final = {
    "budget": "Budget",
    "ledger": "Spent",
    "loss": "Loss",
    "plan": "Costs",
    "release": "Cost",
    "tree": "Costs",
}


def title_of(disclosure: Disclosure, audience: str) -> str:
    """Return the heading of an explanation."""
    about = disclosure.about
    named = f": {about.title}" if about.title else ""
    period = f", {about.period}" if about.period else ""
    heads = {
        "subject": "What this means for you",
        "analyst": "What this means",
        "steward": "What was promised and what is spent",
        "auditor": "What can be vouched for",
    }
    return f"{heads[audience]}{named}{period}"


def sections_for(disclosure: Disclosure, figures: Figures, audience: object) -> tuple[Section, ...]:
    """Return the text for an audience; unknown ones are refused.

    >>> from discreet.explain.sources import disclosure_of
    >>> from discreet.loss import Pure
    >>> disclosure = disclosure_of(Pure(epsilon=1))
    >>> len(sections_for(disclosure, Figures.of(disclosure), "subject"))
    3
    """
    writer = _WRITERS.get(str(audience))
    if writer is None:
        raise WrongKind(
            what=f"there is no audience {audience!r}.",
            why="each audience is told other things, in other words.",
            do=f"give one of {', '.join(_WRITERS)}.",
        )
    return tuple(section for section in writer(disclosure, figures) if section.lines)


def _subject(disclosure: Disclosure, figures: Figures) -> Iterator[Section]:
    data = words.data_of(disclosure)
    times = "one answer" if disclosure.releases == 1 else f"{disclosure.releases} answers"
    opening = {
        "release": f"One answer about {data} was given out. Noise was added to it first.",
        "plan": f"Someone wants to ask about {data}. Noise will be added to the answer.",
        "ledger": f"So far {times} about {data} were given out. Noise was added to each.",
    }.get(disclosure.kind, f"Noise is added to all answers about {data}.")
    yield Section(
        heading="The odds",
        lines=(
            opening,
            "Think of someone who knows all there is to know about everyone else.",
            words.worlds(disclosure, figures.one, who="you"),
            words.right(figures.one, "So a guess about you") + " A coin is right 50 times.",
            _subject_alarm(disclosure, figures),
            *_whatever_comes(disclosure, figures),
            *_warning(figures),
        ),
    )
    yield Section(
        heading="Your family",
        lines=()
        if figures.household is None
        else (words.right(figures.household, f"A guess about all {HOUSEHOLD} people of a home"),),
    )
    yield Section(
        heading="What is not hidden",
        lines=(
            (
                "A study can still show that smoking harms smokers. That says something about each "
                "smoker, in the data or not."
            ),
            _who_sees(disclosure),
        ),
    )


def _whatever_comes(disclosure: Disclosure, figures: Figures) -> Iterator[str]:
    """Tell a person that odds so far rest on how questions were chosen, and what does not."""
    if disclosure.kind == "ledger" and figures.promise is not None:
        yield "That counts all questions as if they were picked before the first answer was seen."
        yield words.right(figures.promise, "Whatever is asked, now or later, a guess about you")


def _subject_alarm(disclosure: Disclosure, figures: Figures) -> str:
    caught = words.of_hundred(figures.one.caught[0][1])
    if disclosure.relation.replaces:
        return f"An alarm that is wrong for 1 in 100 people finds {caught}."
    return f"An alarm that is wrong for 1 in 100 people outside the data finds {caught} inside it."


def _who_sees(disclosure: Disclosure) -> str:
    raw = disclosure.about.raw_access
    seen = (
        f"Your exact data is seen by {' and '.join(raw)}."
        if raw
        else ("Whoever holds the data sees your exact data.")
    )
    shown = disclosure.about.released_to or "Others"
    return f"{seen} {shown[0].upper()}{shown[1:]} see the noisy answers only."


def _warning(figures: Figures) -> Iterator[str]:
    if figures.alarming:
        yield (
            "Warning: this protects little. An alarm that is wrong for 1 in 100 finds more than "
            "half of those it looks for."
        )


def _analyst(disclosure: Disclosure, figures: Figures) -> Iterator[Section]:
    yield _cost(disclosure)
    yield Section(
        heading="The odds",
        lines=(
            words.guess(disclosure, figures.one),
            words.worlds(disclosure, figures.one, who=disclosure.entity),
            words.alarms(disclosure, figures.one),
            words.belief(disclosure, figures, priors=_PRIORS),
            *_so_far(disclosure),
            *_warning(figures),
        ),
    )
    yield Section(heading="Accuracy", lines=tuple(f"{text}." for text in disclosure.accuracy))
    yield Section(heading="What is not hidden", lines=tuple(not_hidden(disclosure)))


def _cost(disclosure: Disclosure) -> Section:
    unit = disclosure.entity
    lines = [f"Protects one {unit}, with everything that belongs to it, in {_period(disclosure)}."]
    if disclosure.price:
        lines.append(f"Costs {disclosure.price}.")
    return Section(heading="The promise", lines=tuple(lines))


def _period(disclosure: Disclosure) -> str:
    return disclosure.about.period or "all of the data"


def _steward(disclosure: Disclosure, figures: Figures) -> Iterator[Section]:
    lines = [
        f"Unit: one {disclosure.entity}, {_period(disclosure)}, under {disclosure.relation.value}.",
        f"Releases: {disclosure.releases}." if disclosure.kind == "ledger" else "",
        f"{_PRICED[disclosure.kind]}: {disclosure.price}." if disclosure.price else "",
        f"Left: {disclosure.left}." if disclosure.left else "",
    ]
    yield Section(heading="Budget", lines=tuple(line for line in lines if line))
    yield Section(
        heading="Odds",
        lines=(
            words.guess(disclosure, figures.one),
            words.alarms(disclosure, figures.one),
            words.belief(disclosure, figures, priors=_PRIORS),
            *_so_far(disclosure),
            *_warning(figures),
        ),
    )
    yield Section(
        heading="More than one person's presence", lines=tuple(_beyond(disclosure, figures))
    )
    if figures.promise is not None and disclosure.kind == "ledger":
        yield Section(
            heading="Whatever will be asked",
            lines=(
                "The budget makes a promise for all answers, those to come included.",
                words.right(figures.promise, "A guess"),
                words.alarms(disclosure, figures.promise),
            ),
        )
    yield Section(heading="What is not hidden", lines=tuple(not_hidden(disclosure)))


def _so_far(disclosure: Disclosure) -> Iterator[str]:
    if disclosure.kind == "ledger":
        yield (
            "These odds count the answers so far as if all questions had been chosen before the "
            "first answer was seen. If later questions followed from earlier answers, rely on "
            "the promise of the budget, which holds either way."
        )


def _beyond(disclosure: Disclosure, figures: Figures) -> Iterator[str]:
    if not disclosure.relation.replaces:
        matter = "A guess about a property of somebody who is known to be in the data"
        yield words.right(figures.attribute, matter)
        yield "That takes two steps of the relation: remove the person, add another version."
    if figures.household is not None:
        yield words.right(figures.household, f"A guess about a household of {HOUSEHOLD}")


def _auditor(disclosure: Disclosure, figures: Figures) -> Iterator[Section]:
    yield Section(
        heading="Claim",
        lines=(
            f"Protects {describe_unit(disclosure.unit)}.",
            *((f"Price: {disclosure.price}.",) if disclosure.price else ()),
            *(f"Bound: {loss}." for loss in disclosure.losses),
            f"Best guess between {figures.least_right:.6f} and {figures.one.right:.6f}.",
            *(
                f"Caught at false alarms {float(alarm):g}: at most {caught:.6f}."
                for alarm, caught in figures.one.caught
            ),
            words.delta_in_words(figures),
            *_so_far(disclosure),
        ),
    )
    yield Section(heading="Theorems", lines=tuple(_theorems(disclosure)))
    yield Section(heading="Taken on trust", lines=tuple(f"{text}." for text in disclosure.trusted))
    yield Section(
        heading="Evidence",
        lines=(f"Receipt {disclosure.receipt}.",) if disclosure.receipt else (),
    )
    yield Section(heading="What is not hidden", lines=tuple(not_hidden(disclosure)))


def _theorems(disclosure: Disclosure) -> Iterator[str]:
    for key in ("guessing-odds", "posterior-bound", *disclosure.theorems):
        theorem = theorems().get(key)
        if theorem is not None:
            yield f"{key}: {theorem.statement} ({theorem.source})"


_WRITERS: Final[dict[str, Callable[[Disclosure, Figures], Iterator[Section]]]] = {
    "analyst": _analyst,
    "subject": _subject,
    "steward": _steward,
    "auditor": _auditor,
}
