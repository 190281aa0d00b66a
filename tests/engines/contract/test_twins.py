"""Broken engines are caught by the checks."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from discreet.errors import EngineFailed
from tests.engines.contract import checks
from tests.engines.contract.cases import CASES, named
from tests.engines.contract.places import DuckDBPlace


class Forgetful(DuckDBPlace):
    """Loses one row."""

    def sources(self, asked):
        rows = {**asked.rows, "events": asked.rows["events"][:-1]}
        return super().sources(replace(asked, rows=rows))


class Engine:
    """Wraps an engine, to break it."""

    def __init__(self, engine):
        self.engine = engine

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.engine.close()


class Wrapped(DuckDBPlace):
    def __init__(self, wrapper):
        self.wrapper = wrapper

    def opened(self, asked):
        return self.wrapper(super().opened(asked))

    @contextmanager
    def broken(self, asked):
        with super().broken(asked) as engine:
            yield self.wrapper(engine)


class Careless(Engine):
    """Refuses nothing at planning."""

    def check(self, lowered):
        pass


class Chatty(Engine):
    """Says why it failed."""

    def run(self, lowered, *, order):
        try:
            return self.engine.run(lowered, order=order)
        except EngineFailed as error:
            raise EngineFailed(what=error.what, why=error.why, do=error.do) from error


class Immortal(Engine):
    """Does not close."""

    def close(self):
        pass


class Open(Engine):
    """Shows what it holds."""

    def __repr__(self):
        return checks.SECRET


def test_a_lost_row_is_noticed():
    with pytest.raises(AssertionError):
        checks.check_agreement(Forgetful(), named("counts"))


def test_an_engine_that_refuses_nothing_is_noticed():
    with pytest.raises(pytest.fail.Exception):
        checks.check_refusals(Wrapped(Careless))


def test_an_engine_that_talks_is_noticed(caplog):
    with pytest.raises(AssertionError):
        checks.check_failure(Wrapped(Chatty), caplog)
    with pytest.raises(AssertionError):
        checks.check_quiet(Wrapped(Open), caplog)


def test_an_engine_that_stays_open_is_noticed():
    with pytest.raises(pytest.fail.Exception):
        checks.check_closing(Wrapped(Immortal))


def test_the_checks_have_something_to_do():
    assert len(CASES) > 35
