"""``%load_ext discreet``: questions in the cells of a notebook, with completion of names.

Trust: public.  A cell calls ``plan`` or ``ask`` of a session, or of a connection to a server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, final

from IPython.core.completer import SimpleCompletion
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import (
    argument,
    magic_arguments,
    parse_argstring,
)

from discreet.errors import WrongKind
from discreet.plan import share_cut

if TYPE_CHECKING:  # annotations alone name them
    from IPython.core.completer import CompletionContext, SimpleMatcherResult
    from IPython.core.interactiveshell import InteractiveShell

_START: Final = "%%discreet"
_PRICES: Final = ("epsilon", "rho", "delta")
_NAME: Final = r'"?([A-Za-z_]\w*)"?'
_SOURCE: Final = re.compile(rf"\b(?:FROM|JOIN)\s+{_NAME}(?:\s+(?:AS\s+)?{_NAME})?", re.IGNORECASE)
_TABLE_NEXT: Final = re.compile(r"\b(?:FROM|JOIN)\s+\w*$", re.IGNORECASE)


def add_magics(shell: InteractiveShell) -> None:
    """Add the cell magic and its completion, once."""
    shell.register_magics(QuestionMagics(shell=shell))
    matchers = shell.Completer.custom_matchers
    matchers[:] = [each for each in matchers if not isinstance(each, _Completion)]
    matchers.append(_Completion(shell))


@magics_class
class QuestionMagics(Magics):
    """The cell magic."""

    @magic_arguments()
    @argument("session", nargs="?", help="The variable of a session, if several are open.")
    @argument("--epsilon", help="What the answer may cost.")
    @argument("--rho", help="The same in zero-concentrated privacy.")
    @argument("--delta", help="The chance with which the promise may fail.")
    @argument(
        "--error", action="append", metavar="NAME=5", help="Instead: how far an output may be off."
    )
    @argument("--share", help="Also buy, at this epsilon, the share of rows that limits leave out.")
    @argument("--plan", action="store_true", help="Show the price and the error; spend nothing.")
    @argument(
        "--confirm", action="store_true", help="Ask though little can be read, or epsilon is large."
    )
    @argument("--to", metavar="NAME", help="Keep the answer in this variable.")
    @cell_magic
    def discreet(self, line: str, cell: str) -> Any:
        """Answer a question in SQL, or plan it; the same question again is free."""
        assert self.shell is not None  # noqa: S101  a magic runs in one
        given = parse_argstring(self.discreet, line)
        session = session_in(self.shell.user_ns, given.session)
        price = {name: getattr(given, name) for name in _PRICES}
        if given.error:
            price["error"] = dict(map(_bound, given.error))
        if given.share is not None:
            price["share_cut"] = share_cut(epsilon=given.share)
        if given.plan:
            answer = session.plan(cell, **price)
        else:
            answer = session.ask(cell, confirm=given.confirm, **price)
        if given.to:
            self.shell.user_ns[given.to] = answer
        return answer


def session_in(names: Mapping[str, Any], name: str | None) -> Any:
    """Return the session of a name, or the only one that is open.

    >>> session_in({"n": 1}, "n")
    Traceback (most recent call last):
    discreet.errors.WrongKind: ...
    """
    sessions = dict(_sessions(names))
    if name in sessions:
        return sessions[name]
    only = {id(each): each for each in sessions.values()}
    if name is None and len(only) == 1:
        return next(iter(only.values()))
    what = "there are several sessions." if name is None else f"{name} is not an open session."
    do = f"name one of: {', '.join(sessions)}."
    if not sessions:
        what = "there is no open session here."
        do = "open one: clinic = dp.open(policy='clinic.toml'), say."
    raise WrongKind(what=what, why="a cell is a question about the tables of one.", do=do)


def _sessions(names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the variables that hold an open session, or a connection to a server."""
    for name, value in tuple(names.items()):
        kind = type(value)
        ours = kind.__module__.startswith("discreet.") and hasattr(kind, "remeasure")
        if ours and not name.startswith("_") and not getattr(value, "closed", False):
            yield name, value


def _bound(text: str) -> tuple[str, str]:
    name, equals, number = text.partition("=")
    if not equals:
        raise WrongKind(
            what=f"--error {text} names no output.",
            why="each output has an error of its own.",
            do="give --error n=20, say, once for each output.",
        )
    return name, number


@final
class _Completion:
    """Completes options and sessions on the first line, and tables and columns below it."""

    matcher_api_version = 2
    matcher_identifier = "discreet"
    matcher_priority = 0

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self.__qualname__ = type(self).__qualname__  # by which IPython names it

    def __call__(self, context: CompletionContext) -> SimpleMatcherResult:
        if not context.full_text.startswith(_START):
            return {"completions": []}
        found = self._names(context) if context.cursor_line else self._options()
        near = context.token.casefold()
        return {
            "completions": [
                SimpleCompletion(text=text, type=kind)
                for text, kind in dict(found).items()
                if text.casefold().startswith(near)
            ],
            "suppress": True,
        }

    def _options(self) -> Iterator[tuple[str, str]]:
        parser = QuestionMagics.discreet.parser
        for action in parser._actions:  # noqa: SLF001  argparse lists them nowhere else
            yield from ((option, "option") for option in action.option_strings[-1:])
        yield from ((name, "session") for name, _ in _sessions(self._shell.user_ns))

    def _names(self, context: CompletionContext) -> Iterator[tuple[str, str]]:
        line, _, cell = context.full_text.partition("\n")
        named = [word for word in line.split() if word in dict(_sessions(self._shell.user_ns))]
        try:
            tables = session_in(self._shell.user_ns, named[0] if named else None).tables
        except WrongKind:
            return
        known = {name.casefold(): name for name in tables}
        if _TABLE_NEXT.search(context.text_until_cursor):
            yield from ((name, "table") for name in tables)
            return
        asked = {
            alias or name: known[name.casefold()]
            for name, alias in _SOURCE.findall(cell)
            if name.casefold() in known
        }
        for alias, table in asked.items():
            columns = [column.name for column in tables[table].columns]
            if "." in context.token:
                yield from ((f"{alias}.{column}", "column") for column in columns)
            else:
                yield from ((column, "column") for column in columns)
        yield from ((name, "table") for name in (asked or known.values()))
        if not asked:
            for table in tables.values():
                yield from ((column.name, "column") for column in table.columns)
