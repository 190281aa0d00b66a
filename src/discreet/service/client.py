"""The client: one dataset of a server, with the verbs of a session and without the data.

Trust: public.  What it sends is a question and a price; the server decides everything.  It calls
over HTTP, by the standard library alone; a token travels over TLS, or within this machine.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import ssl
import threading
from collections import OrderedDict
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, Self, Unpack, cast, final
from urllib.parse import quote, urlsplit

from discreet import query as queries
from discreet.documents import (
    BudgetDocument,
    DatasetDocument,
    ExplanationDocument,
    PlanDocument,
    ProblemDocument,
    QuestionDocument,
    ReleaseDocument,
)
from discreet.errors import NotAllowed, TryAgain, UnknownName, WrongKind
from discreet.plan.pricing.requested_price import BoundsPrice
from discreet.plan.statistics.limit_choice import LimitsPrice, QuestionLimits, SharePrice
from discreet.service.credentials import new_secret
from discreet.session.inquiry import AskOptions, Inquiry, QuestionLike, question_of

_AS_GIVEN: Final = ("size", "dialect", "params", "other", "intervals")


def question_document(
    question: QuestionLike, options: Mapping[str, Any], *, confirm: bool
) -> QuestionDocument:
    """Return a question and the options of ``Session.ask`` as a document.

    >>> question_document("SELECT COUNT(*) AS n FROM t", {"epsilon": 0.1}, confirm=False).epsilon
    '0.1'
    """
    given = {name: value for name, value in options.items() if value is not None}
    bounds, limits = given.pop("bounds", None), given.pop("limits", None)
    share, errors = given.pop("share_cut", None), given.pop("error", None)
    as_given = {name: given.pop(name) for name in _AS_GIVEN if name in given}
    document = {name: _number(each) for name, each in given.items()} | as_given
    if errors is not None:
        if not isinstance(errors, Mapping):
            raise _wrong("error is not a mapping of outputs to numbers")
        document["error"] = {name: _number(each) for name, each in errors.items()}
    match bounds:
        case None:
            pass
        case BoundsPrice():
            document |= {"bounds_epsilon": _given(bounds.epsilon), "bounds_rho": _given(bounds.rho)}
        case _:
            raise _wrong("bounds are not given by estimate(epsilon=...)")
    match limits:
        case None:
            pass
        case QuestionLimits():
            document |= {"max_rows": limits.max_rows, "max_groups": limits.max_groups}
        case LimitsPrice():
            document["limits_epsilon"] = str(limits.epsilon)
        case _:
            raise _wrong("limits are not given by limits(...) or estimate_limits(...)")
    if isinstance(share, SharePrice):
        document["share_cut_epsilon"] = str(share.epsilon)
    elif share is not None:
        raise _wrong("share_cut is not given by share_cut(epsilon=...)")
    asked = str(question) if isinstance(question, str) else question_of(question)
    return QuestionDocument.read({**document, "question": asked, "confirm": confirm is True})


def _given(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _number(value: object) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _wrong(what: str) -> WrongKind:
    return WrongKind(
        what=f"{what}.",
        why="a price that is not understood would not be followed.",
        do="give it as for a session.",
    )


_LARGEST: Final = 1 << 30


@final
class Transport:
    """One connection, which is opened when it is needed, and again when it was lost."""

    __slots__ = ("_connection", "_context", "_host", "_lock", "_port", "_timeout", "_token", "url")

    def __init__(
        self, url: str, *, token: str | None, timeout: float, context: ssl.SSLContext | None
    ) -> None:
        """Take the address and the token; nothing is sent yet."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme not in {"http", "https"} or not host or parts.path not in {"", "/"}:
            raise WrongKind(
                what="this is not the address of a server.",
                why="it is a scheme, a host and perhaps a port.",
                do="give 'https://clinic.example', say.",
            )
        if parts.scheme == "http" and not _is_here(host):
            raise NotAllowed(
                what="the address of another machine begins with http://.",
                why="everybody on the way could read the token and the answers.",
                do="use https://.",
            )
        self.url, self._host, self._port = url.rstrip("/"), host, parts.port
        self._token, self._timeout = token, timeout
        self._context = None
        if parts.scheme == "https":
            self._context = context or ssl.create_default_context()
        self._lock = threading.Lock()
        self._connection: http.client.HTTPConnection | None = None

    def call(
        self,
        method: str,
        *path: str,
        body: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        query: str = "",
    ) -> Any:
        """Make a call, and return what its JSON says; raise what a problem says."""
        where = "/" + "/".join(quote(part, safe="") for part in path) + query
        sent = {"Accept": "application/json", **(headers or {})}
        if self._token is not None:
            sent["Authorization"] = f"Bearer {self._token}"
        data = None
        if body is not None:
            data = json.dumps(body, allow_nan=False).encode("ascii")
            sent["Content-Type"] = "application/json"
        with self._lock:
            status, received = self._exchange(method, where, data, sent)
        try:
            document = json.loads(received)
        except ValueError:
            raise _unreachable("what it answers is not JSON") from None
        if status >= 400:
            raise ProblemDocument.read(document if isinstance(document, dict) else {}).error()
        return document

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._drop()

    def _exchange(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        """Send a call; one that was cut off is sent again, which costs nothing more."""
        for last in (False, True):
            fresh = self._connection is None
            try:
                connection = self._connection or self._connected()
                self._connection = connection
                connection.request(method, path, body=data, headers=dict(headers))
                answer = connection.getresponse()
                return answer.status, answer.read(_LARGEST)
            except ssl.SSLError:
                self._drop()
                raise _unreachable("its certificate is not trusted") from None
            except (OSError, http.client.HTTPException):
                self._drop()
                if last or fresh:
                    raise _unreachable("nobody answers at its address") from None
        raise AssertionError  # the loop returns or raises

    def _connected(self) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=self._timeout, context=self._context
        )

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _unreachable(what: str) -> TryAgain:
    return TryAgain(
        what=f"the server cannot be reached: {what}.",
        why="whether something was charged is on record there.",
        do="ask again: what was charged is not charged twice.",
    )


_KEPT: Final = 256
_TIMEOUT: Final = 600.0


@final
class ServerConnection:
    """One dataset of a server; ``discreet.connect`` makes one."""

    __slots__ = ("_asked", "_dataset", "_lock", "_schema", "_transport")

    def __init__(self, transport: Transport, dataset: str, schema: DatasetDocument) -> None:
        """Take the connection, and the dataset that questions are about."""
        self._transport, self._dataset, self._schema = transport, dataset, schema
        self._lock = threading.Lock()
        self._asked: OrderedDict[str, tuple[QuestionDocument, ...]] = OrderedDict()

    # --- asking -------------------------------------------------------------------------------

    def plan(self, question: QuestionLike, **price: Unpack[AskOptions]) -> PlanDocument:
        """Return how a question would be answered, at what cost and how exactly; spend nothing."""
        form = question_document(question, price, confirm=False)
        found = self._call("POST", "queries", body=form.written(), query="?dry_run=true")
        plan = PlanDocument.read(found)
        self._remember(f"plan {plan.digest} {plan.text}", (form,))
        return plan

    def ask(
        self,
        question: QuestionLike | PlanDocument,
        *,
        confirm: bool = False,
        **price: Unpack[AskOptions],
    ) -> ReleaseDocument:
        """Answer a question: the server charges, reads, adds noise and records.

        The same question at the same price is answered once, and repeated for free.

        Args:
            question: SQL text, the table builder, or a plan of this connection.
            confirm: whether an epsilon above 10 is meant.
            price: epsilon, rho or error, and what goes with it, as in ``Session.ask``.
        """
        if isinstance(question, PlanDocument):
            if any(value is not None for value in price.values()):
                raise WrongKind(
                    what="a plan is given, and a price beside it.",
                    why="a plan has its price.",
                    do="ask for the plan alone, or plan the question anew.",
                )
            (form,) = self._known(f"plan {question.digest} {question.text}", "plan")
            form = form.but(confirm=confirm is True)
        else:
            form = question_document(question, price, confirm=confirm)
        found = self._call("POST", "queries", body=form.written(), headers=_own_key())
        return self._released(found, (form,))

    def remeasure(
        self,
        answered: ReleaseDocument | QuestionLike,
        *,
        confirm: bool = False,
        **price: Unpack[AskOptions],
    ) -> ReleaseDocument:
        """Buy another draw of an answer, and combine all draws; see ``Session.remeasure``."""
        if isinstance(answered, ReleaseDocument):
            before = self._known(f"release {answered.receipt}", "answer")
            again = question_document("SELECT", price, confirm=confirm)
            first = before[0]
            further = again.but(question=first.question, dialect=first.dialect, params=first.params)
        else:
            further = question_document(answered, price, confirm=confirm)
            before = (further,)
        forms = (*before, further)
        found = self._call(
            "POST",
            "remeasurements",
            body={"forms": [form.written() for form in forms]},
            headers=_own_key(),
        )
        return self._released(found, forms)

    def table(self, name: str) -> Inquiry:
        """Begin a question with all rows of a table; it ends with ``ask`` or ``plan``."""
        if name not in self._schema.tables:
            raise UnknownName(
                what=f"there is no table {name} here.",
                why="a question is about the tables that the server has opened.",
                do=f"use one of: {', '.join(self._schema.tables)}.",
            )
        return Inquiry(queries.table(name), session=cast("Any", self))

    # --- public facts ------------------------------------------------------------------------

    @property
    def tables(self) -> Mapping[str, Any]:
        """The tables by their names, with the public facts about each."""
        return self._schema.tables

    @property
    def remaining(self) -> BudgetDocument:
        """The balance of the budget for questions about everybody."""
        return BudgetDocument.read(self._call("GET", "budget")["remaining"])

    def explain(
        self, *, audience: str = "analyst", entry: int | None = None
    ) -> ExplanationDocument:
        """Say what everything that was released gives away, or one answer."""
        query = f"?audience={audience}&format=document"
        return ExplanationDocument.read(self._call("GET", *_about(entry), "explain", query=query))

    def label(self, *, entry: int | None = None) -> ExplanationDocument:
        """Return the privacy label of everything that was released, or of one answer."""
        found = self._call("GET", *_about(entry), "label", query="?format=document")
        return ExplanationDocument.read(found)

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

    def _released(
        self, found: Mapping[str, Any], forms: tuple[QuestionDocument, ...]
    ) -> ReleaseDocument:
        release = ReleaseDocument.read(found)
        self._remember(f"release {release.receipt}", forms)
        return release

    def _remember(self, name: str, forms: tuple[QuestionDocument, ...]) -> None:
        with self._lock:
            self._asked[name] = forms
            self._asked.move_to_end(name)
            while len(self._asked) > _KEPT:
                self._asked.popitem(last=False)

    def _known(self, name: str, what: str) -> tuple[QuestionDocument, ...]:
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
        dataset: which one; may be left out if the caller sees one alone.
        timeout: how many seconds to wait for an answer.
        context: trusted certificates, if not the operating system's list.

    >>> connect("http://clinic.example", token="dsc_...")
    Traceback (most recent call last):
    discreet.errors.NotAllowed
    """
    transport = Transport(url, token=token, timeout=timeout, context=context)
    try:
        seen = transport.call("GET", "v1", "datasets")["datasets"]
        name = _only(seen) if dataset is None else dataset
        schema = DatasetDocument.read(transport.call("GET", "v1", "datasets", name))
    except BaseException:
        transport.close()
        raise
    return ServerConnection(transport, name, schema)
