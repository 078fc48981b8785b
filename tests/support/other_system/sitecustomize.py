"""Take away from a Python process what another system lacks; Python imports this module when it starts.

GRAPHFIX_TAKEN_AWAY is a JSON object: by module the names that are deleted. An empty name stands for the whole
module. The modules that are imported here keep complete copies: those of Python, numpy and psutil, whose builds for
Linux need what other builds do not. Files below /proc and /sys do not exist for anything but psutil.
"""

from __future__ import annotations

import json
import os
import sys
import types
from pathlib import Path

import psutil

for _early in (
    "asyncio",
    "concurrent.futures",
    "multiprocessing",
    "numpy",
    "selectors",
    "shutil",
    "socket",
    "subprocess",
    "tempfile",
):
    __import__(_early)

_TAKEN = json.loads(os.environ.get("GRAPHFIX_TAKEN_AWAY", "{}"))
_PSUTIL = str(Path(psutil.__file__).parent)


class _Absent:
    """Refuses to import the modules that the other system lacks."""

    def find_spec(self, name: str, *_: object) -> None:
        if "" in _TAKEN.get(name, ()):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _take_away(name: str) -> None:
    module = __import__(name)
    whole = types.ModuleType(name)
    whole.__dict__.update(module.__dict__)
    for other in list(sys.modules.values()):
        for attribute, value in list(getattr(other, "__dict__", {}).items()):
            if value is module:
                setattr(other, attribute, whole)
    for attribute in _TAKEN[name]:
        vars(module).pop(attribute, None)
    if "" in _TAKEN[name]:
        del sys.modules[name]
    else:
        sys.modules[name] = module


def _no_linux_files(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith(("/proc", "/sys")):
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None and not frame.f_code.co_filename.startswith(_PSUTIL):
            frame = frame.f_back
        if frame is None:
            raise FileNotFoundError(2, "No such file or directory", str(arguments[0]))


for _name in _TAKEN:
    if _name == "psutil":
        for _attribute in _TAKEN[_name]:
            vars(psutil).pop(_attribute, None)
    else:
        _take_away(_name)
sys.meta_path.insert(0, _Absent())  # type: ignore[arg-type]  # a finder needs find_spec only
sys.addaudithook(_no_linux_files)
