"""What a ledger hands out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import WrongKind
from discreet.ledger import Charged, Receipt, StoredAnswer

LEDGER, HEAD = "0123456789abcdef" * 2, "0123456789abcdef" * 4
RECEIPT = Receipt(LEDGER, 7, HEAD)


@given(
    st.text("0123456789abcdef", min_size=32, max_size=32),
    st.integers(1, 10**18 - 1),
    st.text("0123456789abcdef", min_size=64, max_size=64),
)
def test_a_receipt_is_read_as_it_was_shown(ledger, seq, head):
    receipt = Receipt(ledger, seq, head)
    assert Receipt.read(str(receipt)) == receipt


@pytest.mark.parametrize(
    "text",
    [
        "",
        "::",
        f"{LEDGER}:{HEAD}",
        f"{LEDGER}:0:{HEAD}",
        f"{LEDGER}:07:{HEAD}",
        f"{LEDGER}:-7:{HEAD}",
        f"{LEDGER}:7:{HEAD}\n",
        f"{LEDGER}:7:{HEAD[1:]}",
        f"{LEDGER.upper()}:7:{HEAD}",
        f"{LEDGER}:٧:{HEAD}",
        None,
        7,
        RECEIPT,
    ],
)
def test_other_texts_are_no_receipts(text):
    with pytest.raises(WrongKind):
        Receipt.read(text)


def test_the_answer_of_a_release_is_not_shown():
    release = StoredAnswer(key="k", question="", answer=b"secret", receipt=RECEIPT, replayed=False)
    assert "secret" not in repr(release)
    assert "secret" not in str(release)
    assert release.answer == b"secret"


def test_a_charge_has_the_number_of_its_entry():
    charged = Charged(key="k", account="data", receipt=RECEIPT, new=True, amounts=())
    assert charged.seq == 7
