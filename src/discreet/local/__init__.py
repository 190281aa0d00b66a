"""The local model: each person's own device makes the report private, and nobody need be trusted.

Trust: kernel.

Clients turn one value into a few bytes; the analyst turns many reports into estimates with error
bars.  There is no session, no ledger and no budget kept by a server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used, because most programs need two of them
    from discreet.local.analysis.estimates import Estimates
    from discreet.local.analysis.means import MeanEstimate
    from discreet.local.analysis.ranges import CellQuantile, RangeEstimates, Ranges, RangeShare
    from discreet.local.analysis.share_table import ShareRow, ShareTable
    from discreet.local.choice import OracleChoice, choose
    from discreet.local.domain import Domain
    from discreet.local.hitters.prefix_response import PrefixResponse
    from discreet.local.hitters.prefixes import Hitter, Hitters, Prefixes
    from discreet.local.hitters.teaching import FoundWord, bitstogram, succinct_histogram, tree_hist
    from discreet.local.numbers.number_randomizer import NumberRandomizer
    from discreet.local.numbers.number_range import NumberRange
    from discreet.local.numbers.two_point import TwoPoint
    from discreet.local.numbers.window import WindowResponse
    from discreet.local.randomizers.direct import Direct
    from discreet.local.randomizers.hadamard import Hadamard
    from discreet.local.randomizers.hashing import Hashing
    from discreet.local.randomizers.oracle import FrequencyOracle
    from discreet.local.randomizers.randomizer import Randomizer
    from discreet.local.randomizers.record import Record
    from discreet.local.randomizers.registry import randomizer_of
    from discreet.local.randomizers.signed_hadamard import SignedHadamard
    from discreet.local.randomizers.subset import Subset
    from discreet.local.randomizers.unary import Unary
    from discreet.local.repeated.changes import ChangeTree, Watch
    from discreet.local.repeated.diary import Diary
    from discreet.local.repeated.memo import Memo, OpenMemo
    from discreet.local.reports.client import Client
    from discreet.local.reports.collector import Collector
    from discreet.local.reports.form import Form
    from discreet.local.reports.plan import ReportPlan, plan
    from discreet.local.reports.wire import Refusals
    from discreet.local.shuffled_reports import ShuffledReports, calibrate_shuffled, shuffled


__all__, __getattr__, __dir__ = open_door(__name__, __file__)
