"""Models of one recurrent operator, with weights of a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@dataclass(frozen=True)
class Recurrent:
    """What is asked of the operator."""

    op: str
    direction: str = "forward"
    linear: int | None = None
    steps: int = 5
    bias: bool = True
    begun: bool = True
    """Whether it is given initial states."""
    attributes: tuple[tuple[str, object], ...] = ()
    batch: int = 2
    inputs: int = 3
    hidden: int = 4

    @property
    def model(self) -> ModelProto:
        """x[T,B,I] -> y[T,D,B,H], y_h[D,B,H] and, of an LSTM, y_c[D,B,H]."""
        source = np.random.default_rng(0)
        directions, gates = 1 + (self.direction == "bidirectional"), GATES[self.op] * self.hidden
        state = (directions, self.batch, self.hidden)
        sizes = {"w": (directions, gates, self.inputs), "r": (directions, gates, self.hidden)}
        sizes |= {"b": (directions, 2 * gates)} if self.bias else {}
        sizes |= {"h0": state} | ({"c0": state} if self.op == "LSTM" else {}) if self.begun else {}
        names = [name if name in sizes else "" for name in ("w", "r", "b", "", "h0", "c0")]
        outputs = ["y", "y_h", *(["y_c"] if self.op == "LSTM" else [])]
        given = {"hidden_size": self.hidden, "direction": self.direction, **dict(self.attributes)}
        given |= {} if self.linear is None else {"linear_before_reset": self.linear}
        while not names[-1]:
            names.pop()
        node = helper.make_node(self.op, ["x", *names], outputs, **given)
        shapes = {"y": (self.steps, *state), "y_h": state, "y_c": state}
        graph = helper.make_graph(
            [node],
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, (self.steps, self.batch, self.inputs))],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name]) for name in outputs],
            [
                numpy_helper.from_array(source.uniform(-1, 1, shape).astype(np.float32), name)
                for name, shape in sizes.items()
            ],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


ALL = {
    f"{op} {direction}{'' if linear is None else f' {linear}'}": Recurrent(op, direction, linear)
    for op, kinds in (("LSTM", (None,)), ("GRU", (0, 1)), ("RNN", (None,)))
    for linear in kinds
    for direction in ("forward", "reverse", "bidirectional")
}
"""Every formula in every direction."""
