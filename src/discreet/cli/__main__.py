"""``python -m discreet.cli``.

Trust: public.
"""

from discreet.cli.app import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
