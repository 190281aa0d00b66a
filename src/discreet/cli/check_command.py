"""``discreet check``: which promises of a policy hold in the data, for its owner.

Trust: kernel.  It writes exact numbers about the data, and says so first.
"""

from __future__ import annotations

from typing import Annotated

import typer

from discreet import session as sessions
from discreet.cli.exit_codes import DONE, VIOLATION, errors_reported, write_result
from discreet.cli.options import DataOption, JsonOption, command_inputs, data_of

__all__ = ["check"]


def check(
    policy: Annotated[
        str | None, typer.Argument(help="The policy of the owner; policy.toml unless given.")
    ] = None,
    *,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which promises hold in the data. NOT private: exact numbers, for the owner only.

    Asks nothing of the ledger, and writes nothing into it. Ends with 6 if a promise is broken that
    prices rest on; what is enforced anyway costs accuracy, and ends with 0.
    """
    with errors_reported(as_json=as_json) as ending:
        project = command_inputs(data=data_of(data), policy=policy)
        report = sessions.check(project.named_data(), policy=project.policy)
        ending.code = DONE if report.holds else VIOLATION
        write_result("check", report.to_json(), report, as_json=as_json)
