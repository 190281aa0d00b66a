"""What a person says about a node: names and flags, and what a leaf is certified for.

Trust: kernel.  Everything is read and refused here, before anything is priced.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import whole
from discreet.loss import PrivacyLoss, Pure
from discreet.mechanisms import Gaussian, Laplace, Mapped, Mechanism
from discreet.mechanisms.mechanism import factor
from discreet.units import PrivacyUnit, Relation

Source = Mechanism[Any, Any] | PrivacyLoss
"""What a leaf releases: a mechanism, or all that is known of one."""

_LONGEST: Final = 200
_MOST_COORDINATES: Final = 10**12


def checked_name(value: object) -> str:
    """Return a name to show: printable text on one line, perhaps empty."""
    if not isinstance(value, str) or not value.isprintable() or len(value) > _LONGEST:
        raise WrongKind(
            what=f"a name is not one line of at most {_LONGEST} printable characters.",
            why="names stand beside prices, and must not be taken for something else.",
            do="give a short text, or leave the name out.",
        )
    return value


def checked_flag(value: object, *, name: str) -> bool:
    """Return True or False, and nothing that merely looks like one."""
    if not isinstance(value, bool):
        raise WrongKind(
            what=f"{name} is a {type(value).__name__}, not True or False.",
            why="it decides which theorem is used, and must not be given by accident.",
            do=f"give {name}=True or {name}=False.",
        )
    return value


def innermost_source(source: Source) -> Source:
    """Return what is run before any function of its answer: post-processing changes no price.

    >>> innermost_source(Laplace(scale=2).map(abs)) == Laplace(scale=2)
    True
    """
    while isinstance(source, Mapped):
        source = source.mechanism
    return source


def relation_of(source: object, relation: object, unit: object) -> Relation:
    """Return the relation that a source is certified for: as given, or as source or unit say."""
    if not isinstance(source, Mechanism | PrivacyLoss):
        raise WrongKind(
            what=f"a {type(source).__name__} is neither a mechanism nor a privacy loss.",
            why="a leaf is a release, and needs to know what it loses.",
            do="give a mechanism, such as Laplace(scale=2), or a loss, such as Pure(epsilon=1).",
        )
    if unit is not None and not isinstance(unit, PrivacyUnit):
        raise WrongKind(
            what=f"the unit is a {type(unit).__name__}, not a PrivacyUnit.",
            why="a loss means something only together with whom it is about.",
            do="give person(...), custom(...) or row(), or leave it out for rows.",
        )
    sayings = [
        None if relation is None else Relation.read(relation),
        getattr(innermost_source(source), "relation", None),
        None if unit is None else unit.relation,
    ]
    said = [saying for saying in sayings if isinstance(saying, Relation)]
    if len(set(said)) > 1:
        names = " and ".join(sorted({repr(saying.value) for saying in said}))
        raise WrongKind(
            what=f"the leaf, its source and its unit name different relations: {names}.",
            why="a loss under one relation says nothing about the neighbors of another.",
            do="name one relation throughout, the one that the source is certified for.",
        )
    return said[0] if said else Relation.ADD_REMOVE


def distance_added(source: Source, added: object) -> Fraction:
    """Read how far one step of the relation moves the input."""
    distance = factor(added, name="added")
    if distance != 1 and isinstance(source, PrivacyLoss):
        raise OutOfRange(
            what="added is given for a loss, and is not 1.",
            why="a loss is that of one step already.",
            do="leave it out, or give the mechanism in place of its loss.",
        )
    if distance != 1 and _counts_steps(source):
        raise OutOfRange(
            what=f"added is given for a {type(innermost_source(source)).__name__}, and is not 1.",
            why="its distances are counted in steps of its relation, not in units of an answer.",
            do="leave it out; where one row becomes several, say Group(leaf, distance=...).",
        )
    return distance


def when_replaced(
    source: Source, replaced: object, relation: Relation
) -> Fraction | PrivacyLoss | None:
    """Read what is known where a row is replaced: a distance, a loss, or nothing."""
    if replaced is None:
        return None
    if relation.replaces:
        raise WrongKind(
            what=f"replaced is given under the relation {relation.value!r}.",
            why="there, replacing a row is a step already, and its distance is the one in added.",
            do="leave it out, or certify the source for 'add_remove'.",
        )
    if isinstance(replaced, PrivacyLoss):
        return replaced
    distance = factor(replaced, name="replaced")
    if isinstance(source, PrivacyLoss) and distance == 0:
        return Pure(epsilon=0)
    if isinstance(source, PrivacyLoss) or _counts_steps(source):
        raise WrongKind(
            what="replaced is a number, but the source knows no distance of its answers.",
            why="the price of a replaced row cannot be read off it.",
            do="give the loss where one row is replaced, or leave it out.",
        )
    return distance


def common_domain_of(value: object, relation: Relation) -> bool:
    """Read whether a certificate covers records replaced anywhere."""
    flag = checked_flag(value, name="common_domain")
    if flag and relation is not Relation.REPLACE:
        raise WrongKind(
            what=f"common_domain is given under the relation {relation.value!r}.",
            why="it says where a record may be replaced, so it belongs to 'replace'.",
            do="leave it out, or certify the source for 'replace' on whole tables.",
        )
    return flag


def coordinates_of(source: Source, coordinates: object) -> int:
    """Read in how many places inputs may differ."""
    places = whole(coordinates, name="coordinates", low=1, high=_MOST_COORDINATES)
    if places > 1 and not isinstance(innermost_source(source), Laplace | Gaussian):
        raise WrongKind(
            what="coordinates are given for a source that has none.",
            why="only noise that is added to vectors is priced by them.",
            do="leave them out.",
        )
    return places


def _counts_steps(source: Source) -> bool:
    return isinstance(getattr(innermost_source(source), "relation", None), Relation)
