"""Compare two model files by a proof and by runs on the same inputs; nothing of the rewriter is used here."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from graphfix.results import Verdict

_NOTHING: Mapping[str, int] = MappingProxyType({})
_NO_SHAPES: Mapping[str, Sequence[int]] = MappingProxyType({})


def verify(
    before: Path,
    after: Path,
    *,
    bindings: Mapping[str, int] = _NOTHING,
    shapes: Mapping[str, Sequence[int]] = _NO_SHAPES,
    inputs: Path | None = None,
    runs: int = 4,
    seed: int = 0,
    atol: float | None = None,
    rtol: float | None = None,
    proof: Literal["with", "only", "without"] = "with",
    progress: Callable[[str], None] | None = None,
) -> Verdict:
    """Prove two ONNX or TFLite models equal, run both on the same seeded inputs, and compare every output bit by bit.

    `bindings` sets the sizes of symbols of the inputs (`name[axis]` where there is no symbol, as in TFLite),
    `shapes` of whole inputs; dims that stay free are swept, one set of sizes a run, at most `runs` of them.
    `inputs` is an .npz (names are input names, or what a SignatureDef calls them) or an ONNX test_data_set
    folder, and replaces the seeded inputs of the main graph. With `atol` or `rtol` the outputs are compared
    with that tolerance instead. TFLite models run on each kernel set of LiteRT, and under every SignatureDef
    of another subgraph; a kernel set on which the first model does not run decides nothing. The verdict is
    "proved", "equal" by the runs alone, "different" wherever a run is, or "undecided". With `proof` "only" nothing
    is run and no runtime is imported, with "without" the runs alone are asked. Raises
    GraphfixError for an unreadable file, files of two formats, a name that no input has, or inputs that do
    not fit.
    """
    from graphfix.checker.task import Criterion, Task
    from graphfix.checker.verdict import compare

    task = Task(
        before=before,
        after=after,
        bindings=bindings,
        shapes=shapes,
        inputs=inputs,
        runs=runs,
        seed=seed,
        criterion=Criterion(atol, rtol),
        proof=proof,
        progress=progress or (lambda _: None),
    )
    return compare(task)
