"""An exercise: a question, the distribution that judges its answers, and an explained solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, final


@final
@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer is right, and its mistake if not.

    >>> print(Verdict(right=False, words="too large."))
    not yet: too large.
    """

    right: bool
    words: str

    def __bool__(self) -> bool:
        """Say whether the answer is right."""
        return self.right

    def __str__(self) -> str:
        """Say it in a line."""
        return f"{'right' if self.right else 'not yet'}: {self.words}"

    __repr__ = __str__


class Judge(Protocol):
    """What decides whether an answer is right, by computing rather than by a list."""

    def verdict(self, answer: Any) -> Verdict:
        """Judge an answer."""
        ...

    def model(self) -> Any:
        """Return an answer that is right."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """One question at the end of a page of the gallery."""

    key: str
    page: str
    question: str
    judge: Judge
    solution: str
