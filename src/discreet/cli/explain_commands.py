"""``discreet explain`` and ``discreet label``: what answers give away, in odds and on one page.

Trust: public.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from discreet import explain as odds
from discreet.accounting import Budget
from discreet.cli.exit_codes import errors_reported, write_result
from discreet.cli.options import (
    AccountOption,
    CommandInputs,
    JsonOption,
    PolicyOption,
    command_inputs,
    name_value_pairs,
)
from discreet.errors import WrongKind
from discreet.ledger.ledger import Ledger

if TYPE_CHECKING:  # which the door loads when a command first needs it
    from discreet.explain import Label

_ENTRY: Final = re.compile(r"(?:[Rr]-?)?0*([1-9][0-9]{0,17})", re.ASCII)

ReleaseArgument = Annotated[
    str | None,
    typer.Argument(help="The entry that records an answer, such as R-0041; all answers without."),
]
AudienceOption = Annotated[
    str, typer.Option("--audience", help="subject, analyst, steward or auditor.")
]
BudgetOption = Annotated[
    str | None,
    typer.Option("--budget", help='A budget before it is promised: "epsilon=2, delta=1e-9".'),
]
ExplainedLedgerOption = Annotated[
    str | None, typer.Option("--ledger", help="The ledger; that of the policy unless given.")
]
HtmlOption = Annotated[Path | None, typer.Option("--html", help="Also write a page with pictures.")]
PicturesOption = Annotated[
    bool, typer.Option("--pictures", help="Show all pictures as text below the words.")
]


def explain(  # noqa: PLR0913  one for each option
    release: ReleaseArgument = None,
    *,
    audience: AudienceOption = "analyst",
    budget: BudgetOption = None,
    ledger: ExplainedLedgerOption = None,
    account: AccountOption = None,
    policy: PolicyOption = None,
    html: HtmlOption = None,
    pictures: PicturesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Explain what answers reveal about one person: odds, budget, and facts that noise cannot hide.

    Nothing is read but the policy and the ledger, whose entries are verified first.
    """
    with errors_reported(as_json=as_json):
        inputs = command_inputs(policy=policy, ledger=ledger)
        about = inputs.policy.about
        if budget is None:
            entry = None if release is None else _entry(release)
            with _verified(inputs, given=ledger is not None) as opened:
                explained = odds.explain(
                    opened, audience=audience, about=about, account=account, entry=entry
                )
        elif release is None and ledger is None:
            unit = inputs.policy.unit
            explained = odds.explain(_budget(budget), audience=audience, unit=unit, about=about)
        else:
            raise WrongKind(
                what="a budget is given together with a ledger or an answer.",
                why="each is explained by itself.",
                do="give one of them.",
            )
        if html is not None:
            _write_new(html, explained.to_page())
        shown = f"{explained}\n\n{explained.to_blocks()}" if pictures else explained
        write_result("explanation", explained.to_json(), shown, as_json=as_json)


FormatOption = Annotated[
    str, typer.Option("--format", help="text, html, json, nist, dpia or registry.")
]
VerifyOption = Annotated[
    Path | None, typer.Option("--verify", help="A label in JSON, to be checked with the ledger.")
]
_FORMATS: Final[dict[str, Callable[[Label], str]]] = {
    "text": lambda made: f"{made}\n",
    "html": lambda made: made.to_html(),
    "json": lambda made: made.to_json(),
    "nist": lambda made: made.to_nist(),
    "dpia": lambda made: made.to_dpia(),
    "registry": lambda made: made.to_registry(),
}


def label(
    release: ReleaseArgument = None,
    *,
    form: FormatOption = "text",
    verify: VerifyOption = None,
    ledger: ExplainedLedgerOption = None,
    policy: PolicyOption = None,
) -> None:
    """Print the privacy label of a ledger or of one answer, or check one that was printed."""
    with errors_reported(as_json=form == "json"):
        if form not in _FORMATS:
            raise WrongKind(
                what="there is no such format of labels.",
                why="a label is shown as text, HTML or JSON, or as a paper that others ask for.",
                do=f"give --format {', '.join(_FORMATS)}.",
            )
        inputs = command_inputs(policy=policy, ledger=ledger)
        with _verified(inputs, given=ledger is not None) as opened:
            if verify is None:
                entry = None if release is None else _entry(release)
                about = inputs.policy.about
                made = odds.label_of(opened, about=about, entry=entry)
                text = _FORMATS[form](made)
            else:
                receipt = odds.verify_label(verify, opened)
                text = f"every number follows from the ledger up to entry {receipt.seq}\n"
        sys.stdout.write(text)


def _verified(inputs: CommandInputs, *, given: bool) -> Ledger:
    """Open the ledger of a policy or an option, and refuse one that does not add up."""
    said = inputs.policy.session
    name = None if given or said is None else said.ledger_id
    opened = Ledger.open(inputs.named_ledger(), id=name)
    try:
        opened.verify().raise_if_bad()
    except BaseException:
        opened.close()
        raise
    return opened


def _write_new(path: Path, text: str) -> None:
    """Write a new file; a slip must not overwrite a ledger."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        raise WrongKind(
            what=f"the page '{path}' cannot be written, or something is there already.",
            why="nothing that exists is overwritten.",
            do="name a new file in a folder that exists.",
        ) from None


def _entry(text: str) -> int:
    number = _ENTRY.fullmatch(text)
    if number is None:
        raise WrongKind(
            what="the answer is not named by its entry.",
            why="answers on record are numbered by the entries of the ledger.",
            do="give the number of its entry, such as R-0041; `discreet ledger show` lists them.",
        )
    return int(number[1])


def _budget(text: str) -> Budget:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    given = name_value_pairs(parts, option="--budget", of="number")
    unknown = given.keys() - {"epsilon", "delta", "rho"}
    if unknown or not given:
        raise WrongKind(
            what="the budget is not understood.",
            why="it has an epsilon or a rho, and perhaps a delta.",
            do='write --budget "epsilon=2, delta=1e-9".',
        )
    return Budget(
        epsilon=given.get("epsilon"),
        delta=given.get("delta", 0),
        rho=given.get("rho"),
    )
