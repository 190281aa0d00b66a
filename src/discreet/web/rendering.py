"""Templates under a strict content security policy, and refusals with the refused part marked.

Trust: kernel.  Displayed values stay text, no page contains an inline script or style, and no cache
keeps answers: otherwise a foreign page could ask, and spend, in a visitor's name.

An error quotes the question line by line, with carets below the part that it is about
(:mod:`discreet.query.sql`).  A page shows the same part inside the line.
"""

from __future__ import annotations

import hashlib
import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final, final

from fastapi import Request
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from discreet.charts import STYLE, Picture
from discreet.errors import DiscreetError

_QUOTED: Final = re.compile(r"^\s*\d+ \| ?(?P<line>.*)$")
_CARETS: Final = re.compile(r"^\s*\| ?(?P<before> *)(?P<marked>\^+)\s*$")


@final
@dataclass(frozen=True, slots=True)
class MarkedLine:
    """A line of a question: before the refused part, the part itself, and after it."""

    before: str
    marked: str = ""
    after: str = ""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What happened, why, what to do, and where in the question.

    >>> from discreet.errors import UnknownName
    >>> where = chr(10).join(["no column wrd.", "1 | SELECT wrd", "  |        ^^^"])
    >>> Refusal.of(UnknownName(what=where, why="It is not declared.", do="Write ward.")).lines
    (MarkedLine(before='SELECT ', marked='wrd', after=''),)
    """

    code: str
    what: str
    why: str
    do: str
    lines: tuple[MarkedLine, ...] = ()

    @classmethod
    def of(cls, error: DiscreetError) -> Refusal:
        """Take an error apart."""
        said, lines = split_quotation(error.what)
        return cls(code=error.code or "", what=said, why=error.why, do=error.do, lines=lines)


def split_quotation(text: str) -> tuple[str, tuple[MarkedLine, ...]]:
    """Return the words of a message, and the quoted lines with their marks.

    >>> split_quotation("nothing is quoted")
    ('nothing is quoted', ())
    """
    words: list[str] = []
    lines: list[MarkedLine] = []
    for line in text.split("\n"):
        carets, quoted = _CARETS.match(line), _QUOTED.match(line)
        if carets and lines:
            whole = lines[-1].before
            start, end = carets.span("marked")
            start, end = start - carets.start("before"), end - carets.start("before")
            lines[-1] = MarkedLine(whole[:start], whole[start:end], whole[end:])
        elif quoted:
            lines.append(MarkedLine(quoted["line"]))
        else:
            words.append(line)
    return "\n".join(words).strip(), tuple(lines)


_HERE: Final = Path(__file__).parent
POLICY: Final = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
"""What every response of the workbench says."""
HTMX: Final = "htmx-2.0.11.min.js"
_SHORT: Final = 10


@cache
def environment() -> Environment:
    """Return the templates; what a template does not know is an error, not nothing."""
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["svg"] = strict_svg
    made.filters["when"] = shown_time
    made.filters["hash"] = lambda text: str(text)[:_SHORT]
    made.globals["htmx"] = HTMX
    return made


def strict_svg(picture: Picture) -> Markup:
    """Return a picture for a page with a strict policy: its style is in a file of its own.

    >>> from discreet.charts import Words
    >>> shown = strict_svg(Picture(title="<b>", width=9, height=9,
    ...     shapes=(Words(at=(1, 1), text="<script>"),)))
    >>> "style" in shown, "<b>" in shown, "<script>" in shown
    (False, False, False)
    """
    return Markup(picture.svg(styled=False))  # noqa: S704  escaped where it is drawn


def shown_time(when: object) -> str:
    """Show a timestamp to the minute, in UTC.

    >>> shown_time(0.0), shown_time("2026-11-17T09:29:35.899608Z")
    ('1970-01-01 00:00', '2026-11-17 09:29')
    """
    if isinstance(when, str):
        moment = datetime.fromisoformat(when)
    else:
        moment = datetime.fromtimestamp(float(when), UTC)  # type: ignore[arg-type]
    return moment.strftime("%Y-%m-%d %H:%M")


def page(template: str, request: Request, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page."""
    text = environment().get_template(template).render(path=request.url.path, **values)
    return HTMLResponse(text, status_code=status, headers=dict(HEADERS))


def see_other(path: str, request: Request | None = None) -> Response:
    """Send a browser to another page after a form, so that reloading repeats nothing.

    A form sent by a script gets the target address, since it would not leave its page by itself.
    """
    if request is not None and "hx-request" in request.headers:
        return Response(headers={**HEADERS, "HX-Redirect": path})
    return RedirectResponse(path, status_code=303, headers=dict(HEADERS))


def download(text: str, *, name: str, kind: str) -> Response:
    """Return text as a file to keep."""
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=kind, headers=headers)


@cache
def assets() -> Mapping[str, tuple[bytes, str, str]]:
    """Return every file that pages load: its bytes, its type and its tag.

    >>> sorted(assets())[0]
    'htmx-2.0.11.min.js'
    """
    files = {path.name: path.read_bytes() for path in (_HERE / "assets").iterdir()}
    files["pictures.css"] = STYLE.encode()
    return {
        name: (content, _type(name), hashlib.sha256(content).hexdigest()[:16])
        for name, content in sorted(files.items())
    }


def asset(name: str, known: str | None) -> Response:
    """Return one of these files, or nothing if the browser has it already."""
    if name not in assets():
        return PlainTextResponse("Not found.", status_code=404, headers=dict(HEADERS))
    content, kind, tag = assets()[name]
    headers = {**HEADERS, "Cache-Control": "no-cache", "ETag": f'"{tag}"'}
    if known == f'"{tag}"':
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)


def _type(name: str) -> str:
    if name.endswith(".js"):
        return "text/javascript"
    return mimetypes.guess_type(name)[0] or "text/plain"
