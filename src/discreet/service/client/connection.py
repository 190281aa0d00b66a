"""A connection to a server: the verbs of a session, and its types, without the data.

Trust: public.  What it sends is a question and a price; the server decides everything.
"""

from __future__ import annotations

import ssl
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, Self, Unpack, final

from discreet import query as queries
from discreet.accounting import Left
from discreet.errors import UnknownName, WrongKind
from discreet.plan.plan import Plan
from discreet.release import Release
from discreet.service.client.asked_forms import form_of
from discreet.service.client.transport import Transport
from discreet.service.people.credentials import new_secret
from discreet.service.protocol.question_form import QuestionForm
from discreet.service.protocol.remaining import read_left
from discreet.service.protocol.value_codec import read_value
from discreet.service.views import release_of
from discreet.session.inquiry import AskOptions, Inquiry, QuestionLike

_KEPT: Final = 256
_TIMEOUT: Final = 600.0
_RELEASE: Final = {"Accept": "application/vnd.discreet.release+json"}
_PLAN: Final = {"Accept": "application/vnd.discreet.plan+json"}


@final
class ServerConnection:
    """One dataset of a server; ``discreet.connect`` makes one."""

    __slots__ = ("_asked", "_dataset", "_lock", "_schema", "_transport")

    def __init__(self, transport: Transport, dataset: str, schema: Mapping[str, Any]) -> None:
        """Take the connection, and the dataset that questions are about."""
        self._transport, self._dataset, self._schema = transport, dataset, schema
        self._lock = threading.Lock()
        self._asked: OrderedDict[str, tuple[QuestionForm, ...]] = OrderedDict()

    # --- asking -------------------------------------------------------------------------------

    def plan(self, question: QuestionLike, **price: Unpack[AskOptions]) -> Plan:
        """Return how a question would be answered, at what cost and how exactly; spend nothing."""
        form = form_of(question, price, confirm=False)
        found = self._call(
            "POST", "queries", body=form.written(), headers=_PLAN, query="?dry_run=true"
        )
        plan: Plan = read_value(found["plan"])
        self._remember(f"plan {plan.digest}", (form,))
        return plan

    def ask(
        self, question: QuestionLike, *, confirm: bool = False, **price: Unpack[AskOptions]
    ) -> Release:
        """Answer a question: the server charges, reads, adds noise and records.

        The same question at the same price is answered once, and told again for free.

        Args:
            question: SQL text, the table builder, or a plan of this connection.
            confirm: whether an epsilon above 10 is meant.
            price: epsilon, rho or error, and what goes with it, as in ``Session.ask``.
        """
        if isinstance(question, Plan):
            if any(value is not None for value in price.values()):
                raise WrongKind(
                    what="a plan is given, and a price beside it.",
                    why="a plan has its price.",
                    do="ask for the plan alone, or plan the question anew.",
                )
            (form,) = self._known(f"plan {question.digest}", "plan")
            form = QuestionForm.read({**form.written(), "confirm": confirm is True})
        else:
            form = form_of(question, price, confirm=confirm)
        found = self._call(
            "POST", "queries", body=form.written(), headers={**_RELEASE, **_own_key()}
        )
        return self._released(found, (form,))

    def remeasure(
        self,
        answered: Release | QuestionLike,
        *,
        confirm: bool = False,
        **price: Unpack[AskOptions],
    ) -> Release:
        """Buy another draw of an answer, and combine all draws; see ``Session.remeasure``."""
        if isinstance(answered, Release):
            before = self._known(f"release {answered.receipt}", "answer")
            again = form_of("SELECT", price, confirm=confirm).written()
            further = QuestionForm.read({**again, "question": before[0].written()["question"]})
        else:
            further = form_of(answered, price, confirm=confirm)
            before = (further,)
        forms = (*before, further)
        found = self._call(
            "POST",
            "remeasurements",
            body={"forms": [form.written() for form in forms]},
            headers={**_RELEASE, **_own_key()},
        )
        return self._released(found, forms)

    def table(self, name: str) -> Inquiry:
        """Begin a question with all rows of a table; it ends with ``ask`` or ``plan``."""
        if name not in self._schema["tables"]:
            raise UnknownName(
                what=f"there is no table {name} here.",
                why="a question is about the tables that the server has opened.",
                do=f"use one of: {', '.join(self._schema['tables'])}.",
            )
        return Inquiry(queries.table(name), session=self)

    # --- what is known ------------------------------------------------------------------------

    @property
    def tables(self) -> Mapping[str, Any]:
        """The tables by their names, with what is public about each."""
        tables: Mapping[str, Any] = self._schema["tables"]
        return tables

    @property
    def remaining(self) -> Left:
        """What is left of the budget for questions about everybody."""
        return read_left(self._call("GET", "budget")["remaining"])

    def explain(self, *, audience: str = "analyst", entry: int | None = None) -> Any:
        """Say what everything that was released gives away, or one answer."""
        query = f"?audience={audience}&format=value"
        return read_value(self._call("GET", *_about(entry), "explain", query=query))

    def label(self, *, entry: int | None = None) -> Any:
        """Return the privacy label of everything that was released, or of one answer."""
        return read_value(self._call("GET", *_about(entry), "label", query="?format=value"))

    # --- ending -------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the connection; closing twice does nothing."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        """Show what it is connected to, and no token."""
        return f"<connection: {self._dataset} at {self._transport.url}>"

    # --- inside -------------------------------------------------------------------------------

    def _call(self, method: str, *path: str, **more: Any) -> Any:
        return self._transport.call(method, "v1", "datasets", self._dataset, *path, **more)

    def _released(self, found: Mapping[str, Any], forms: tuple[QuestionForm, ...]) -> Release:
        release = release_of(found)
        self._remember(f"release {release.receipt}", forms)
        return release

    def _remember(self, name: str, forms: tuple[QuestionForm, ...]) -> None:
        with self._lock:
            self._asked[name] = forms
            self._asked.move_to_end(name)
            while len(self._asked) > _KEPT:
                self._asked.popitem(last=False)

    def _known(self, name: str, what: str) -> tuple[QuestionForm, ...]:
        with self._lock:
            found = self._asked.get(name)
        if found is None:
            raise WrongKind(
                what=f"this {what} was not made by this connection, or too long ago.",
                why="the server knows questions, and makes plans and answers of them itself.",
                do="give the question itself.",
            )
        return found


def _only(seen: list[str]) -> str:
    """Return the one dataset of a caller."""
    if len(seen) == 1:
        return seen[0]
    raise WrongKind(
        what="the server has several datasets, or none for this caller.",
        why="a connection is about one.",
        do=f"give dataset= one of: {', '.join(seen) or 'none'}.",
    )


def _own_key() -> dict[str, str]:
    return {"Idempotency-Key": new_secret()}


def _about(entry: int | None) -> tuple[str, ...]:
    return () if entry is None else ("releases", str(entry))


def connect(
    url: str,
    *,
    token: str | None = None,
    dataset: str | None = None,
    timeout: float = _TIMEOUT,
    context: ssl.SSLContext | None = None,
) -> ServerConnection:
    """Connect to a server, to ask about one of its datasets.

    Args:
        url: its address, such as "https://clinic.example".
        token: shows who asks; only a server without log-in needs none.
        dataset: which one; may be left out where the caller sees one alone.
        timeout: how many seconds to wait for an answer.
        context: whom to trust, where that is not the operating system's list.

    >>> connect("http://clinic.example", token="dsc_...")
    Traceback (most recent call last):
    discreet.errors.NotAllowed
    """
    transport = Transport(url, token=token, timeout=timeout, context=context)
    try:
        seen = transport.call("GET", "v1", "datasets")["datasets"]
        name = _only(seen) if dataset is None else dataset
        schema = transport.call("GET", "v1", "datasets", name)
    except BaseException:
        transport.close()
        raise
    return ServerConnection(transport, name, schema)
