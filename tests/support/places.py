"""Where the tests find things: the folders, and the real models of models/zoo.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from models import committed

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "models"
ZOO = MODELS / "zoo"


def committed_models(*formats: str) -> list[Path]:
    """The models of the repository, of these formats or of both, in order; the real ones of zoo/ are left out."""
    return [path for path in committed() if not formats or path.suffix.removeprefix(".") in formats]


def model_id(path: Path) -> str:
    """A committed model's path as a test's id, and as the table of models/README.md names it."""
    return path.relative_to(MODELS).as_posix()


def zoo_models(format_: str) -> list[ParameterSet]:
    """Parameters for a test that needs real models: the path of each model of one format, marked `zoo`."""
    import pytest

    return [pytest.param(path, id=str(path.relative_to(ZOO)), marks=pytest.mark.zoo) for path in zoo_paths(format_)]


def zoo_paths(*formats: str) -> list[Path]:
    """Where the models of zoo.toml are, of some formats or of all: fetched or not, so that none is dropped."""
    packages = tomllib.loads((MODELS / "zoo.toml").read_text(encoding="utf-8"))["package"]
    return [
        ZOO / package["name"] / Path(model["path"]).name
        for package in packages
        for model in package["model"]
        if not formats or model["format"] in formats
    ]
