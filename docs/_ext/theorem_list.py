"""A directive that prints every theorem that a docstring of discreet states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from discreet.theorems import theorems

if TYPE_CHECKING:  # the builder hands it in; it is only a name here
    from sphinx.application import Sphinx


class TheoremList(SphinxDirective):
    """Key, statement and source of each theorem, as a definition list."""

    def run(self) -> list[nodes.Node]:
        """Build the list."""
        entries = nodes.definition_list()
        for theorem in theorems().values():
            term = nodes.term("", "", nodes.literal(text=theorem.key))
            statement = nodes.paragraph(text=theorem.statement)
            source = nodes.paragraph("", "", nodes.emphasis(text=theorem.source))
            definition = nodes.definition("", statement, source)
            entries += nodes.definition_list_item("", term, definition)
        return [entries]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("theorem-list", TheoremList)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
