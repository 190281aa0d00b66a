"""Every error that discreet raises: what happened, why it matters, what to do.

Trust: public.

One tree, so that a caller can catch as much or as little as it wants::

    DiscreetError
    ├── InputError     E0xx  an argument cannot be used; nothing was drawn, read or spent
    ├── EntropyError   E2xx  randomness cannot be had safely; nothing was drawn
    ├── BudgetError    E3xx  privacy cannot be paid for; nothing was spent
    ├── LedgerError    E4xx  the record cannot be used as asked; nothing recorded is lost
    ├── QuestionError  E5xx  a question cannot be answered as it stands; nothing was spent
    ├── PolicyError    E6xx  the owner's rules are unclear, or forbid it; nothing was spent
    ├── EngineError    E7xx  the data cannot be read as asked
    └── LearningError  E8xx  a model cannot be trained privately as it stands

The leaves are the classes below.  Each has a code, and each code a page ``docs/errors/<code>.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

if TYPE_CHECKING:  # this file defines errors alone
    from collections.abc import Mapping
    from typing import Any


def _printable(words: str) -> str:
    r"""Return words that do nothing to a terminal but stand there; lines may end.

    >>> _printable("there is p\0.")
    'there is p\\x00.'
    """
    return "".join(
        letter if letter.isprintable() or letter == "\n" else repr(letter)[1:-1] for letter in words
    )


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

    def __init_subclass__(cls, *, code: str | None = None) -> None:
        if code is not None:
            cls.code = code

    def __init__(self, *, what: str, why: str, do: str) -> None:
        """Keep the three sentences apart, so that any surface can lay them out.

        Unprintable characters are escaped: names in files may hold anything.
        """
        self.what, self.why, self.do = map(_printable, (what, why, do))
        super().__init__(f"{self.what}\n  Why: {self.why}\n  Do:  {self.do}")

    def __str__(self) -> str:
        return f"{type(self).__name__}[{self.code}]: {self.args[0]}"

    def _render_traceback_(self) -> list[str]:
        """Show a notebook the sentences and none of our frames: a mistake is the question's."""
        return str(self).splitlines()

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild with all that it holds, since errors cross process boundaries."""
        return (_rebuild, (type(self), self.args, vars(self)))


_NOTHING: Final = "nothing was drawn, read or spent."


def _rebuild(
    kind: type[DiscreetError], args: tuple[object, ...], held: Mapping[str, Any]
) -> DiscreetError:
    error = kind.__new__(kind, *args)
    vars(error).update(held)
    return error


class InputError(DiscreetError):
    """An argument cannot be used; nothing was drawn, read or spent.

    Most need one line; those that teach have the three sentences of all other errors.

    >>> print(OutOfRange("scale is -1; give a scale above 0."))
    OutOfRange[E002]: scale is -1; give a scale above 0.
    """

    def __init__(self, line: str = "", /, *, what: str = "", why: str = "", do: str = "") -> None:
        if line:
            super().__init__(what=line, why=_NOTHING, do="correct the argument.")
            self.args = (self.what,)
        elif what and why and do:
            super().__init__(what=what, why=why, do=do)
        else:
            message = "give one line, or what, why and do"
            raise TypeError(message)


class NotExact(InputError, code="E001"):
    """A float was given where an exact number is needed."""


class OutOfRange(InputError, code="E002"):
    """A number is outside the range in which the answer is defined."""


class WrongKind(InputError, code="E003"):
    """A value has the wrong type, or a sequence mixes types."""


class TooLarge(InputError, code="E004"):
    """A result would not fit in 64-bit integers."""


class NotComposable(InputError, code="E005"):
    """Releases are put together in a way that no theorem supports."""


class NotServed(InputError, code="E006"):
    """A server does not have what was named, or not for its caller."""


class EntropyError(DiscreetError):
    """Randomness cannot be had safely; nothing was drawn."""


class EntropyUnavailable(EntropyError, code="E201"):
    """The operating system gave no random bits."""


class EntropyCopied(EntropyError, code="E202"):
    """A random stream, or a run that holds noise, was copied, stored or used in a fork."""


class EntropyExhausted(EntropyError, code="E204"):
    """A recorded stream has no words left."""


class BudgetError(DiscreetError):
    """Privacy cannot be paid for; nothing was spent."""


class OverBudget(BudgetError, code="E301"):
    """A charge does not fit into what is left of a budget.

    ``details`` has all numbers, if there are more than the sentences hold.  A server also says
    in ``shortage``, as plain JSON, in which limit (``scope``: yours, purpose or
    dataset) what is ``needed`` exceeds what is ``left``, and the ``ways_out``, each a ``change``
    and its ``cost``.
    """

    def __init__(
        self,
        *,
        what: str,
        why: str,
        do: str,
        shortage: Mapping[str, Any] | None = None,
        details: str = "",
    ) -> None:
        super().__init__(what=what, why=why, do=do)
        self.shortage, self.details = shortage, details


class LedgerError(DiscreetError):
    """The record of charges cannot be used as asked; nothing that was recorded is lost."""


class NotALedger(LedgerError, code="E401"):
    """What is at an address is something else than a ledger."""


class NewerFormat(LedgerError, code="E402"):
    """A ledger was written by a later version of this package."""


class DamagedLedger(LedgerError, code="E403"):
    """What is stored is torn, or does not follow from what was recorded before."""


class LedgerUnavailable(LedgerError, code="E404"):
    """A ledger cannot be read or written now."""


class OtherLedger(LedgerError, code="E405"):
    """A ledger was opened for another unit, budget or table than it is recorded for."""


class KeyReused(LedgerError, code="E406"):
    """Two different requests were given the same key."""


class NotCharged(LedgerError, code="E407"):
    """An answer was begun or stored without the steps that come before it."""


class Tampered(LedgerError, code="E408"):
    """The record contradicts itself, or a receipt that it once gave."""


class QuestionClosed(LedgerError, code="E409"):
    """An attempt to answer the question failed, and the owner has not reopened it."""


class QuestionError(DiscreetError):
    """A question cannot be answered as it stands; no data was read and nothing was spent."""


class UnreadableSQL(QuestionError, code="E501"):
    """A text is not SQL."""


class UnsupportedSQL(QuestionError, code="E502"):
    """A question uses SQL that is not answered here."""


class UnknownName(QuestionError, code="E503"):
    """A question names a table, a column or a function that is not there."""


class NotPerUnit(QuestionError, code="E504"):
    """A step below the private aggregate mixes the rows of different units."""


class MissingBounds(QuestionError, code="E505"):
    """A number that is added up has no public bounds."""


class WrongType(QuestionError, code="E506"):
    """A function is applied to values of a type that it does not take."""


class TooNoisy(QuestionError, code="E507"):
    """An answer is expected to be empty or unreadable, and was asked without ``confirm``.

    ``epsilon`` is a price at which it can be read, if there is one within the budget.
    """

    def __init__(self, *, what: str, why: str, do: str, epsilon: str | None = None) -> None:
        super().__init__(what=what, why=why, do=do)
        self.epsilon = epsilon


class PolicyError(DiscreetError):
    """The owner's rules are unclear, or forbid what was asked; nothing was spent."""


class BadPolicy(PolicyError, code="E601"):
    """A policy cannot be followed as it is written."""


class NotAllowed(PolicyError, code="E602"):
    """A question asks for more than the policy allows."""


class EngineError(DiscreetError):
    """The data cannot be read as asked."""


class EngineFailed(EngineError, code="E701"):
    """The answer failed; the charge stays, and the question is closed."""


class UnreadableSource(EngineError, code="E702"):
    """What was given cannot be opened as a table."""


class SourceChanged(EngineError, code="E703"):
    """Data is not what it was when it was opened; no answer was handed out."""


class EngineStopped(EngineError, code="E704"):
    """The engine was stopped from outside; asking again completes the answer."""


class TryAgain(EngineError, code="E705"):
    """A server has no answer now; what was charged is not charged twice."""


class LearningError(DiscreetError):
    """A model cannot be trained privately as it stands."""


class ExamplesMix(LearningError, code="E801"):
    """What one example contributes depends on other examples; nothing was spent."""


class LayerNotProvable(LearningError, code="E802"):
    """What examples contribute to a model cannot be bounded; nothing was spent."""


class NotSampled(LearningError, code="E803"):
    """Units cannot be sampled at random from the data; nothing was spent."""


class NotPerExample(LearningError, code="E804"):
    """An objective is not a sum over examples; nothing was spent."""


class OtherRun(LearningError, code="E805"):
    """A checkpoint is of another run, or model or settings were changed in the middle of one."""


class RunFenced(LearningError, code="E806"):
    """Another process has resumed this run, and this one has stopped."""


class TooImprecise(LearningError, code="E807"):
    """Rounding would cost too much, or depends on other rows; nothing was spent."""


class BadArrays(LearningError, ValueError, code="E808"):
    """Arrays cannot be used with a model as they are; a ``ValueError``, as scikit-learn expects."""


class NotFitted(LearningError, ValueError, AttributeError, code="E809"):
    """A model was used before it was fitted."""


class BadCheckpoint(LearningError, code="E810"):
    """A checkpoint is torn, or its folder cannot hold one; weights in memory are still there."""


__all__ = sorted(  # noqa: PLE0605  (a list of texts)
    name
    for name, each in tuple(globals().items())
    if isinstance(each, type) and issubclass(each, DiscreetError)
)
