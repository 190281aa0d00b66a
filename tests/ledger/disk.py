"""A store in memory whose commits can fail, be seen or be held up by a test."""

from __future__ import annotations

import threading
from contextlib import contextmanager

from discreet.errors import LedgerUnavailable, NotALedger


def lost():
    return LedgerUnavailable(what="the disk is gone.", why="this is a test.", do="nothing.")


class Disk:
    """What is stored, by however many stores."""

    def __init__(self):
        self.rows = []
        self.kept = None
        self.there = False
        self.lock = threading.Lock()
        self.commits = 0
        self.written = 0


class DiskStore:
    """A store on a disk; ``fail`` is called with the name of each step, and may raise."""

    def __init__(self, disk, fail=lambda step: None):
        self.disk = disk
        self.fail = fail
        self.pending = None
        self.kept = None
        self.opened = False

    def create(self, rows):
        if self.disk.there:
            return False
        self.disk.rows, self.disk.there = [*rows], True
        return True

    def open(self):
        self.fail("open")
        if not self.disk.there:
            raise NotALedger(what="nothing is there.", why="this is a test.", do="nothing.")
        self.opened = True

    @contextmanager
    def exclusive(self):
        assert self.opened
        with self.disk.lock:
            self.fail("begin")
            self.pending, self.kept = [], None
            try:
                yield
                self.fail("commit")
                self.commit()
                self.fail("committed")
            finally:
                self.pending = None

    def commit(self):
        self.disk.rows = [*self.disk.rows, *self.pending]
        self.disk.written += bool(self.pending or self.kept)
        self.disk.kept = self.kept or self.disk.kept
        self.disk.commits += 1

    def rows(self, after, *, answers=False):
        assert self.opened
        self.fail("rows")
        yield from [row for row in [*self.disk.rows, *(self.pending or [])] if row.seq > after]

    def rows_of(self, keys):
        kinds = ("charge", "start", "release")
        return [row for row in self.rows(0) if row.key in keys and row.kind in kinds]

    def first_answer(self, question):
        asked = {row.key for row in self.rows(0) if row.question == question != ""}
        found = [row for row in self.rows(0) if row.kind == "release" and row.key in asked]
        return found[0] if found else None

    def append(self, rows):
        self.fail("append")
        self.pending.extend(rows)

    def checkpoint(self):
        return self.disk.kept

    def keep_checkpoint(self, seq, state):
        self.fail("keep")
        self.kept = (seq, state)

    def close(self):
        self.opened = False
