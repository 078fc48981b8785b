"""A pass of onnx-ir that makes implicit broadcasts explicit, for use alone or in its `PassManager`.

    from graphfix.adapters.onnx_ir import ExplicitBroadcastsPass
    result = onnx_ir.passes.PassManager([ExplicitBroadcastsPass(target="ranks")])(model)

The package `onnx-ir` is needed: pip install 'graphfix[ir]'.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import onnx_ir

from graphfix.api import fix_loaded, load
from graphfix.engine.request import Request, policy
from graphfix.results import Outcome
from graphfix.targets.registry import Broadcasts, TargetName, Unknown

if TYPE_CHECKING:
    from graphfix.graph.protocols import Step


class ExplicitBroadcastsPass(onnx_ir.passes.FunctionalPass):
    """Return a new model with explicit broadcasts; the model that was given stays as it is.

    The keywords are those of `graphfix.fix`. The model is serialized and read again, so it must be below 2 GiB without
    its external data. External data is kept as references. `outcome` has the sites of the last call.
    """

    def __init__(
        self,
        *,
        target: TargetName = "explicit",
        target_file: str | Path | None = None,
        broadcasts: Broadcasts | None = None,
        unknown: Unknown = "expand",
        only: Sequence[str] = (),
        skip: Sequence[str] = (),
        rewrites: Sequence[ModuleType | Step | str | Path] = (),
        keep_fusions: bool = False,
        max_expand_bytes: int | None = None,
    ) -> None:
        """Keep what `call` asks of `graphfix.fix`. Raises GraphfixError for an argument that `fix` refuses."""
        self.asked = Request.of(locals())
        policy(self.asked)  # it refuses choices that do not fit together
        self.outcome: Outcome | None = None
        """What the last call did; None before the first one."""

    def call(self, model: onnx_ir.Model) -> onnx_ir.passes.PassResult:
        """Return the new model, and whether it differs. Raises GraphfixError; a pass manager raises its PassError."""
        fixed = load(model)
        self.outcome = fix_loaded(fixed, self.asked)
        return onnx_ir.passes.PassResult(fixed.to_ir(), self.outcome.changed)
