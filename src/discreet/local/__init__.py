"""The local model: each person's own device makes the report private, without a trusted party.

Trust: kernel.

Clients turn one value into a few bytes; the analyst turns many reports into estimates with error
bars.  A server keeps no session, ledger or budget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used, because most programs need two of them
    from discreet.local.changes import ChangeTree, Watch
    from discreet.local.choice import OracleChoice, choose
    from discreet.local.collector import Collector
    from discreet.local.diary import Diary
    from discreet.local.direct import Direct
    from discreet.local.domain import Domain
    from discreet.local.estimates import Estimates
    from discreet.local.form import Form
    from discreet.local.hadamard import Hadamard, SignedHadamard
    from discreet.local.hashing import Hashing
    from discreet.local.means import MeanEstimate
    from discreet.local.memo import Memo, OpenMemo
    from discreet.local.numbers import NumberRandomizer, NumberRange, TwoPoint, WindowResponse
    from discreet.local.prefix_response import PrefixResponse
    from discreet.local.prefixes import Hitter, Hitters, Prefixes
    from discreet.local.randomizer import FrequencyOracle, Randomizer
    from discreet.local.ranges import CellQuantile, RangeEstimates, Ranges, RangeShare
    from discreet.local.record import Record, randomizer_of
    from discreet.local.report_plan import ReportPlan, plan
    from discreet.local.share_table import ShareRow, ShareTable
    from discreet.local.shuffled_reports import ShuffledReports, calibrate_shuffled, shuffled
    from discreet.local.subset import Subset
    from discreet.local.unary import Unary
    from discreet.local.wire import Client, Refusals

__all__, __getattr__, __dir__ = open_door(__name__, __file__)
