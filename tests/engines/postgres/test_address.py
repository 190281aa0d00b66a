"""Addresses: what they name, and that no password is ever shown."""

import pytest

from discreet.engines.postgres.address import Address, address_of, is_address
from discreet.errors import WrongKind

PASSWORD = "pa55word"  # noqa: S105 (nobody's)


@pytest.mark.parametrize(
    ("text", "shown", "sql"),
    [
        ("postgresql://h/db/t", "postgresql://h/db/t", '"public"."t"'),
        ("postgres://h/db/t", "postgresql://h/db/t", '"public"."t"'),
        ("postgresql://h/db/t/", "postgresql://h/db/t", '"public"."t"'),
        ("postgresql://u:pa55word@h:1/db/s.t", "postgresql://u@h:1/db/s.t", '"s"."t"'),
        ("postgresql://u:pa55word@h/db/public.t", "postgresql://u@h/db/t", '"public"."t"'),
        ("postgresql://:pa55word@h/db/t", "postgresql://h/db/t", '"public"."t"'),
        ("postgresql://u:pa55word?x@h/db/t", "postgresql://u@h/db/t", '"public"."t"'),
        ("postgresql://u:pa55word#x@h/db/t", "postgresql://u@h/db/t", '"public"."t"'),
        ("postgresql://h/db/t?password=pa55word", "postgresql://h/db/t", '"public"."t"'),
        ("postgresql://a:1,b:2/db/t?sslmode=require", "postgresql://a:1,b:2/db/t", '"public"."t"'),
        ("postgresql://u@[::1]:5432/db/t", "postgresql://u@[::1]:5432/db/t", '"public"."t"'),
        ("postgresql:///db/t?host=/run/pg", "postgresql:///db/t", '"public"."t"'),
        ("postgresql://%2Frun%2Fpg/db/t", "postgresql://%2Frun%2Fpg/db/t", '"public"."t"'),
        ("postgresql://h/db/S.T", "postgresql://h/db/S.T", '"S"."T"'),
        ("postgresql://h/db/a%2Eb.c%2Fd", "postgresql://h/db/a%2Eb.c%2Fd", '"a.b"."c/d"'),
        ("postgresql://h/db/%22x", "postgresql://h/db/%22x", '"public"."""x"'),
        ("postgresql://h/db/%C3%A9", "postgresql://h/db/%C3%A9", '"public"."é"'),
    ],
)
def test_tables_are_named(text, shown, sql):
    address = address_of(text)
    assert str(address) == shown
    assert repr(address) == f"Address({shown})"
    assert address.sql == sql
    assert PASSWORD in address.uri or PASSWORD not in text


def test_a_connection_has_the_options_of_the_address_and_some_more():
    plain = address_of("postgresql://u:pa55word@h:1/db/t").uri
    assert plain.startswith("postgresql://u:pa55word@h:1/db?connect_timeout=15&")
    chosen = address_of("postgresql://h/db/t?sslmode=require&connect_timeout=3").uri
    assert chosen.startswith("postgresql://h/db?sslmode=require&connect_timeout=3&")
    assert chosen.count("connect_timeout") == 1


@pytest.mark.parametrize("text", ["postgresql://h/db", "postgresql://h/db/", "postgresql://h"])
def test_a_database_has_tables(text):
    address = address_of(text)
    assert address.table is None
    assert str(address.with_table("s.t")).endswith("/s.t")
    assert address.with_table("t").server == address.with_table("u").server


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://u:pa55word/db/t",  # the host is missing, and this is not a port
        "postgresql://u:pa55/word@h/db/t",
        "postgresql://u:pa55@word@h/db/t",
        "postgresql://u:pa55word@h/db/t@x",
        "postgresql://u:pa55word@h/a/b/c",
        "postgresql://u:pa55word@h/db#flu",
        "postgresql://u:pa55word@h/db/t?x#flu",
        "postgresql://u:pa55word@h#x/db/t",
        "postgresql://u:pa55word@h?x/db/t",
        "postgresql://u:pa55word@[h/db/t",
        "postgresql://u:pa55word@h/db/a.b.c",
        "postgresql://u:pa55word@h/db/.t",
        "postgresql://u:pa55word@h/db/s.",
        "postgresql://u:pa55word@h/db/%00",
        "postgresql://u:pa55word@h/db/\0",
        "postgresql://u:pa55word@h/db/t\n",
        "postgresql://u:pa55word@h/db/" + "é" * 32,
        "postgresql://u:pa55word@h/db/\ud800" + "x" * 63,
    ],
)
def test_what_cannot_be_read_is_not_quoted(text):
    with pytest.raises(WrongKind) as caught:
        address_of(text)
    assert "pa55" not in str(caught.value)
    assert "word@" not in str(caught.value)


def test_addresses_are_told_from_paths():
    assert is_address("postgresql://h/db/t")
    assert is_address(address_of("postgres://h/db/t"))
    for other in ("visits.parquet", "mysql://h/db/t", None, 7, b"postgresql://h/db/t"):
        assert not is_address(other)


def test_a_password_is_in_no_text_about_an_address():
    address = address_of("postgresql://u:pa55word@h/db/t?password=pa55word")
    assert isinstance(address, Address)
    for shown in (str(address), repr(address), f"{address}", f"{[address]}", address.sql):
        assert PASSWORD not in shown


def test_options_that_hold_a_secret_are_left_out_of_what_others_read():
    kept = "postgresql://u@h/db/t?sslmode=require"
    for option in ("password", "PASSWORD", "%70assword", "sslpassword", "scram_client_key"):
        address = address_of(f"postgresql://u:x@h/db/t?{option}=pa55word&sslmode=require")
        assert address.without_password() == kept
