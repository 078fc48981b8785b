"""Loop-carried values by induction: the shape that enters a loop holds in every iteration if the body returns it."""

from __future__ import annotations

from dataclasses import dataclass, field

from onnx import NodeProto

from graphfix.formats.onnx.infer.scope import GraphScope
from graphfix.shapes.shape import Dim, Shape, same


@dataclass(slots=True)
class Loops:
    """What is assumed of loop-carried values: the shape that enters the loop, if the body returns it.

    An axis (or the rank) that the body changes is widened, and everything is inferred anew without it.
    """

    axes: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    """By body and value: the axes whose size changes from one iteration to the next."""
    ranks: set[tuple[str, str]] = field(default_factory=set)
    """Those whose rank changes."""
    broken: bool = False
    """Whether the last round made an assumption that did not hold."""
    untried: bool = False
    """Whether onnx does not know the assumptions of the last round yet: what the body returns is not compared."""
    abandoned: bool = False
    """Nothing is assumed any more: there were too many rounds."""

    def begin(self, *, abandoned: bool) -> None:
        """Begin a round."""
        self.untried, self.abandoned = False, abandoned

    @property
    def hold(self) -> bool:
        """Whether every assumption of the last round held."""
        return not self.broken and not self.untried

    def enters(self, body: GraphScope, name: str, initial: Shape) -> Shape:
        """Return the shape of a carried value in every iteration."""
        key = (body.path, name)
        if initial.axes is None or key in self.ranks or self.abandoned:
            return Shape(None, (f"?{body.path}:{name}",))
        changing = self.axes.get(key, ())
        fresh = (Dim((f"?{body.path}:{name}.{axis}",)) for axis in range(len(initial.axes)))
        return Shape(
            tuple(
                new if axis in changing else size
                for axis, (size, new) in enumerate(zip(initial.axes, fresh, strict=True))
            )
        )

    def leaves(self, body: GraphScope, name: str, entered: Shape, left: Shape) -> None:
        """Compare with what the body returns."""
        if entered.axes is None:
            return
        key = (body.path, name)
        if left.axes is None or len(left.axes) != len(entered.axes):
            self.ranks.add(key)
            self.broken = True
            return
        pairs = enumerate(zip(entered.axes, left.axes, strict=True))
        changed = {axis for axis, sizes in pairs if not same(*sizes)} - self.axes.get(key, set())
        if changed:
            self.axes.setdefault(key, set()).update(changed)
            self.broken = True


def loop_carried(node: NodeProto, body: GraphScope) -> list[tuple[str, str]]:
    """List (the body's input, the value that enters the loop) of every loop-carried value."""
    if node.op_type != "Loop" or body.graph is None:
        return []
    return list(zip([value.name for value in body.graph.input][2:], node.input[2:], strict=False))
