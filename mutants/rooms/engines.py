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
        name="floats are added up outside of their range",
        file="discreet/engines/sql/totals.py",
        old='    if whole.source is None:\n        return f"CASE {inside} END"',
        new="    if whole.source is None:\n        return column",
        why="A value that was believed to lie within a range counts in full.",
        caught_by=(
            "tests/engines/test_planted_inferences.py::test_floats_outside_of_their_range_are_not_added_up",
        ),
    ),
    Mutant(
        name="one group more than the limit",
        file="discreet/engines/sql/contribution_bounding.py",
        old='WHERE place <= {self.request.groups}"',
        new='WHERE place <= {self.request.groups} + 1"',
        why="Whoever is in more groups than may count moves one group more than the noise hides.",
        caught_by=(
            "tests/engines/test_beyond_limits.py::test_nobody_moves_more_than_is_paid_for[groups-DuckDB]",
        ),
        fast=True,
    ),
    Mutant(
        name="values above the upper bound",
        file="discreet/engines/sql/totals.py",
        old='    inside = f"CASE WHEN {sql} >= {high} THEN {high} WHEN {sql} <= {low} THEN {low} ELSE {sql} END"',
        new='    inside = f"CASE WHEN {sql} <= {low} THEN {low} ELSE {sql} END"',
        why="One person with a large value moves a sum as far as they like.",
        caught_by=(
            "tests/engines/test_planted_inferences.py::test_a_wrong_inference_costs_accuracy_alone",
        ),
    ),
    Mutant(
        name="values below the lower bound",
        file="discreet/engines/sql/totals.py",
        old='    inside = f"CASE WHEN {sql} >= {high} THEN {high} WHEN {sql} <= {low} THEN {low} ELSE {sql} END"',
        new='    inside = f"CASE WHEN {sql} >= {high} THEN {high} ELSE {sql} END"',
        why="One person with a value far below moves a sum as far as they like.",
        caught_by=(
            "tests/engines/test_beyond_limits.py::test_nobody_moves_more_than_is_paid_for[totals below-DuckDB]",
        ),
    ),
    Mutant(
        name="rows without a unit count for nobody in particular",
        file="discreet/engines/sql/contribution_bounding.py",
        old='        there = " AND ".join(f"{part} IS NOT NULL" for part in self.unit)',
        new='        there = ""',
        why="All rows whose unit is NULL form one unit, or none that a limit holds for.",
        caught_by=(
            "tests/engines/test_agreement.py::test_plain_questions_agree_in_the_portable_order",
        ),
    ),
    Mutant(
        name="groups that are not public are shown",
        file="discreet/engines/sql/contribution_bounding.py",
        old="        return f\" SEMI JOIN {PUBLIC} ON {self.same_group('p')}\"",
        new='        return ""',
        why="Rows of other groups use up a unit's share, or show where no noise was paid for.",
        caught_by=(
            "tests/engines/test_beyond_limits.py::test_nobody_moves_more_than_is_paid_for[listed groups-DuckDB]",
        ),
    ),
    Mutant(
        name="one limit on groups for all units together",
        file="discreet/engines/sql/contribution_bounding.py",
        old='        first = f"PARTITION BY {listed(self.unit)} ORDER BY h, {self.by_key}"',
        new='        first = f"ORDER BY h, {self.by_key}"',
        why="A limit for all units together: whether others are counted depends on each single one.",
        caught_by=(
            "tests/engines/test_bounded_contribution.py::test_a_unit_moves_duckdb_within_its_bounds_in_its_own_order",
        ),
    ),
    Mutant(
        name="one distinct value more than the limit",
        file="discreet/engines/sql/distinct_values.py",
        old='WHERE x0 IS NULL OR place <= {most}"',
        new='WHERE x0 IS NULL OR place <= {most} + 1"',
        why="Whoever has more values than may count moves a count of values by one more.",
        caught_by=(
            "tests/engines/test_beyond_limits.py::test_nobody_moves_more_than_is_paid_for[different values-DuckDB]",
        ),
    ),
    Mutant(
        name="rows in leaves are not thinned",
        file="discreet/engines/sql/totals.py",
        old='    stay = f"CASE WHEN n > {measure.rows} AND leaf IS NOT NULL THEN {share} ELSE c END AS c"',
        new='    stay = f"CASE WHEN n > {measure.rows} + 1 AND leaf IS NOT NULL THEN {share} ELSE c END AS c"',
        why="One row more than may count moves the ranks of a quantile.",
        caught_by=(
            "tests/engines/test_beyond_limits.py::test_nobody_moves_more_than_is_paid_for[ranks-DuckDB]",
        ),
    ),
    Mutant(
        name="a file that was rewritten is read",
        file="discreet/engines/sources/identity.py",
        old="        return paths == self.paths and tuple(map(FileState.of, paths)) == self._states",
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
        old="            regular.append((_resolved(path, folders), (seen.st_dev, seen.st_ino)))",
        new="            regular.append((_resolved(path, folders), (str(path), seen.st_ino)))",
        why="Every person has each row twice.",
        caught_by=("tests/engines/test_identity.py::test_a_file_of_several_names_is_read_once",),
    ),
    Mutant(
        name="values of a hash are glued together",
        file="discreet/engines/hash_order.py",
        old='    return "-" if text is None else f"{len(text)}:{text}"',
        new='    return "-" if text is None else text',
        why="Units share a place in the order, so that one decides which groups of another are kept.",
        caught_by=(
            "tests/engines/test_order.py::test_texts_are_pinned",
            "tests/engines/test_order.py::test_different_values_have_different_texts",
        ),
    ),
    Mutant(
        name="one group more where many are sorted at once",
        file="discreet/engines/hash_order.py",
        old="    whole = np.count_nonzero(upto <= most, axis=0)",
        new="    whole = np.count_nonzero(upto <= most + 1, axis=0)",
        why="Whoever is in one group too many keeps it.",
        caught_by=(
            "tests/engines/test_culling.py::test_two_cells_of_one_place_are_told_apart_by_nobody",
            "tests/engines/test_culling.py::test_the_first_cells_of_each_unit_are_kept",
        ),
    ),
    Mutant(
        name="two rows of a unit are single rows",
        file="discreet/engines/single_rows.py",
        old="    return int(np.bincount(codes).max(initial=0)) <= 1",
        new="    return int(np.bincount(codes).max(initial=0)) <= 2",
        why="Whoever has two rows adds both, where noise hides one.",
        caught_by=(
            "tests/engines/test_single_rows.py::test_one_unit_with_a_second_row_counts_once",
            "tests/engines/test_single_rows.py::test_two_rows_of_a_unit_are_bounded_together",
        ),
    ),
    Mutant(
        name="a second row of a unit lets another library read all rows",
        file="discreet/engines/duckdb.py",
        old="            prepared = replace(prepared, bounding=prepared.rows.in_memory)\n",
        new="",
        why="Where the two read a value differently, one unit moves the rows of all others.",
        caught_by=(
            (
                "tests/engines/reading/test_plain_columns.py::"
                "test_a_second_row_does_not_decide_who_reads_the_others"
            ),
        ),
    ),
    Mutant(
        name="0.0 and -0.0 are two units",
        file="discreet/engines/row_scans.py",
        old="    return all(typed(part, types) is not Type.FLOAT for part in request.unit)",
        new="    return bool(types)",
        why="Somebody who is named by both zeros counts as two units.",
        caught_by=("tests/engines/test_single_rows.py::test_what_is_added_up_by_statements",),
    ),
    Mutant(
        name="false statistics of Parquet files are believed",
        file="discreet/engines/sources/cell_checks.py",
        old="    return counts == [(len(sizes) * len(named), 0)]",
        new="    return bool(counts)",
        why="A filter drops rows by statistics that are not true of them, and limits are counted on the rest.",
        caught_by=(
            "tests/engines/reading/test_parquet_statistics.py::test_a_damaged_page_lets_nobody_count_for_more_than_the_bounds",
            "tests/engines/reading/test_parquet_statistics.py::test_a_number_that_is_none_is_no_cost_and_leaves_no_trace_in_statistics",
        ),
    ),
    Mutant(
        name="one row more in a window",
        file="discreet/engines/sql/relations.py",
        old='    large = f"count(*) > {node.rows}"',
        new='    large = f"count(*) > {node.rows} + 1"',
        why="A unit that is too large for the memory of a window is not left out, and its failure tells of it.",
        caught_by=(
            "tests/plan/test_bounded_units.py::test_the_statement_reads_as_planned",
            "tests/plan/test_bounded_units.py::test_duckdb_leaves_out_the_same_units",
        ),
    ),
    Mutant(
        name="a union counts duplicates once",
        file="discreet/engines/sql/relations.py",
        old='            return " UNION ALL ".join(f"({relation(part, scan)})" for part in parts)',
        new='            return " UNION ".join(f"({relation(part, scan)})" for part in parts)',
        why="Rows of different people that are alike become one, so that whether somebody counts depends on others.",
        caught_by=(
            "tests/engines/test_beyond_limits.py::test_nobody_moves_more_than_is_paid_for[unions-DuckDB]",
        ),
    ),
    Mutant(
        name="rows of a unit are not limited",
        file="discreet/engines/sql/totals.py",
        old="            f\"{_clamped(total, _summed(total, place, f'm{index}'))} AS t{index}\"\n",
        new="            f\"CAST(coalesce({'n' if place is None else f's{place}'}, 0) AS BIGINT) AS t{index}\"\n",
        why="Whoever has more rows than may count moves totals by all of them.",
        caught_by=(
            "tests/engines/test_beyond_limits.py::test_nobody_moves_more_than_is_paid_for[rows-DuckDB]",
        ),
    ),
)
