"""For Ethos-U by Vela: operands of one rank, TILE instead of BROADCAST_TO, all inputs bound to numbers.

    ADD(x:int8[1,8,8,4], s:int8[])             ->  ADD(x:int8[1,8,8,4], RESHAPE(s, [1,1,1,1]))
    BROADCAST_TO(x:int8[1,1,4], [2,3,4])       ->  TILE(x:int8[1,1,4], [2,3,1])

For int8 and int16 models, before `vela`. Vela never places a BROADCAST_TO on the NPU. It also leaves an operator on the
CPU if one of its operands has no axes.

## What it can't take

`graphfix check --target ethos-u` reports the nodes that Vela leaves on the CPU (GF305): operators that Vela lists for
no Ethos-U, and types other than int8, uint8, int16, int32 and bool. The conditions on scales, attributes and sizes of
each processor are in Vela's own report (`vela --supported-ops-report`). Vela crashes on a model that has a size 0. If
an input has a free size, `fix` ends with status 2 until the size is bound (`--dim`, `--shape`, `--bind-defaults`).
Sizes that depend on data are reported (GF302).

The operands of an ONNX model get one rank, too. Its Expand nodes are reported, because converters turn them into
BROADCAST_TO. Its operators and types are not checked, because the tables contain TFLite's names. Convert the model, and
run graphfix again on the result.

## What it costs

`docs/targets.md` lists the operators on the NPU and Vela's estimate of the cycles, before and after.
"""

from __future__ import annotations

from graphfix.targets.registry import run_for
from graphfix.targets.target import Target, moved_by, moving

OPERATORS = frozenset(
    (
        "ABS ADD ARG_MAX AVERAGE_POOL_2D BATCH_MATMUL CONCATENATION CONV_2D DEPTHWISE_CONV_2D ELU EXP EXPAND_DIMS"
        " FULLY_CONNECTED GELU HARD_SWISH LEAKY_RELU LOG LOGISTIC MAXIMUM MAX_POOL_2D MEAN MINIMUM MIRROR_PAD MUL NEG"
        " PACK PAD PADV2 PRELU QUANTIZE REDUCE_MAX REDUCE_MIN RELU RELU6"
        " RELU_0_TO_1 RELU_N1_TO_1 RESHAPE RESIZE_BILINEAR"
        " RESIZE_NEAREST_NEIGHBOR REVERSE_V2 RSQRT SLICE SOFTMAX SPLIT SPLIT_V SQUARED_DIFFERENCE SQUEEZE"
        " STRIDED_SLICE SUB SUM TANH TILE TRANSPOSE TRANSPOSE_CONV UNIDIRECTIONAL_SEQUENCE_LSTM UNPACK"
    ).split()
    + (
        "ASSIGN_VARIABLE CAST DIV EQUAL GATHER GREATER GREATER_EQUAL LESS LESS_EQUAL LOGICAL_AND LOGICAL_NOT LOGICAL_OR"
        " NOT_EQUAL READ_VARIABLE REDUCE_ALL REDUCE_ANY SCATTER_ND SELECT SELECT_V2"
    ).split()
)
"""The operators in `vela --supported-ops-report` of Vela 5.2.0; the second half is for the Ethos-U85 only.

An operator that is not listed runs on the CPU beside the NPU. A listed operator may run there, too: the report has
further conditions on its sizes, scales and attributes.
"""
TYPES = frozenset({"int8", "uint8", "int16", "int32", "bool", "resource"})
"""The types of feature maps. The report lists 64-bit types as not supported."""
MOVEMENT = moved_by("RESHAPE", "EXPAND_DIMS", "SQUEEZE", "TILE")
ROW = Target(
    broadcasts="keep",
    rewrites=moving(run_for("explicit"), MOVEMENT),
    static=True,
    movement=MOVEMENT,
    operators=OPERATORS,
    types=TYPES,
    elements=True,
    outside="Vela leaves it to the CPU",
    reads="tflite",
    evidence=(
        "ethos-u-vela 5.2.0, `vela --supported-ops-report`: operators and types",
        "scripts/vela_table.py: what is on the NPU before and after, and the cycles (docs/targets.md)",
    ),
)
