"""The wizard: files, what their owner accepts of the proposals, a policy to review, its ledger.

Trust: kernel.  It shows the owner what is proposed from the rows.  Files are those of one folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, final

from discreet.errors import UnknownName
from discreet.plan.policy.policy import Policy, SessionSettings
from discreet.requests.table_schema import Schema
from discreet.session.first_run.column_lines import line_of
from discreet.session.first_run.column_notes import unit_words
from discreet.session.first_run.policy_files import refuse_overwriting, with_ledger, write_policy
from discreet.session.first_run.policy_proposal import PolicyProposal
from discreet.session.first_run.policy_questionnaire import Answers, usual_delta

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

    def proposal(self, names: list[str], said: Mapping[str, str]) -> PolicyProposal:
        """Look at the files, and propose what to declare for the people that were named.

        A line of the form that differs from its proposal is a change.
        """
        if not names or not set(names) <= set(self.files()):
            raise UnknownName(
                what="there is no such file in the folder of the policy.",
                why="the wizard opens CSV and Parquet files of this folder alone.",
                do="put the file there, and choose it from the list.",
            )
        answers = Answers(
            analysts=said.get("analysts", ""),
            epsilon=said.get("epsilon", ""),
            delta=said.get("delta", ""),
            max_rows=said.get("max_rows", ""),
            max_groups=said.get("max_groups", ""),
        )
        made = PolicyProposal({Path(name).stem: str(self.folder / name) for name in names}, answers)
        for table in made.tables:
            table.take_form()
        unit = said.get("unit") or unit_words(made.unit_guesses())[1]
        made.protect(unit, made.unclear(unit) if said.get("public") else ())
        for table in made.tables:
            if said.get("size") == "no":
                table.size = None
            if said.get(f"key.{table.name}") == "no":
                table.key = ()
        return made

    def reviewed(self, names: list[str], said: Mapping[str, str]) -> tuple[Policy, Schema]:
        """Return the policy that the answers of a form make, and its schema."""
        made = self.proposal(names, said)
        for table in made.tables:
            for facts in table.listed():
                line = said.get(f"line.{table.name}.{facts.name}", "").strip()
                if line and line != line_of(facts):
                    made.change(facts.name, line, table=table.name)
                elif not line:
                    made.change(facts.name, facts.type.value.lower(), table=table.name)
        if not made.answers.delta:
            made.answers = replace(made.answers, delta=usual_delta(made.tables[0].size))
        data = names[0] if len(names) == 1 else {Path(name).stem: name for name in names}
        ledger = f"{made.tables[0].name}.ledger"
        return made.made(SessionSettings(data=data, ledger=ledger))

    def write(self, names: list[str], said: Mapping[str, str]) -> str:
        """Make the ledger, write the policy, and open both; return the name of the dataset."""
        refuse_overwriting(self.policy)
        rules, _ = self.reviewed(names, said)
        place = rules.session or SessionSettings()
        write_policy(self.policy, with_ledger(rules, place.ledger or "data.ledger", self.policy))
        return self.opened(self.policy)
