"""Clients: what runs on a person's device, from a value to the bytes of a report.

Trust: kernel.  The value is an argument, and is kept nowhere; all that leaves is the report.

Every call draws afresh, so every call costs the loss of the form again: two reports of one person
lose twice as much.  A device that is asked again sends nothing, or keeps its first answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from discreet.local.randomizers.bit_rows import Bytes
from discreet.noise import SYSTEM, Entropy

if TYPE_CHECKING:  # handed in; a form makes its own clients
    from discreet.local.reports.form import Form


@final
@dataclass(frozen=True, slots=True)
class Client:
    """Makes reports of one form.

    >>> from discreet.local import Domain, Form
    >>> form = Form.of(Domain(["flu", "cold", "none"]), epsilon=1)
    >>> len(form.client().report("flu")) == form.layout.report_bytes
    True
    """

    form: Form

    def report(self, value: object, *, entropy: Entropy = SYSTEM) -> bytes:
        """Return one report about one person's value."""
        return self.form.layout.encode(self._rows([value], entropy))

    def report_each(self, values: Iterable[object], *, entropy: Entropy = SYSTEM) -> bytes:
        """Return one report for each of many people, one after another: a stream.

        >>> from discreet.local import Domain, Form
        >>> form = Form.of(Domain(["yes", "no"]), epsilon=1)
        >>> len(form.client().report_each(["yes", "no", "no"])) == 3 * form.layout.report_bytes
        True
        """
        return self.form.layout.encode(self._rows(values, entropy))

    def batch(self, values: Iterable[object], *, entropy: Entropy = SYSTEM) -> bytes:
        """Return one batch with a report for each of many people: the same without headers.

        For whoever gathers the answers of many people, such as a hospital, and for simulations.

        >>> from discreet.local import Domain, Form
        >>> form = Form.of(Domain(["yes", "no"]), epsilon=1)
        >>> len(form.client().batch(["yes", "no", "no"]))  # a header, four bytes, and three bits
        16
        """
        return self.form.layout.encode_batch(self._rows(values, entropy))

    def _rows(self, values: Iterable[object], entropy: Entropy) -> Bytes:
        form = self.form
        codes = form.codes(values, entropy)
        return form.randomizer.pack(form.randomizer.run_each(codes, entropy=entropy))
