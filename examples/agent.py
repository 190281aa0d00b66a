"""An agent that asks a private table, through the Model Context Protocol and its own client.

Needs the extra ``agents``. A model would choose the calls; here they are written down.
"""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

POLICY = """
format = 1
unit = "patient"
[session]
data = { visits = "visits.csv" }
ledger = "clinic.ledger"
[budget]
epsilon = 2
delta = 1e-9
[limits]
max_groups = 3
max_rows = 4
[tables.visits]
size = { people = 3000, rows = 9000 }
[tables.visits.columns]
patient = { type = "integer" }
ward = { type = "text", categories = ["A", "B", "C"] }
"""
QUESTION = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"


async def main(folder: Path) -> None:
    """Describe, plan, ask: three calls for a count."""
    rows = (f"{visit % 3000},{'AABC'[visit % 4]}" for visit in range(9000))
    (folder / "visits.csv").write_text("\n".join(["patient,ward", *rows]))
    (folder / "policy.toml").write_text(POLICY)
    options = ["mcp", str(folder / "policy.toml"), "--account", "agent", "--limit", "0.5"]
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "discreet.cli", *options], env=dict(os.environ)
    )
    async with Client(server) as client:
        for tool, arguments in (
            ("describe", {}),
            ("plan", {"question": QUESTION, "epsilon": "0.1"}),
            ("ask", {"question": QUESTION, "epsilon": "0.1"}),
            ("remaining", {}),
        ):
            result = await client.call_tool(tool, arguments)
            told: Any = result.content[0]
            print(tool, json.dumps(json.loads(told.text), indent=1))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
