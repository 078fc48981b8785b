"""The form that LiteRT's GPU accelerator reads rightly: operands of one rank, lifts as RESHAPE, stretches as TILE.

    ADD(x[1,8,8,4], b[4])                  ->  ADD(x[1,8,8,4], b[1,1,1,4])
    EXPAND_DIMS(x[2,4], 0)                 ->  RESHAPE(x[2,4], [1,2,4])
    BROADCAST_TO(x[1,4,1,64], [1,4,8,64])  ->  TILE(x[1,4,1,64], [1,1,8,1])

The accelerator lays values out as batch, height, width and channels. Operands of mixed ranks it aligned from the left
(results were wrong, without a word), values of more than four axes it refuses, and one operator that it lacks takes the
whole model off the GPU.

## What it can't take

`graphfix check --target litert-gpu` names each value above rank 4 (GF301), each operator that adds or repeats axes and
can't be written as RESHAPE or TILE, because sizes are free (GF304), and the operators that are reported to be refused
(GF305). Others may be refused too: no list of what the accelerator takes is published with its version.

An ONNX model gets one rank too, and its Expand nodes are named: converters make a BROADCAST_TO of them. Its operators
are not asked: the table is in TFLite's names. Convert it, and run graphfix again on the result.

## What it costs

A TILE is a copy: run `--target compact` before, where the model holds BROADCAST_TO that an operator's own broadcasting
makes redundant. There is no GPU in the project's tests: what runs there is LiteRT on a CPU, which computes the same.
"""

from __future__ import annotations

from graphfix.targets.registry import run_for
from graphfix.targets.target import Target, moved_by, moving

ISSUES = "https://github.com/google-ai-edge/LiteRT/issues"
MOVEMENT = moved_by("RESHAPE", "TILE")
ROW = Target(
    broadcasts="keep",
    rewrites=moving(run_for("explicit"), MOVEMENT),
    max_rank=4,
    movement=MOVEMENT,
    not_supported={"FILL": "the accelerator has no FILL"},
    outside="one takes the whole model off the GPU",
    reads="tflite",
    evidence=(
        f"{ISSUES}/8980: operands of mixed ranks are misaligned without a word; a RESHAPE helps",
        f"{ISSUES}/8975: the same in a decoder",
        f"{ISSUES}/9191: BROADCAST_TO is refused at rank 4 too, and takes the whole model off the GPU",
        f"{ISSUES}/6851: so is FILL",
        f"{ISSUES}/2540: `has bad input dims size: 5`",
    ),
)
