"""Sessions of a run whose writes are recorded.

Each asks again what was not answered, asks new questions, and closes the ledger.  Where it has
several threads, another process has the ledger open too and does not use it, and nobody closes it.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from chaos.analyst import ROOM, Analyst, Question, open_accounts, open_ledger, unanswered
from chaos.diary import Diary, diary
from chaos.stores import Wrapper, wrapped

LEDGER, DIARY = "ledger", "diary"
EACH_CELL = 25


def work(folder: Path, *, questions: int, threads: int, wrapper: Wrapper) -> None:
    """Ask, one after another or several at once."""
    past = diary(folder / DIARY)
    first = len({event.key for event in past})
    numbers = range(first, first + questions)
    asked = [*map(Question.read, unanswered(past)), *map(_question, numbers)]
    address = str(folder / LEDGER)
    with wrapped(wrapper):
        if threads > 1:
            _open_elsewhere(address)
        ledger = open_ledger(address)
        open_accounts(ledger)
        analyst = Analyst(ledger, Diary(folder / DIARY))
        if threads > 1:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(analyst.ask, asked))
            os._exit(0)
        for question in asked:
            analyst.ask(question)
        ledger.close()


def _open_elsewhere(address: str) -> None:
    """Open the ledger in another process, which ends with this one."""
    opened, alive = os.pipe(), os.pipe()
    if not os.fork():
        os.close(alive[1])
        ledger = open_ledger(address)
        os.write(opened[1], b".")
        os.read(alive[0], 1)
        os._exit(ledger is None)
    os.read(opened[0], 1)


def _question(number: int) -> Question:
    accounts = tuple(ROOM)
    return Question(number // EACH_CELL, accounts[number % len(accounts)], f"q{number}")
