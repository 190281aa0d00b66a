"""Mutants of the room ``engines``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="a server that a row makes fail is told as changed data",
        file="discreet/engines/postgres/engine.py",
        old="        if is_gone(",
        new="        if True or is_gone(",
        why="Whether one row is there is told again and again, and is not on record.",
        caught_by=(
            (
                "tests/engines/postgres/test_changes.py::"
                "test_a_row_that_makes_the_server_fail_closes_the_question"
            ),
        ),
    ),
    Mutant(
        name="one group more than the limit",
        file="discreet/engines/statements.py",
        old="most=self.request.groups or 0)",
        new="most=(self.request.groups or 0) + 1)",
        why="Whoever is in more groups than may count moves one group more than the noise hides.",
        caught_by=(
            "tests/engines/test_beyond_limits.py::test_nobody_moves_more_than_is_paid_for[groups-DuckDB]",
        ),
        fast=True,
    ),
    Mutant(
        name="sums are not kept within their counts",
        file="discreet/engines/statements.py",
        old="        for depth in range(1, max(depths, default=0) + 1):\n",
        new="        for depth in range(1, 1):\n",
        why="A person whose rows are not as planning believes moves a sum and no count.",
        caught_by=(
            (
                "tests/engines/test_planted_inferences.py::"
                "test_rows_of_no_count_add_nothing_to_the_sum_beside_it[DuckDB]"
            ),
        ),
    ),
    Mutant(
        name="values above the upper bound",
        file="discreet/engines/expressions.py",
        old="CASE WHEN :x >= :high THEN :high WHEN :x <= :low",
        new="CASE WHEN :x <= :low",
        why="One person with a large value moves a sum as far as they like.",
        caught_by=(
            "tests/engines/test_planted_inferences.py::test_a_wrong_inference_costs_accuracy_alone",
        ),
    ),
    Mutant(
        name="values below the lower bound",
        file="discreet/engines/expressions.py",
        old="THEN :high WHEN :x <= :low THEN :low ELSE :x END",
        new="THEN :high ELSE :x END",
        why="One person with a value far below moves a sum as far as they like.",
        caught_by=(
            "tests/engines/test_beyond_limits.py::test_nobody_moves_more_than_is_paid_for[totals below-DuckDB]",
        ),
    ),
    Mutant(
        name="rows without a unit count for nobody in particular",
        file="discreet/engines/statements.py",
        old='there = [self.sql("NOT :x IS NULL", x=self.column(name)) for name in self.unit]',
        new="there: list[Node] = []",
        why="All rows whose unit is NULL form one unit, or none that a limit holds for.",
        caught_by=(
            "tests/engines/test_agreement.py::test_plain_questions_agree_in_the_portable_order",
        ),
    ),
    Mutant(
        name="groups that are not public are shown",
        file="discreet/engines/statements.py",
        old="return [exp.Join(this=source_of(PUBLIC), on=self._same_group().leaf)]",
        new="return []",
        why="Rows of other groups use up a unit's share, or show where no noise was paid for.",
        caught_by=(
            "tests/engines/test_beyond_limits.py::test_nobody_moves_more_than_is_paid_for[listed groups-DuckDB]",
        ),
    ),
    Mutant(
        name="one limit on groups for all units together",
        file="discreet/engines/statements.py",
        old="place = self.dialect.window(call(rank, []), self._columns(self.unit), order)",
        new="place = self.dialect.window(call(rank, []), [], order)",
        why="A limit for all units together: whether others are counted depends on each single one.",
        caught_by=(
            "tests/engines/test_bounded_contribution.py::test_a_unit_moves_duckdb_within_its_bounds_in_its_own_order",
        ),
    ),
    Mutant(
        name="one distinct value more than the limit",
        file="discreet/engines/statements.py",
        old="CASE WHEN :place <= :most THEN :x END",
        new="CASE WHEN :place <= :most + 1 THEN :x END",
        why="Whoever has more values than may count moves a count of values by one more.",
        caught_by=(
            "tests/engines/test_beyond_limits.py::test_nobody_moves_more_than_is_paid_for[different values-DuckDB]",
        ),
    ),
    Mutant(
        name="rows in leaves are not thinned",
        file="discreet/engines/statements.py",
        old="CASE WHEN :over AND NOT :leaf IS NULL THEN :after",
        new="CASE WHEN 1 = 0 AND NOT :leaf IS NULL THEN :after",
        why="One row more than may count moves the ranks of a quantile.",
        caught_by=(
            "tests/engines/test_beyond_limits.py::test_nobody_moves_more_than_is_paid_for[ranks-DuckDB]",
        ),
    ),
    Mutant(
        name="a file that was rewritten is read",
        file="discreet/engines/sources/identity.py",
        old="        return paths == self.paths and tuple(map(file_state, paths)) == self._states",
        new="        return paths == self.paths",
        why="Keys and bounds are those of other data.",
        caught_by=(
            "tests/audit/test_changed_tables.py::test_a_table_that_changed_while_open_or_frozen_is_refused",
        ),
    ),
    Mutant(
        name="data that changes while it is read",
        file="discreet/engines/sources/identity.py",
        old=("        failure = error\n    check()\n"),
        new="        failure = error\n",
        why="An answer is about two states of a table, and a person may be in it twice.",
        caught_by=(
            "tests/engines/test_identity.py::test_a_file_that_changes_while_it_is_read_gives_no_answer",
        ),
    ),
    Mutant(
        name="one file under two names is read twice",
        file="discreet/engines/sources/identity.py",
        old="            regular.append((os.path.realpath(path), (seen.st_dev, seen.st_ino)))",
        new="            regular.append((os.path.realpath(path), (str(path), seen.st_ino)))",
        why="Every person has each row twice.",
        caught_by=("tests/engines/test_identity.py::test_a_file_of_several_names_is_read_once",),
    ),
    Mutant(
        name="statistics of Parquet files are believed",
        file="discreet/engines/duckdb.py",
        old="            self._connection.execute(_FROM_CELLS)",
        new="            pass",
        why="A filter drops rows by statistics that are not true of them, and limits are counted on the rest.",
        caught_by=(
            "tests/engines/reading/test_parquet_statistics.py::test_a_damaged_page_lets_nobody_count_for_more_than_the_bounds",
            "tests/engines/reading/test_parquet_statistics.py::test_a_number_that_is_none_is_no_cost_and_leaves_no_trace_in_statistics",
        ),
    ),
    Mutant(
        name="one row more in a window",
        file="discreet/engines/relations.py",
        old='large = self._sql("COUNT(*) > :rows", rows=node.rows)',
        new='large = self._sql("COUNT(*) > :rows", rows=node.rows + 1)',
        why="A unit that is too large for the memory of a window is not left out, and its failure reveals it.",
        caught_by=("tests/plan/test_bounded_units.py::test_duckdb_leaves_out_the_same_units",),
    ),
    Mutant(
        name="a union counts duplicates once",
        file="discreet/engines/relations.py",
        old="distinct=False)",
        new="distinct=True)",
        why="Rows of different people that are alike become one, so that whether somebody counts depends on others.",
        caught_by=(
            "tests/engines/test_beyond_limits.py::test_nobody_moves_more_than_is_paid_for[unions-DuckDB]",
        ),
    ),
    Mutant(
        name="rows of a unit are not limited",
        file="discreet/engines/statements.py",
        old='WHEN :n > :most THEN :most ELSE :n END", n=n',
        new='WHEN :n > :most THEN :n ELSE :n END", n=n',
        why="Whoever has more rows than may count moves totals by all of them.",
        caught_by=(
            "tests/engines/test_beyond_limits.py::test_nobody_moves_more_than_is_paid_for[rows-DuckDB]",
        ),
    ),
)
