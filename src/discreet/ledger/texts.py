"""Texts of entries: keys, questions, reasons and names of people.

Trust: kernel.  A text that reads the same and is not the same hides one request behind another.
"""

from __future__ import annotations

from discreet.errors import OutOfRange, WrongKind

__all__ = ["checked_text", "refuse_one_person"]


def checked_text(text: object, *, name: str, most: int) -> str:
    """Refuse what is no text that people can read: empty, too long, or with control characters.

    >>> checked_text("visits by ward", name="key", most=200)
    'visits by ward'
    """
    if not isinstance(text, str):
        raise WrongKind(
            what=f"the {name} is a {type(text).__name__}, not text.",
            why="it is kept in an entry, for people to read and to look up.",
            do=f"give the {name} as text.",
        )
    if not text.strip() or len(text) > most or not text.isprintable():
        raise OutOfRange(
            what=f"the {name} is blank, longer than {most} characters, or has control characters.",
            why="it is kept in an entry, for people to read and to look up.",
            do=f"give a {name} of 1 to {most} printable characters.",
        )
    return text


def refuse_one_person(by: str, approved_by: str) -> None:
    """Refuse that the same person asks and agrees.

    >>> refuse_one_person("ana", "ben")
    """
    if by.strip().casefold() == approved_by.strip().casefold():
        raise OutOfRange(
            what="the same person asks and agrees.",
            why="what weakens a promise takes two people.",
            do="have somebody else approve it.",
        )
