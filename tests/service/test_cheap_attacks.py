"""Attacks that cost an analyst next to nothing: texts that keep a server busy, and tiny prices."""

import time
from fractions import Fraction

import pytest

from discreet.documents.question import read_tree
from discreet.errors import DiscreetError, NotAllowed
from tests.session.clinic import opened

LEAST = "0.001"


@pytest.mark.parametrize(
    "text", ["1e3000000", "1e999999999", "1E9", "9" * 5000, "1/" + "9" * 5000, " 1", "1_0", 5, None]
)
def test_a_fraction_on_the_wire_is_short_digits(text):
    begun = time.process_time()
    with pytest.raises(DiscreetError):
        read_tree({"format": 1, "value": ["/", text]})
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1e-9) COUNT(*) AS n FROM visits",
        "SELECT COUNT(*, epsilon => 1e-9) AS n FROM visits",
    ],
)
def test_no_way_to_write_a_price_lies_below_the_least(tmp_path, text):
    with opened(tmp_path) as whole:
        served = whole.charging(account=None, least=Fraction(LEAST))
        before = whole.ledger.left()
        with pytest.raises(NotAllowed, match="least"):
            served.ask(text)
        assert whole.ledger.left() == before
        assert served.ask("SELECT COUNT(*) AS n FROM visits", epsilon=LEAST).to_arrow().num_rows
