"""Measure how lifted and stretched operands affect each kernel of onnxruntime, and write the table of docs/kernels.md.

    python scripts/kernel_table.py [--check]

The text above the table is kept. With --check nothing is written, and the exit status is 1 if the table would change.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.runtimes.kernel_table import HEAD, measured, rows  # noqa: E402 -- found by the line above

PAGE = ROOT / "docs" / "kernels.md"


def main() -> int:
    """Measure, write the page or compare it, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare the page, write nothing")
    given = parser.parse_args()
    old = PAGE.read_text(encoding="utf-8")
    new = "\n".join([old[: old.index(HEAD)].rstrip(), "", *rows(measured()), ""])
    if not given.check:
        PAGE.write_text(new, encoding="utf-8")
    return int(given.check and new != old)


if __name__ == "__main__":
    sys.exit(main())
