"""Describe the computer of the measurement: its processor, memory and system, without its name."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def described() -> dict[str, str]:
    """Return the processor, the memory, the system and the version of Python, as texts for the page."""
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / (1 << 30):.0f} GiB",
        "system": f"{platform.system()} {platform.release().partition('-')[0]}, {platform.machine()}",
        "python": platform.python_version(),
    }


def _processor() -> str:
    """Return the name of the processor as the kernel reports it, or as Python reports it on other systems."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
