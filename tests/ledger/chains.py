"""Chains of entries built by hand, as honest or as forged as a test wants them."""

from __future__ import annotations

import copy
import hashlib
import json

from discreet.accounting import Box, Budget, Leaf, codec, equals
from discreet.accounting.requests import RequestPricer
from discreet.ledger.verify import verify
from discreet.loss import Pure
from discreet.mechanisms import Laplace
from discreet.units import row

AT = "2026-01-02T03:04:05.678901Z"
NAME = "0123456789abcdef0123456789abcdef"
CA, NY = Box({"state": equals("CA")}), Box({"state": equals("NY")})


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def sha(data):
    return hashlib.sha256(data).hexdigest()


class Chain:
    """Entries as dictionaries, answers beside them; ``rows`` chains them as they are now."""

    def __init__(self, budget=None, *, unit=None, constant=(), contribution=None, name=NAME):
        self.unit, self.constant, self.contribution = unit or row(), constant, contribution
        budget = budget or Budget(epsilon=10)
        self.entries, self.answers = [], []
        self.prices = RequestPricer(unit=self.unit, constant=constant, contribution=contribution)
        self.budgets = {"data": budget}
        self.add(
            "open",
            ledger=name,
            unit=codec.encode_unit(self.unit),
            constant=list(constant),
            contribution=None if contribution is None else contribution.written(),
            account="data",
            budget=budget.written(),
        )

    def add(self, kind, stored=None, /, **fields):
        seq = len(self.entries) + 1
        self.entries.append({**fields, "format": 1, "seq": seq, "kind": kind, "at": AT})
        self.answers.append(stored)
        return self.entries[-1]

    def account(self, path, budget=None):
        self.budgets[path] = budget
        data = None if budget is None else budget.written()
        self.add("account", account=path, budget=data, by="ana")

    def raise_to(self, budget, path="data", **people):
        who = {"reason": "agreed", "by": "ana", "approved_by": "ben", **people}
        self.add("raise", account=path, budget=budget.written(), **who)

    def charge(self, key, what=None, *, scope=None, delta=None, account="data", question=""):
        what = Pure(epsilon="0.5") if what is None else what
        box = scope or Box.everything()
        node = self.prices.node(what)
        tree = codec.encode(node)
        parts = account.split("/")
        paths = ["/".join(parts[: k + 1]) for k in range(len(parts))]
        pieces = {
            path: self.prices.pieces(node, self.budgets[path].currency, scope=box, delta=delta)
            for path in paths
            if self.budgets[path]
        }
        asked = [account, tree, box.written(), delta, question]
        some = next(iter(pieces.values()))
        self.add(
            "charge",
            account=account,
            key=key,
            question=question,
            body=sha(canonical(asked).encode()),
            tree=tree,
            scope=box.written(),
            delta=delta,
            boxes=[piece.box.written() for piece in some],
            amounts={
                path: [[list(map(str, p.added)), list(map(str, p.replaced))] for p in value]
                for path, value in pieces.items()
            },
        )

    def start(self, key, attempt=1):
        self.add("start", key=key, attempt=attempt)

    def release(self, key, answer=b"42 \xff"):
        self.add("release", answer, key=key, answer=sha(answer), size=len(answer))

    def ask(self, key, what=None, **more):
        """Charge, start and release."""
        self.charge(key, what, **more)
        self.start(key)
        self.release(key, f"answer to {key}".encode())

    def restore(self, **more):
        who = {"reason": "moved", "by": "ana", "approved_by": "ben", "spent": False, **more}
        self.add("restore", **who, after=self.rows()[-1][5])

    def fail(self, key):
        self.add("fail", key=key)

    def reopen(self, key, reason="mended", by="ana"):
        self.add("reopen", key=key, reason=reason, by=by)

    def describe(self, what, content, digest=None):
        found = sha(canonical(content).encode()) if digest is None else digest
        self.add("describe", what=what, content=content, digest=found)

    def rows(self):
        return chained(self.entries, self.answers)

    def copy(self):
        twin = copy.copy(self)
        twin.entries, twin.answers = copy.deepcopy(self.entries), self.answers.copy()
        twin.budgets = self.budgets.copy()
        return twin


def chained(entries, answers):
    """Write lines and heads from scratch, as a forger would who controls the file."""
    head, rows = "0" * 64, []
    for entry, answer in zip(entries, answers, strict=True):
        line = canonical(entry)
        head = sha(f"{head}\n{line}".encode())
        columns = (entry.get("seq"), entry.get("kind"), entry.get("key"), entry.get("question"))
        rows.append((*columns, line, head, answer))
    return rows


def receipt(rows, seq=None, name=NAME):
    seq = len(rows) if seq is None else seq
    return f"{name}:{seq}:{rows[seq - 1][5]}"


def kinds(rows, **more):
    """The kinds of problems, in order and once each."""
    return list(dict.fromkeys(problem.kind for problem in verify(rows, **more).problems))


def honest():
    return HONEST.copy()


def made():
    chain = Chain(Budget(epsilon=3))
    chain.account("data/flu", Budget(epsilon=2))
    chain.account("data/flu/ana")
    chain.ask("a", Pure(epsilon="0.5"), scope=CA, account="data/flu/ana", question="ab12")
    chain.ask("b", Leaf(Laplace(scale=4)) * 2, scope=NY, account="data/flu")
    chain.raise_to(Budget(epsilon=4))
    chain.charge("c", Pure(epsilon="0.25"))
    chain.start("c")
    chain.start("c", 2)
    return chain


HONEST = made()
LAST = receipt(HONEST.rows())


def forge(change, *, chain=None):
    """Let somebody change entries who can write the whole chain anew."""
    forged = (chain or honest()).copy()
    change(forged.entries)
    return forged.rows()


def set_field(at, name, value):
    def change(entries):
        entries[at][name] = value

    return change
