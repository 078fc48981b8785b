"""`python -m models.builders` builds the models of models/ and their table."""

from __future__ import annotations

import sys

from models.builders.build import main

if __name__ == "__main__":
    sys.exit(main())
