"""onnxsim's check by three runs: `onnxsim_check.py BEFORE AFTER GIVEN` prints one line of JSON at last.

GIVEN is JSON too: shapes, and values of inputs. onnxsim fills what it is not given itself; where it has to be given a
value it takes all inputs, which are filled here as it would.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import onnx
from onnxsim import model_checking

TIMES = 3
before, after = onnx.load(sys.argv[1]), onnx.load(sys.argv[2])
given = json.loads(sys.argv[3])


def filled() -> dict[str, np.ndarray]:
    """All inputs: the values that are given, and numbers from 0 to 1."""
    inputs = {}
    for each in before.graph.input:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type)
        shape = given["shapes"].get(each.name, [])
        value = given["values"].get(each.name)
        inputs[each.name] = np.array(np.random.rand(*shape) if value is None else value, dtype)  # noqa: NPY002 -- as onnxsim
    return inputs


same = all(
    model_checking.compare(after, before, 1, given["shapes"], filled() if given["values"] else None)
    for _ in range(TIMES)
)
print(json.dumps({"same": same}))
