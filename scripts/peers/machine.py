"""What the computer is that measured: its processor, memory and system, without a name of it."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def described() -> dict[str, str]:
    """Return what the page says of the machine."""
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / (1 << 30):.0f} GiB",
        "system": f"{platform.system()} {platform.release().partition('-')[0]}, {platform.machine()}",
        "python": platform.python_version(),
    }


def _processor() -> str:
    """Read the kernel's name of the processor; Python knows one elsewhere."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
