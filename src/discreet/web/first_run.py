"""The wizard: a file, six questions, a policy to review, and then its ledger.

Trust: public.  It reads names and types of columns, and no rows.  Files are those of one folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from discreet.errors import UnknownName
from discreet.plan.policy.policy import Policy, SessionSettings, read_policy
from discreet.session.first_run import (
    Answers,
    policy_from,
    refuse_overwriting,
    type_by_name,
    with_ledger,
    write_policy,
)
from discreet.session.opening_arguments import unit_of
from discreet.session.owner_check.cell_shares import FirstLook, first_look
from discreet.session.schemas import schema_of

_ENDINGS: Final = (".csv", ".parquet")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRun:
    """Where the wizard looks for data and writes the policy; ``opened`` serves what it wrote."""

    policy: Path
    opened: Callable[[Path], str]

    @property
    def folder(self) -> Path:
        """The folder of the policy, and of the data."""
        return self.policy.parent

    def files(self) -> list[str]:
        """Return the names of the files that can be opened."""
        found = (path for path in self.folder.iterdir() if path.suffix.lower() in _ENDINGS)
        return sorted(path.name for path in found if path.is_file())

    def look(self, name: str) -> FirstLook:
        """Read the names and types of the columns of one of these files."""
        if name not in self.files():
            raise UnknownName(
                what="there is no such file in the folder of the policy.",
                why="the wizard opens CSV and Parquet files of this folder alone.",
                do="put the file there, and choose it from the list.",
            )
        return first_look(str(self.folder / name))

    def policy_for(self, name: str, said: Mapping[str, str]) -> Policy:
        """Return the policy that answers make; it fits the columns of the file."""
        look = self.look(name)
        place = SessionSettings(data=name, ledger=f"{look.table}.ledger")
        made = policy_from(answers_of(said, look), look=look, session=place)
        rules = read_policy(made.written())
        schema_of(
            rules, unit_of(None, rules), {look.table: look.columns}, {look.table: look.stored}
        )
        return rules

    def write(self, name: str, said: Mapping[str, str]) -> str:
        """Make the ledger, write the policy, and open both; return the name of the dataset."""
        refuse_overwriting(self.policy)
        rules = self.policy_for(name, said)
        place = rules.session or SessionSettings()
        rules = with_ledger(rules, place.ledger or "data.ledger", self.policy)
        write_policy(self.policy, rules)
        return self.opened(self.policy)


def answers_of(said: Mapping[str, str], look: FirstLook) -> Answers:
    """Return the answers of a form; a column has fields type., low., high. and categories.

    >>> look = FirstLook(table="people", columns={"age": None}, stored={})
    >>> said = {"unit": "row", "low.age": "0", "high.age": "110", "type.age": "integer"}
    >>> answers_of(said, look).bounds
    {'age': '0:110'}
    """

    def given(field: str) -> str:
        return said.get(field, "").strip()

    bounds, categories, types = {}, {}, {}
    for column in look.columns:
        if given(f"low.{column}") or given(f"high.{column}"):
            bounds[column] = f"{given(f'low.{column}')}:{given(f'high.{column}')}"
        if given(f"categories.{column}"):
            categories[column] = given(f"categories.{column}")
        if given(f"type.{column}") and look.is_cell(column):
            types[column] = given(f"type.{column}")
    return Answers(
        unit=given("unit"),
        max_rows=given("max_rows"),
        max_groups=given("max_groups"),
        analysts=given("analysts"),
        epsilon=given("epsilon"),
        delta=given("delta"),
        bounds=bounds,
        categories=categories,
        types=types,
    )


def proposed_types(look: FirstLook) -> dict[str, str]:
    """Return a type for each column: that of the file, or one that its name suggests."""
    return {
        name: (type_by_name(name) if kind is None or look.is_cell(name) else kind).value.lower()
        for name, kind in look.columns.items()
    }
