"""Random ONNX models of the kinds whose sizes are easily told wrong, each with what is fed to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from tests.support.onnx import random_calls, random_chains, random_sizes, random_windows
from tests.support.onnx.random_builder import Case

KINDS: Mapping[str, Callable[[Random], Case]] = {
    "sizes through integer arithmetic": random_sizes.arithmetic,
    "reshapes": random_sizes.reshapes,
    "ranges": random_sizes.ranges,
    "pools": random_windows.pools,
    "convolutions": random_windows.convolutions,
    "resizes": random_windows.resizes,
    "functions": random_calls.functions,
    "parameters": random_calls.parameters,
    "moves": random_calls.moves,
    "bodies": random_calls.bodies,
    "chains": random_chains.chains,
}
