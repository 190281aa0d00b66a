"""Reports as bytes: round trips, totality, and what goes on behind damage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import TooLarge
from discreet.local.wire import BATCH, HEADER_BYTES, REPORT, Layout, Refusals

DIGEST = bytes(range(1, 9))
FEW = settings(max_examples=30)


def layouts():
    return st.builds(Layout, digest=st.just(DIGEST), bits=st.integers(1, 40))


@st.composite
def filled(draw, most=200):
    """A layout, and payloads whose bits beyond the last are 0."""
    layout = draw(layouts())
    count, seed = draw(st.integers(0, most)), draw(st.integers(0, 2**32))
    lit = np.random.default_rng(seed).integers(0, 2, (count, layout.bits), np.uint8)
    return layout, np.packbits(lit, axis=1, bitorder="little").reshape(count, layout.payload_bytes)


def decoded(layout, stream):
    """Return all payloads of a stream, and what was refused."""
    rows, refused = [np.empty((0, layout.payload_bytes), np.uint8)], Refusals()
    for piece in layout.decode(stream):
        if isinstance(piece, Refusals):
            refused += piece
        else:
            rows.append(piece)
    return np.concatenate(rows), refused


def test_the_format_is_what_it_was():
    """Devices cannot be asked to send again: these bytes must be read for ever."""
    layout = Layout(digest=DIGEST, bits=9)
    rows = np.array([[255, 1], [2, 0]], np.uint8)
    header = b"dl\x01" + DIGEST
    assert layout.encode(rows) == header + b"\xff\x01" + header + b"\x02\x00"
    assert layout.encode_batch(rows) == b"db\x01" + DIGEST + b"\x02\0\0\0" + b"\xff\x05\x00"


@pytest.mark.theorem("total-decoding")
@given(filled())
@FEW
def test_what_is_written_is_read(case):
    layout, rows = case
    for stream in (layout.encode(rows), layout.encode_batch(rows)):
        back, refused = decoded(layout, stream)
        assert (back == rows).all()
        assert (len(back), refused.total) == (len(rows), 0)
    assert len(layout.encode_batch(rows)) == layout.batch_bytes(len(rows))
    for row in rows[:3]:
        assert layout.decode_one(layout.encode(row[None])) == row.tobytes()


def test_batches_of_many_chunks_are_read():
    layout = Layout(digest=DIGEST, bits=9)
    lit = np.random.default_rng(5).integers(0, 2, (3 * layout.chunk + 5, 9), np.uint8)
    rows = np.packbits(lit, axis=1, bitorder="little")
    for stream in (layout.encode_batch(rows), layout.encode(rows)):
        assert (decoded(layout, stream)[0] == rows).all()


@pytest.mark.theorem("total-decoding")
@given(filled(most=20), filled(most=20), st.binary(min_size=1, max_size=40), st.booleans())
@FEW
def test_reading_goes_on_behind_foreign_bytes(first, second, between, batch):
    layout, rows = first
    more = np.resize(second[1], (len(second[1]), layout.payload_bytes)) & 0
    foreign = between.replace(b"d", b"D")  # no header, nor the beginning of one
    write = layout.encode_batch if batch else layout.encode
    back, refused = decoded(layout, layout.encode(rows) + foreign + write(more))
    assert len(back) == len(rows) + len(more)
    assert refused == Refusals(unreadable=1)


@given(filled(most=30), st.integers(1, 400))
@FEW
def test_what_is_cut_short_costs_the_last_report_alone(case, cut):
    layout, rows = case
    stream = layout.encode(rows)
    kept = stream[: max(len(stream) - cut, 0)]
    back, refused = decoded(layout, kept)
    assert (back == rows[: len(kept) // layout.report_bytes]).all()
    assert refused.total == (len(kept) % layout.report_bytes > 0)
    whole = layout.encode_batch(rows)
    short, _ = decoded(layout, whole[:-1])
    assert len(short) == 0  # a batch that is cut short has no known end


def test_every_reason():
    layout = Layout(digest=DIGEST, bits=3)
    rows = np.array([[5]], np.uint8)
    report, other = layout.encode(rows), Layout(digest=bytes(8), bits=3).encode(rows)
    unreadable, other_form = Refusals(unreadable=1), Refusals(other_form=1)
    later = report.replace(b"\x01", b"\x02", 1)
    for wrong in (b"", b"d", report[:-1], report + b"\0", b"x" + report[1:], later, b"\0" * 12):
        assert layout.decode_one(wrong) == unreadable
    assert layout.decode_one(other) == other_form
    for wrong in (b"d", report[:-1], later, BATCH + DIGEST, BATCH + DIGEST + b"\x09\0\0\0\0"):
        assert decoded(layout, wrong)[1] == unreadable
    spare = BATCH + DIGEST + b"\x01\0\0\0" + b"\x0d"  # a bit beyond the only report
    assert decoded(layout, spare)[1] == unreadable
    for wrong in (other, BATCH + bytes(8) + b"\x01\0\0\0\x05", REPORT):
        assert decoded(layout, wrong)[1] == other_form
    assert list(layout.decode(b"")) == []


def test_a_stretch_between_every_two_reports_and_headers_that_lead_nowhere():
    layout = Layout(digest=DIGEST, bits=9)
    report = layout.encode(np.zeros((1, 2), np.uint8))
    back, refused = decoded(layout, (report + b"x") * 2000)
    assert (len(back), refused.unreadable) == (2000, 2000)
    endless = (BATCH + DIGEST + b"\xff\xff\xff\xff") * 2000
    back, refused = decoded(layout, endless)
    assert (len(back), refused.unreadable) == (0, 2000)


def test_a_batch_says_in_four_bytes_how_many_there_are():
    class Endless:
        def __len__(self):
            return 1 << 32

    with pytest.raises(TooLarge):
        Layout(digest=DIGEST, bits=3).encode_batch(Endless())


def fuzz(seed, rounds):
    """Decode random and damaged bytes; every report that is read is one that is there."""
    random = np.random.default_rng(seed)
    for _ in range(rounds):
        layout = Layout(digest=DIGEST, bits=int(random.integers(1, 70)))
        pieces = []
        for kind in random.integers(0, 5, random.integers(1, 6)):
            rows = random.integers(0, 256, (random.integers(0, 5), layout.payload_bytes), np.uint8)
            junk = random.bytes(random.integers(0, 30))
            header = (REPORT, BATCH)[kind % 2] + DIGEST
            pieces.append(
                [layout.encode(rows), layout.encode_batch(rows), junk, header, REPORT][kind]
            )
        stream = bytearray(b"".join(pieces))
        if stream and random.random() < 0.5:
            stream[random.integers(len(stream))] ^= 1 << random.integers(8)
        back, refused = decoded(layout, bytes(stream))
        assert back.shape[1] == layout.payload_bytes
        assert len(back) * layout.bits <= 8 * len(stream)
        assert refused.total <= len(stream)
        assert isinstance(layout.decode_one(bytes(stream[: layout.report_bytes])), bytes | Refusals)


@pytest.mark.theorem("total-decoding")
def test_any_bytes_are_read_or_refused():
    fuzz(1, 300)


@pytest.mark.slow
@pytest.mark.theorem("total-decoding")
def test_a_hundred_thousand_strings_are_read_or_refused():
    fuzz(2, 100_000)


@given(layouts(), st.binary(max_size=60))
@FEW
def test_arbitrary_bytes_behind_a_header(layout, junk):
    for header in (REPORT + DIGEST, BATCH + DIGEST):
        back, refused = decoded(layout, header + junk)
        assert len(back) + refused.total > 0 or header.startswith(BATCH)
    assert HEADER_BYTES == 11
