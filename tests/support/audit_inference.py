"""What is said of a node's result sizes before it runs, held against what a runtime returns."""

from __future__ import annotations

from tests.support.pairs.onnx_instances import Instance, bare
from tests.support.pairs.onnx_run import Runner


def results_of(instance: Instance, runner: Runner, runtime: str = "onnxruntime") -> dict[str, object] | None:
    """What a runtime gives for an instance; None where it does not run it."""
    model = bare(instance)
    for value in model.graph.input:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")  # what is not told can't be believed by the runtime
    ran = runner.run(model.SerializeToString(), [instance.given], runtime)
    if not ran.runs:
        return None
    return dict(zip([name for name in instance.node.output if name], ran.results[0], strict=False))


def wrong_shape(said: list[int | None] | None, shape: tuple[int, ...]) -> str:
    """How a claimed shape differs from a shape; empty where it does not."""
    if said is None:
        return ""
    if len(said) != len(shape):
        return f"has the shape {list(shape)}, not the rank {len(said)}"
    if any(size is not None and size >= 0 and size != real for size, real in zip(said, shape, strict=True)):
        return f"has the shape {list(shape)}, not {said}"
    return ""
