"""``discreet ledger``: what was charged and answered, and whether it all adds up.

Trust: public.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from discreet.accounting.amounts import format_up
from discreet.cli.exit_codes import DONE, LEDGER, errors_reported, write_json, write_result
from discreet.cli.options import EXAMPLES, JsonOption, VerboseOption, command_inputs
from discreet.errors import NotALedger, OutOfRange
from discreet.ledger.ledger import Ledger
from discreet.ledger.own_account import own_account
from discreet.ledger.store import is_server
from discreet.ledger.values import Receipt
from discreet.ledger.verify import MOST, Problem, verify_file
from discreet.ledger.witness import Anchor, WitnessFile
from discreet.release.serialization import recorded_question
from discreet.session.display import text_bar
from discreet.units import describe_unit

app = typer.Typer(
    help="What was charged and answered.",
    epilog=EXAMPLES["ledger"],
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

CopyPath = Annotated[Path, typer.Argument(help="Where to write; nothing may be there yet.")]
ReceiptsOption = Annotated[
    list[str] | None, typer.Option(help="A receipt that the ledger once gave; may be repeated.")
]
WitnessOption = Annotated[
    Path | None,
    typer.Option(help="A file of anchors, in another place."),
]
LedgerArgument = Annotated[
    str | None, typer.Argument(help="The ledger; the one of policy.toml unless given.")
]


@app.command(epilog=EXAMPLES["show"])
def show(
    ledger: LedgerArgument = None, *, verbose: VerboseOption = False, as_json: JsonOption = False
) -> None:
    """Show accounts, their balances, and each question with its cost."""
    with errors_reported(as_json=as_json), _opened(_no_entry(ledger)) as opened:
        if as_json:
            write_json("ledger", _as_json(opened))
        else:
            _as_text(opened, verbose=verbose)


@app.command(epilog=EXAMPLES["verify"])
def verify(
    ledger: LedgerArgument = None,
    *,
    receipt: ReceiptsOption = None,
    witness: WitnessOption = None,
    as_json: JsonOption = False,
) -> None:
    """Work out everything again from the entries alone.

    The ledger of a policy must also have the id on record there.  With a witness, it must hold the
    entry of the last anchor.
    """
    with errors_reported(as_json=as_json) as ending:
        address = _address(ledger)
        receipts = [*(receipt or ()), *_anchored(witness)]
        if is_server(address):
            with Ledger.open(address) as opened:
                report = opened.verify(receipts=receipts)
        else:
            report = verify_file(address, receipts=receipts)
        named = None if ledger is not None else _id_on_record()
        if named is not None and report.ledger != named:
            other = Problem(0, "id", "it is not the ledger that the policy names.")
            report = replace(report, problems=(other, *report.problems)[:MOST])
        ending.code = DONE if report.ok else LEDGER
        write_result(
            "verification", {"ok": report.ok, "report": str(report)}, report, as_json=as_json
        )


@app.command(epilog=EXAMPLES["backup"])
def backup(path: CopyPath, ledger: LedgerArgument = None, *, as_json: JsonOption = False) -> None:
    """Write everything to a file while the ledger is in use, and verify what was written.

    Use this and not cp: a copy of the file may lack what was charged last, and is refused as a
    ledger.
    """
    with errors_reported(as_json=as_json), _opened(ledger) as opened:
        _report_copy("backup", path, opened.backup(path), ", verified", as_json=as_json)


@app.command(epilog=EXAMPLES["anchor"])
def anchor(
    ledger: LedgerArgument = None, *, witness: WitnessOption = None, as_json: JsonOption = False
) -> None:
    """Print the head of the ledger, to be kept in another place; or append it to a witness.

    A ledger that was put back to an earlier day does not continue its witness, and is refused.
    """
    with errors_reported(as_json=as_json), _opened(ledger) as opened:
        end = opened.receipt
        made = Anchor.of(end) if witness is None else WitnessFile(witness).extend(opened, end)
        content: dict[str, object] = {"at": made.at, "receipt": str(made.receipt)}
        write_result("anchor", content, str(made), as_json=as_json)


def _anchored(witness: Path | None) -> list[str]:
    """Return the receipt of the last anchor of a witness, if one is given; it must have one."""
    if witness is None:
        return []
    last = WitnessFile(witness).last()
    if last is None:
        raise NotALedger(
            what="the witness is not there, or has no anchor.",
            why="nothing can be compared with it.",
            do="name the right file; `discreet ledger anchor --witness` begins one.",
        )
    return [str(last.receipt)]


def _report_copy(kind: str, path: Path, receipt: Receipt, note: str = "", *, as_json: bool) -> None:
    content: dict[str, object] = {"path": str(path), "receipt": str(receipt)}
    write_result(kind, content, f"{path}{note}\nreceipt {receipt}", as_json=as_json)


@app.command(epilog=EXAMPLES["restore"])
def restore(  # noqa: PLR0913  two people, and what they say
    source: Annotated[
        Path, typer.Argument(help="A backup, or a ledger that can no longer be used.")
    ],
    ledger: LedgerArgument = None,
    *,
    reason: Annotated[str, typer.Option(help="Why.")],
    by: Annotated[str, typer.Option(help="Who wants it.")],
    approved_by: Annotated[str, typer.Option(help="Who agrees, somebody else.")],
    receipt: ReceiptsOption = None,
    last: Annotated[
        str | None,
        typer.Option(help="The receipt of its last entry, if both vouch that none came after it."),
    ] = None,
    witness: WitnessOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a ledger of a backup; what may have been charged since counts as spent.

    With --last, a witness of the old ledger must know of no later entry.  The new ledger begins a
    witness of its own.
    """
    with errors_reported(as_json=as_json):
        if witness is not None and last is None:
            raise OutOfRange("--witness says whether --last is the last receipt: give both.")
        address = ledger or command_inputs().named_ledger()
        with Ledger.restore(
            address,
            source,
            reason=reason,
            by=by,
            approved_by=approved_by,
            receipts=[*(receipt or ()), *_anchored(witness)],
            last=last,
        ) as restored:
            write_result(
                "restored",
                {"ledger": restored.id, "receipt": str(restored.receipt)},
                f"{restored}\nreceipt {restored.receipt}",
                as_json=as_json,
            )


@app.command(epilog=EXAMPLES["reopen"])
def reopen(
    key: Annotated[str, typer.Argument(help="The key of the closed question.")],
    ledger: LedgerArgument = None,
    *,
    reason: Annotated[str, typer.Option(help="Why it may be attempted again.")],
    by: Annotated[str, typer.Option(help="Who decides it.")],
    as_json: JsonOption = False,
) -> None:
    """Allow further attempts of a question that a failed attempt has closed; the owner's act."""
    with errors_reported(as_json=as_json), _opened(ledger) as opened:
        opened.reopen(key, reason=reason, by=by)
        write_result(
            "reopened",
            {"key": key, "receipt": str(opened.receipt)},
            f"reopened {key}\nreceipt {opened.receipt}",
            as_json=as_json,
        )


@app.command(epilog=EXAMPLES["account"])
def account(
    name: Annotated[str, typer.Argument(help="Whose account, such as ana; or a path, data/flu.")],
    ledger: LedgerArgument = None,
    *,
    limit: Annotated[str, typer.Option(help="The epsilon that it may spend in total.")],
    by: Annotated[str, typer.Option(help="Who opens it.")],
    as_json: JsonOption = False,
) -> None:
    """Open an account for one person, below the first one; its charges count there too.

    Its questions are asked with --account. Nothing happens if it is there with this limit.
    """
    with errors_reported(as_json=as_json), _opened(ledger) as opened:
        path = own_account(opened, name, limit=limit, by=by)
        left = str(opened.left(account=path))
        content: dict[str, object] = {"account": path, "left": left, "receipt": str(opened.receipt)}
        write_result(
            "account", content, f"{path}: {left}\nreceipt {opened.receipt}", as_json=as_json
        )


def _address(given: str | None) -> str:
    address = given or command_inputs().named_ledger()
    if not is_server(address) and not Path(address).is_file():
        Ledger.open(address)  # raises the reason: a missing ledger, or only its remains
    return address


def _no_entry(given: str | None) -> str | None:
    """Return the address of a ledger, unless it is the number of an entry."""
    if given is not None and given.isdecimal() and not Path(given).exists():
        raise NotALedger(
            what=f"there is no ledger called {given}.",
            why="the number of an entry names no ledger.",
            do=f"`discreet explain {given}` shows this entry, `discreet ledger show` lists all.",
        )
    return given


def _opened(given: str | None) -> Ledger:
    """Open the named ledger; that of the policy must have the id on record there."""
    return Ledger.open(_address(given), id=None if given is not None else _id_on_record())


def _id_on_record() -> str | None:
    """Return the id of the ledger that the policy names, if it has one."""
    said = command_inputs().policy.session
    return None if said is None else said.ledger_id


def _as_text(ledger: Ledger, *, verbose: bool) -> None:
    write = sys.stdout.write
    names = {path: ledger.left(account=path).budget.components for path in ledger.accounts}
    if verbose:
        write(f"ledger {ledger.id}, for {describe_unit(ledger.unit)}\n")
    for path in ledger.accounts:
        left = ledger.left(account=path)
        words = (
            f"left: {left.details}" if verbose else f"left of {left.budget}".partition(", kept")[0]
        )
        write(f"{path}: {text_bar(left)} {words}\n")
    entries = list(ledger.entries())
    table = _all_entries(entries, names) if verbose else _questions(ledger, entries, names)
    Console(highlight=False).print(table)
    for key in ledger.closed:
        write(f"closed by a failed attempt: {key}\n")
    if verbose:
        write(f"receipt {ledger.receipt}\n")


def _questions(
    ledger: Ledger, entries: Sequence[Mapping[str, Any]], names: Mapping[str, tuple[str, ...]]
) -> Table:
    """Return a line for each question that was paid for, and for each change of a budget."""
    keys = [str(entry["key"]) for entry in entries if entry["kind"] == "charge"]
    answers = {each.key: each for each in ledger.answers_of(keys)}
    table = Table("entry", "when", "question", "cost", box=None, pad_edge=False)
    for entry in entries:
        kind, key = str(entry["kind"]), str(entry.get("key", ""))
        found = answers.get(key)
        if kind == "charge":
            number = entry["seq"] if found is None else found.receipt.seq
            asked = recorded_question(found.answer) if found is not None else "not answered"
            asked = asked or f"digest {str(entry['question'])[:12]}"
        elif kind in {"raise", "restore", "reopen", "account"}:
            number, asked = entry["seq"], f"({kind} by {entry['by']})"
        else:
            continue
        when = str(entry["at"])[:16].replace("T", " ")
        table.add_row(str(number), when, Text(asked), _cost(entry, names, first=True))
    return table


def _all_entries(
    entries: Sequence[Mapping[str, Any]], names: Mapping[str, tuple[str, ...]]
) -> Table:
    table = Table("entry", "when", "kind", "account", "key", "cost")
    for entry in entries:
        table.add_row(
            str(entry["seq"]),
            str(entry["at"])[:19].replace("T", " "),
            str(entry["kind"]),
            str(entry.get("account", "")),
            str(entry.get("question") or entry.get("key") or "")[:12],
            _cost(entry, names),
        )
    return table


def _cost(
    entry: Mapping[str, Any], names: Mapping[str, tuple[str, ...]], *, first: bool = False
) -> str:
    """Return the highest cost of a charge to any unit: in all components of its account, or one."""
    if entry["kind"] != "charge":
        return ""
    paid = entry["amounts"].get(entry["account"])
    if not paid:
        return ""
    sides = [[int(amount) for amount in side] for piece in paid for side in piece]
    most = [max(column) for column in zip(*sides, strict=True)]
    parts = zip(names[entry["account"]], most, strict=True)
    words = [f"{name} {format_up(amount)}" for name, amount in parts if amount]
    return ", ".join(words[:1] if first else words)


def _as_json(ledger: Ledger) -> dict[str, object]:
    accounts = {path: str(ledger.left(account=path)) for path in ledger.accounts}
    return {
        "ledger": ledger.id,
        "unit": describe_unit(ledger.unit),
        "accounts": accounts,
        "entries": list(ledger.entries()),
        "closed": list(ledger.closed),
        "receipt": str(ledger.receipt),
    }
