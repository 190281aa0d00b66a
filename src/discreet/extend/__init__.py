"""What a workshop needs to be paid for: the way in for mechanisms and workshops of your own.

Trust: kernel.

Four things, and the names that go with them:

* a **program**: rows that a session has bound (`Session.program_rows`), what engines are asked
  about them, and a `ProgramDraw`, from which tree and digest follow; `Session.perform` charges it,
  reads, draws and records;
* a **measurer** that takes no sum that was not planned: `PlannedSum`, `scheduled`, `Measurer`;
* a **record** that pays for rows in the hands of the caller: `opened`, `pay_and_store`;
* **evidence**: bytes in the ledger, and everything else is post-processing of them; and plans that
  show themselves (`Branch`, `plan_text`).

docs/guide/extend.md has a workshop of sixty lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used
    from discreet.accounting.codec import encode_unit
    from discreet.extend.measurement import (
        AskedPrice,
        BoundedSum,
        Measurer,
        PlannedSum,
        SumSchedule,
        scheduled,
    )
    from discreet.extend.payment import opened, pay_and_store, unit_of_rows
    from discreet.extend.row_counts import ROWS, rows_of_unit, rows_question, rows_request
    from discreet.ledger.requests import refuse_closed
    from discreet.ledger.values import checked_key
    from discreet.loss.elementary import log
    from discreet.loss.gaussian import smoothing
    from discreet.loss.parameters import (
        checked_count,
        checked_delta,
        checked_epsilon,
        checked_rate,
    )
    from discreet.mechanisms.sparse_vector import ThresholdRun
    from discreet.noise.bernoulli import COIN_WORDS, CoinWords
    from discreet.plan.binding.value_facts import Facts, as_keys
    from discreet.plan.plan import BudgetPreview
    from discreet.plan.plan_words import Branch, html_of, plan_text, shown_price
    from discreet.plan.policy.owner_rules import refuse_ruled
    from discreet.plan.pricing.calibration import Price, loss_of, price_of
    from discreet.plan.pricing.requested_price import (
        PriceArguments,
        check_requested_price,
        read_requested_price,
    )
    from discreet.release.tabular import Tabular, missing_extra
    from discreet.requests.engine_request import (
        DistinctCount,
        EngineRequest,
        KeyColumn,
        Leaves,
        Measure,
        Total,
    )
    from discreet.requests.raw_totals import RawTotals, nulls, numbers
    from discreet.requests.table_schema import KeyValue, key_literal
    from discreet.requests.text_limits import check_text_work
    from discreet.session.programs import Program, ProgramDraw, ProgramRows
    from discreet.session.record import Record, answer_failed_error
    from discreet.units import describe_unit

__all__, __getattr__, __dir__ = open_door(__name__, __file__)
