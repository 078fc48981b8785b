"""Find outputs of a loop's body that no node computes, where onnxruntime returns wrong values for them.

onnxruntime does not copy such a value. A Loop that stacks its iteration number returns [3, 3, 3] instead of [0, 1, 2],
because it counts in that buffer. A Scan whose body returns a slice or a state returns what stands in memory. A node
between the input and the output, such as Identity, makes a copy. A Loop copies its other inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import GraphProto

    from graphfix.checker.proof.onnx.closed_world.new_nodes import ClosedWorld

_ITERATION = 0
"""The input of a Loop's body that counts the iterations."""


def enter_uncopied(world: ClosedWorld, loop: tuple[object, ...], body: GraphProto, description: str) -> None:
    """Enter each output of a body that onnxruntime does not copy.

    The second file may have that of a Loop if the first has it: both return the same wrong numbers. The results of such
    a Scan depend on the memory, so no second file may have it. `loop` is the term of the Loop or Scan, which is the
    same for both files if the loops are equal.
    """
    inputs = {info.name: at for at, info in enumerate(body.input)}
    for at, output in enumerate(body.output):
        source = inputs.get(output.name)
        is_scan = loop[0] == "scan"
        if source is not None and (is_scan or source == _ITERATION):
            why = f"the body of {description} of the second file returns {output.name!r} without a node that copies it"
            if is_scan:
                world.refuse(why)
            else:
                world.odd(("uncopied", loop, at, source), why)
