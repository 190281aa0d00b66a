"""Topics: the exercises of the gallery's pages, as data."""
