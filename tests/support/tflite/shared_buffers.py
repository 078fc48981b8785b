"""Small TFLite models of which LiteRT overwrites a value in the form with a lifted operand, and twins that keep it."""

from __future__ import annotations

import numpy as np

from models.builders.tflite.text import model
from tests.support.runtimes.litert_groups import Job, run

KERNELS = ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES")
"""XNNPACK, which computes most of these nodes, has a planner of its own."""
SHARING = {
    "ADD": "t[2,3] = ADD(r[2,3], c:const[1]{2.0})",
    "SUB": "t[2,3] = SUB(c:const[1]{2.0}, r[2,3])",
    "MUL": "t[2,3] = MUL(r[2,3], c:const[1]{2.0})",
    "DIV": "t[2,3] = DIV(r[2,3], c:const[1]{2.0})",
    "SOFTMAX": "t[2,3] = SOFTMAX(r[2,3], beta=1.0)",
    "RESHAPE": "t[2,3] = RESHAPE(r[2,3], s2:const:int32[2]{2,3})",
    "SQUEEZE": "u[1,2,3] = EXPAND_DIMS(r[2,3], e:const:int32[]{0})\nt[2,3] = SQUEEZE(u[1,2,3], squeeze_dims=[0])",
    "BITCAST": "t[2,3] = BITCAST(r[2,3])",
}
"""Nodes whose result is in their operand's buffer."""
LIFTING = {
    "RESHAPE": "a[1,2,3] = RESHAPE(t[2,3], s3:const:int32[3]{1,2,3})",
    "EXPAND_DIMS": "a[1,2,3] = EXPAND_DIMS(t[2,3], e0:const:int32[]{0})",
}
WRITING = {
    **{f"{op} {at}": f"{op}({operands})"
       for op in ("ADD", "SUB", "MUL", "DIV")
       for at, operands in enumerate(("@, q[1,2,3]", "q[1,2,3], @"))},
    "twice": "MUL(@, v:const[1,1,1]{3.0})",
}  # fmt: skip
"""Nodes that write into the buffer of the lifted operand, @."""
INPUTS = {"x": (2, 3), "o": (2, 3), "q": (1, 2, 3)}
LATER = "z[2,3] = NEG(t[2,3])"
USED = "w[@,2,6] = CONCATENATION(y[@,2,3], y[@,2,3], axis=-1)"
"""@ is the first size of the result."""


def pair(
    sharing: str, lifting: str, writing: str, after: str = f"{LATER}\n{USED}", before: str = "", first: int = 1
) -> list[bytes]:
    """Return two files: one with an operand of a lower rank, and one that lifts it; `first`: the first size of y."""
    files = []
    for lifts in (False, True):
        node = f"y[{first},2,3] = {writing.replace('@', 'a[1,2,3]' if lifts else 't[2,3]')}"
        lines = ["r[2,3] = SUB(x[2,3], o[2,3])", sharing, before, lifting if lifts else "", node]
        lines.append(after.replace("@", str(first)))
        files.append(model("\n".join(filter(None, lines))))
    return files


def differs(files: list[bytes]) -> bool:
    """Run two files with the same inputs, and return whether an output differs."""
    rng = np.random.default_rng(1)
    shapes = {name: shape for name, shape in INPUTS.items() if f"{name}\0".encode() in files[0]}
    feeds = tuple(rng.normal(size=shape).astype(np.float32) for shape in shapes.values())
    before, after = run([[Job(file, kernels, feeds) for kernels in KERNELS] for file in files])
    assert all(each.fine for each in (*before, *after)), [*before, *after]
    pairs = [
        pair for one, two in zip(before, after, strict=True) for pair in zip(one.outputs, two.outputs, strict=True)
    ]
    return not all(np.array_equal(one, two) for one, two in pairs)


TWINS = {
    "read before": (SHARING["ADD"], WRITING["ADD 0"], USED, LATER),
    "read once": (SHARING["ADD"], WRITING["ADD 0"], USED, ""),
    "an output": (SHARING["ADD"], WRITING["ADD 0"], LATER, ""),
    "not written into": (SHARING["ADD"], "MAXIMUM(@, q[1,2,3])", f"{LATER}\n{USED}", ""),
    "larger": (SHARING["ADD"], "ADD(@, k:const[2,1,1]{1.0,2.0})", f"{LATER}\n{USED}", ""),
    "owner read twice": (SHARING["ADD"], WRITING["ADD 0"], f"{LATER}\n{USED}", "h[2,3] = EXP(r[2,3])"),
    **{f"in its own buffer, {op}": (f"t[2,3] = {op}(r[2,3])", WRITING["ADD 0"], f"{LATER}\n{USED}", "")
       for op in ("NEG", "ABS", "TANH")},
}  # fmt: skip
"""By what keeps the value: the node that makes it, the one that reads it lifted, and those after and before that."""


def twin(name: str) -> list[bytes]:
    """Return two files whose lifted form keeps every value."""
    sharing, writing, after, before = TWINS[name]
    return pair(sharing, LIFTING["RESHAPE"], writing, after, before, 2 if name == "larger" else 1)
