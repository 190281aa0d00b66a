"""Forms: the question and the randomizer of its answers, shared by devices and analyst.

Trust: kernel.  The digest in each report covers everything that determines its distribution.

Definition.  A form is a public domain, or the public range of a number, and a randomizer on its
codes.  Its document is JSON: kind, format, domain, randomizer with epsilon as exact text, and why
this randomizer was chosen.  Its
digest is the first eight bytes of the SHA-256 of the document without the reason, in ASCII, with
sorted names and no spaces.  A report of a form with another digest is refused and counted: it
follows another distribution, or means other values.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongKind
from discreet.exact import freeze
from discreet.local.choice import WIRE, choose
from discreet.local.collector import Collector
from discreet.local.domain import Domain
from discreet.local.numbers import NumberRandomizer, NumberRange, WindowResponse
from discreet.local.randomizer import FrequencyOracle, Randomizer
from discreet.local.record import randomizer_of
from discreet.local.shuffled_reports import ShuffledReports
from discreet.local.wire import DIGEST_BYTES, HEADER_BYTES, Client, Layout
from discreet.loss import PrivacyLoss
from discreet.mechanisms.mechanism import Number
from discreet.noise import Entropy
from discreet.notebook import Shown

KIND: Final = "discreet local form"
FORMAT: Final = 1
_SHOWN: Final = 6


@final
@dataclass(frozen=True, slots=True)
class Form(Shown):
    """A question to many people, each of whose answers is private before it leaves the device.

    >>> form = Form.of(Domain(["flu", "cold", "none"]), epsilon=1)
    >>> form.loss().epsilon(delta=0)
    1.0
    >>> Form.deserialize(form.serialize()) == form
    True
    """

    domain: Domain | NumberRange
    randomizer: Randomizer
    why: str = field(default="it was given", compare=False)
    layout: Layout = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse a randomizer of other codes, and name the form by its content."""
        match self.domain, self.randomizer:
            case Domain(), FrequencyOracle():
                fits = self.randomizer.values == self.domain.values
            case NumberRange(), NumberRandomizer():
                fits = True
            case _:
                raise _not_a_form()
        if not fits:
            raise WrongKind(
                "the randomizer has another number of values than the domain; give a randomizer "
                "with values=domain.values."
            )
        text = _canonical(self._decisive())
        digest = hashlib.sha256(text.encode("ascii")).digest()[:DIGEST_BYTES]
        freeze(self, layout=Layout(digest=digest, bits=self.randomizer.bits))

    @classmethod
    def of(
        cls,
        domain: Domain | NumberRange,
        *,
        epsilon: Number,
        wire: int = WIRE,
        people: int | None = None,
    ) -> Form:
        """Let ``choose`` pick the randomizer: least error at this loss, in ``wire`` bytes at most.

        For the mean of a number it is window response with minimax levels, in one byte.

        >>> print(Form.of(Domain(["flu", "cold", "none"]), epsilon=1))
        Form 67a6718c43eff17e
          values      3: flu, cold, none
          randomizer  Direct(epsilon=1, values=3)
          because     least variance of all that fit into 512 bytes: 1.259 / people at share 0,
                      in 1 byte
                      next: unary 3.683 in 1 byte, hadamard 4.683 in 1 byte
          loss        epsilon 1 for each report, whoever receives it
          report      12 bytes: 11 of header and 1 of payload; in a batch 2 bits
        """
        if isinstance(domain, NumberRange):
            window = WindowResponse.minimax(epsilon=epsilon)
            spread = window.variance().nearest() * float(domain.stretch()) ** 2
            why = f"least variance of a mean in the worst case: {spread:.4g} / people"
            return cls(domain, window, why)
        if not isinstance(domain, Domain):
            raise _not_a_form()
        choice = choose(domain, epsilon=epsilon, wire=wire, people=people)
        return cls(domain, choice.oracle, "; ".join(choice.reasons))

    @property
    def digest(self) -> str:
        """What names the form: the digest of its reports, in hexadecimal."""
        return self.layout.digest.hex()

    def codes(self, values: Iterable[object], entropy: Entropy) -> NDArray[np.int64]:
        """Return the codes of values; a number is rounded to one of two by a coin."""
        if isinstance(self.domain, Domain):
            return self.domain.codes(values)
        numbers = cast("NumberRandomizer", self.randomizer)
        return self.domain.codes(values, numbers.points(), entropy=entropy)

    def client(self) -> Client:
        """Return what makes reports."""
        return Client(self)

    def collector(self) -> Collector:
        """Return an empty collector of reports."""
        return Collector(self)

    def loss(self) -> PrivacyLoss:
        """Return the loss of one report to its recipient."""
        return self.randomizer.loss()

    def shuffled(self, *, people: int) -> ShuffledReports:
        """Return what all reports lose if they are seen only in random order, without senders.

        >>> form = Form.of(Domain(["flu", "cold", "none"]), epsilon=1)
        >>> round(form.shuffled(people=1000).epsilon(delta=1e-6), 3)
        0.182
        """
        return ShuffledReports(self.randomizer, people=people)

    def serialize(self) -> str:
        """Return the document that devices and analyst share."""
        return json.dumps(self.document(), indent=2) + "\n"

    def document(self) -> dict[str, Any]:
        """Return the content of the document."""
        return {**self._decisive(), "why": self.why}

    @classmethod
    def deserialize(cls, text: str | bytes) -> Form:
        """Read a document; refuse unknown fields.

        >>> Form.deserialize("{}")
        Traceback (most recent call last):
        ...
        discreet.errors.WrongKind: ...
        """
        try:
            document = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            raise _unreadable("it is not JSON") from None
        match document:
            case {
                "kind": str() as kind,
                "format": int() as version,
                "domain": domain,
                "randomizer": randomizer,
                "why": str() as why,
                **rest,
            } if not rest and kind == KIND and type(version) is int:
                if version != FORMAT:
                    raise _unreadable(f"its format is {version}, and this version reads {FORMAT}")
                return cls(_domain_of(domain), randomizer_of(randomizer), why)
        raise _unreadable("its fields are not those of a form")

    def __str__(self) -> str:
        """Describe the question, the randomizer, the reason for it, and the size of a report."""
        layout = self.layout
        rows = {
            "values": _values_of(self.domain),
            "randomizer": str(self.randomizer),
            "because": _printable(self.why).replace("; ", f"\n{'':14}"),
            "loss": f"epsilon {self.randomizer.epsilon} for each report, whoever receives it",
            "report": f"{layout.report_bytes} bytes: {HEADER_BYTES} of header and "
            f"{layout.payload_bytes} of payload; in a batch {layout.bits} bits",
        }
        lines = [f"  {name:<12}{text}" for name, text in rows.items()]
        return "\n".join([f"Form {self.digest}", *lines])

    def _decisive(self) -> dict[str, Any]:
        """Return all that decides what a report means."""
        return {
            "kind": KIND,
            "format": FORMAT,
            "domain": self.domain.describe(),
            "randomizer": self.randomizer.describe(),
        }


def _values_of(domain: Domain | NumberRange) -> str:
    if isinstance(domain, NumberRange):
        return f"numbers from {domain.low} to {domain.high}"
    names = [_printable(str(name)) for name in domain.categories[:_SHOWN]]
    more = domain.values - len(names)
    return f"{domain.values}: {', '.join(names)}" + (f" and {more} more" if more else "")


def _printable(text: str) -> str:
    r"""Return a text that a terminal shows on one line, with no other effect.

    >>> _printable("a\x1b[2J")
    'a\\x1b[2J'
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def _domain_of(description: object) -> Domain | NumberRange:
    if isinstance(description, Mapping) and set(description) == {"low", "high"}:
        return NumberRange.of_description(description)
    return Domain.of_description(description)


def _canonical(document: dict[str, Any]) -> str:
    return json.dumps(document, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def _not_a_form() -> WrongKind:
    return WrongKind(
        "a form needs a Domain and an oracle, or a NumberRange and a randomizer of numbers; use "
        "Form.of(Domain([...]), epsilon=1), or give both."
    )


def _unreadable(reason: str) -> WrongKind:
    return WrongKind(
        f"a form cannot be read: {reason}; give a document as `discreet local form` or "
        "Form.serialize() writes it."
    )
