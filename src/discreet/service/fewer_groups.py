"""The same question with one key less: one of the ways out of a refusal.

Trust: public.  What it writes is read, planned and refused like any other question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from discreet.query.sql.tokens import Token, TokenKind, tokens

_ENDS: Final = frozenset({"HAVING", "ORDER BY", "LIMIT", ";"})


def without_last_key(question: str) -> str | None:
    """Return a question without its last key, or None where that is not plain to see.

    >>> without_last_key("SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, 2")
    'SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward'
    >>> without_last_key("SELECT ward AS w, COUNT(*) AS n FROM visits GROUP BY w LIMIT 9")
    'SELECT COUNT(*) AS n FROM visits LIMIT 9'
    >>> without_last_key("SELECT COUNT(*) AS n FROM visits") is None
    True
    """
    read = tokens(question)
    words = [token.word for token in read]
    once = all(words.count(word) == 1 for word in ("SELECT", "FROM", "GROUP BY"))
    if not once or words[1] == "WITH":
        return None
    first, source, group = (words.index(word) for word in ("SELECT", "FROM", "GROUP BY"))
    end = next(at for at in range(group, len(read)) if words[at] in _ENDS or _last(read[at]))
    items, keys = _parts(read[first + 1 : source]), _parts(read[group + 1 : end])
    if not keys or not all(keys) or not all(items):
        return None
    dropped = keys[-1]
    kept = [item for place, item in enumerate(items, 1) if not _names(item, dropped, place)]
    if not kept or words[first + 1] in {"DISTINCT", "ALL"}:
        return None
    grouped = f"GROUP BY {_listed(keys[:-1])} " if keys[:-1] else ""
    between = question[read[source].span.start : read[group].span.start].rstrip()
    rest = question[read[end].span.start :].strip()
    head = question[: read[first].span.end]
    return f"{head} {_listed(kept)} {between} {grouped}{rest}".rstrip()


def _parts(read: Sequence[Token]) -> list[list[Token]]:
    """Split tokens at commas that stand in no parentheses."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in read:
        depth += (token.word in {"(", "["}) - (token.word in {")", "]"})
        if token.word == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _names(item: Sequence[Token], key: Sequence[Token], place: int) -> bool:
    """Say whether an output is a key: by its place, its name, or its expression."""
    if len(key) == 1 and key[0].kind is TokenKind.NUMBER:
        return key[0].text == str(place)
    words = [token.text.casefold() for token in item]
    wanted = [token.text.casefold() for token in key]
    named = len(words) > 2 and item[-2].word == "AS"
    return words == wanted or (named and wanted in ([words[-1]], words[:-2]))


def _listed(parts: Sequence[Sequence[Token]]) -> str:
    return ", ".join(part[0].span.to(part[-1].span).words for part in parts)


def _last(token: Token) -> bool:
    return token.kind is TokenKind.END
