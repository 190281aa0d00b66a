"""One server as a process of its own, which other programs kill: ``served_site.py SITE PORT``."""

import sys
from dataclasses import replace
from pathlib import Path

from discreet.service import read_site, run_server


def main() -> None:
    """Serve a site on a port."""
    site = read_site(Path(sys.argv[1]))
    run_server(replace(site, address=replace(site.address, port=int(sys.argv[2]))))


if __name__ == "__main__":
    main()
