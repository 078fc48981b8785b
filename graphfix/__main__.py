"""`python -m graphfix`: the command line."""

from __future__ import annotations

from graphfix.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
