"""Every error that discreet raises: what happened, why it matters, what to do.

Trust: public.

One tree, so that a caller can catch as much or as little as it wants::

    DiscreetError
    ├── InputError                an argument cannot be used; nothing was drawn, read or spent
    │   ├── NotExact        E001  a float where an exact number is needed
    │   ├── OutOfRange      E002  a number outside the range in which the answer is defined
    │   ├── WrongKind       E003  a value of the wrong or of a mixed type
    │   ├── TooLarge        E004  a result that would not fit in 64-bit integers
    │   └── NotComposable   E005  a composition that no theorem supports
    ├── EntropyError              randomness cannot be had safely; nothing was drawn
    │   ├── EntropyUnavailable  E201  the operating system gave no random bits
    │   ├── EntropyCopied       E202  an attempt to copy or store a random stream
    │   ├── EntropyForked       E203  a keyed stream used in another process than its own
    │   ├── EntropyExhausted    E204  a recorded stream has no words left
    │   └── EntropyBusy         E205  a keyed stream asked for words amid another request
    └── BudgetError               privacy cannot be paid for; nothing was spent
        └── OverBudget      E301  a charge that does not fit into what is left

Each leaf has a code, and each code a page ``docs/errors/<code>.md``.
"""

from __future__ import annotations

from typing import ClassVar, final

__all__ = [
    "BudgetError",
    "DiscreetError",
    "EntropyBusy",
    "EntropyCopied",
    "EntropyError",
    "EntropyExhausted",
    "EntropyForked",
    "EntropyUnavailable",
    "InputError",
    "NotComposable",
    "NotExact",
    "OutOfRange",
    "OverBudget",
    "TooLarge",
    "WrongKind",
]


class DiscreetError(Exception):
    """The root of the tree: three sentences and a code.

    >>> try:
    ...     raise OutOfRange(what="scale is -1.", why="Noise needs a width.", do="Use scale > 0.")
    ... except DiscreetError as error:
    ...     print(error)
    OutOfRange[E002]: scale is -1.
      Why: Noise needs a width.
      Do:  Use scale > 0.
    """

    code: ClassVar[str | None] = None

    def __init__(self, *, what: str, why: str, do: str) -> None:
        """Keep the three sentences apart, so that any surface can lay them out."""
        self.what = what
        self.why = why
        self.do = do
        super().__init__(f"{what}\n  Why: {why}\n  Do:  {do}")

    def __str__(self) -> str:
        """Show the class, its code and the three sentences."""
        return f"{type(self).__name__}[{self.code}]: {self.args[0]}"

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild from the sentences, since errors cross process boundaries."""
        return (_rebuild, (type(self), self.what, self.why, self.do))


def _rebuild(kind: type[DiscreetError], what: str, why: str, do: str) -> DiscreetError:
    return kind(what=what, why=why, do=do)


class InputError(DiscreetError):
    """An argument cannot be used; nothing was drawn, read or spent."""


@final
class NotExact(InputError):
    """A float was given where an exact number is needed."""

    code = "E001"


@final
class OutOfRange(InputError):
    """A number lies outside the range in which the answer is defined."""

    code = "E002"


@final
class WrongKind(InputError):
    """A value has the wrong type, or a sequence mixes types."""

    code = "E003"


@final
class TooLarge(InputError):
    """A result would not fit in 64-bit integers."""

    code = "E004"


@final
class NotComposable(InputError):
    """Releases are put together in a way that no theorem supports."""

    code = "E005"


class EntropyError(DiscreetError):
    """Randomness cannot be had safely; nothing was drawn."""


@final
class EntropyUnavailable(EntropyError):
    """The operating system gave no random bits."""

    code = "E201"


@final
class EntropyCopied(EntropyError):
    """Someone tried to copy or store a random stream."""

    code = "E202"


@final
class EntropyForked(EntropyError):
    """A keyed stream was used in another process than the one that made it."""

    code = "E203"


@final
class EntropyExhausted(EntropyError):
    """A recorded stream has no words left."""

    code = "E204"


@final
class EntropyBusy(EntropyError):
    """A keyed stream was asked for words amid another request."""

    code = "E205"


class BudgetError(DiscreetError):
    """Privacy cannot be paid for; nothing was spent."""


@final
class OverBudget(BudgetError):
    """A charge does not fit into what is left of a budget."""

    code = "E301"
