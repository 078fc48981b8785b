"""The folder that contains the packages graphfix and rewrites."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout, or site-packages."""
