"""For LiteRT's GPU accelerator: operands of one rank, lifts as RESHAPE, stretches as TILE.

    ADD(x[1,8,8,4], b[4])                  ->  ADD(x[1,8,8,4], b[1,1,1,4])
    EXPAND_DIMS(x[2,4], 0)                 ->  RESHAPE(x[2,4], [1,2,4])
    BROADCAST_TO(x[1,4,1,64], [1,4,8,64])  ->  TILE(x[1,4,1,64], [1,1,8,1])

The accelerator stores values as batch, height, width and channels. It aligned operands of different ranks from the
left, so results were wrong without a message. It refuses values of more than four axes. One unsupported operator moves
the whole model off the GPU.

## What it can't take

`graphfix check --target litert-gpu` reports:

- each value of a rank above 4 (GF301)
- each operator that adds or repeats axes and can't be written as RESHAPE or TILE, because sizes are free (GF304)
- the operators for which users have reported a refusal (GF305)

The accelerator may refuse other operators, too. No list of supported operators is published for its versions.

The operands of an ONNX model get one rank, too. Its Expand nodes are reported, because converters turn them into
BROADCAST_TO. Its operators are not checked, because the table contains TFLite's names. Convert the model, and run
graphfix again on the result.

## What it costs

A TILE is a copy. If the model contains BROADCAST_TO nodes that an operator's own broadcasting makes redundant, run
`--target compact` first. The project's tests have no GPU. They run the models in LiteRT on a CPU, which computes the
same.
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
