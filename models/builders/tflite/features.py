"""Small TFLite models, each with one feature of operands or operators that a rewrite can trip over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from models.builders.tflite.text import Quantized, model

ARITHMETIC = ("float32", "int8", "int16")


@dataclass(frozen=True, slots=True)
class Feature:
    """A text in which T stands for the element type, built once for each of `types`."""

    name: str
    line: str
    text: str
    types: tuple[str, ...] = ("float32",)
    kind: Literal["runs", "partly", "no kernel", "refused", "aborts", "garbage"] = "runs"
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of text.model."""

    def variants(self) -> Iterator[tuple[str, Any, str, bytes]]:
        """Yield for each type the suffix of its name, its kind, what the table says, and the file."""
        for dtype in self.types:
            data = model(self.text.replace(":T", f":{dtype}"), **self.options)
            if dtype == self.types[0]:
                yield "", self.kind, self.line, data
            else:
                yield f"_{dtype}", self.kind, f"`{self.name}` in {dtype}", data


_OPERANDS = (
    Feature(
        "shapes/two_sided",
        "[20,128,128] and [1,1,128,128]: an axis is missing on one side, stretched on the other",
        "y:T[1,20,128,128] = ADD(x:T[20,128,128], z:T[1,1,128,128])",
        ARITHMETIC,
    ),
    Feature("shapes/outer", "[1,10,1] by [3]", "y:T[1,10,3] = MUL(x:T[1,10,1], z:T[3])", ARITHMETIC),
    Feature("shapes/scalar_free", "a scalar and a free size", "y:T[N] = SUB(x:T[], z:T[N])", ARITHMETIC),
    Feature("shapes/scalar_scalar", "two scalars", "y:T[] = MUL(x:T[], z:T[])", ARITHMETIC),
    Feature(
        "constants/shared",
        "one constant read by an ADD of rank 4, an ADD of rank 3 and a GATHER",
        """
        a:T[2,2,3,4] = ADD(x:T[2,2,3,4], c:const:T[3,4])
        b:T[2,3,4] = ADD(z:T[2,3,4], c)
        g:T[2,4] = GATHER(c, k:const:int32{2,0}, axis=0)
        """,
        ARITHMETIC,
    ),
    Feature(
        "constants/shared_buffer",
        "two constants of two ranks on one buffer",
        """
        y:T[2,4] = ADD(x:T[2,4], c:const:T[4])
        w:T[2,3,4] = ADD(z:T[2,3,4], d:const:T[1,4])
        """,
        ARITHMETIC,
        options={"share": {"d": "c"}},
    ),
    Feature(
        "shapes/same_operand",
        "an operator that reads one value twice, and whose result is lifted",
        """
        s:T[3] = ADD(x:T[3], x)
        y:T[2,3] = ADD(s, z:T[2,3])
        """,
        ARITHMETIC,
    ),
    Feature(
        "shapes/output_operand",
        "an operand of lower rank that is an output too",
        """
        s:T[3] = ADD(a:T[3], b:T[3])
        y:T[2,3] = MUL(x:T[2,3], s)
        """,
        ARITHMETIC,
        options={"outputs": ["s", "y"]},
    ),
    Feature(
        "operators/activation",
        "a fused activation beside the broadcast",
        "y:T[2,3] = ADD(x:T[2,3], b:const:T[3], fused_activation_function=RELU)",
        ARITHMETIC,
    ),
    Feature("shapes/zero_sizes", "size 0 against size 1", "y[0,3] = ADD(x[0,1], z[1,3])"),
    Feature(
        "legacy/old_converter",
        "no has_rank anywhere: a missing shape is a scalar's",
        "y[2,3] = MUL(x[2,3], s:const[]{0.5})",
        options={"has_rank": False},
    ),
    Feature(
        "legacy/old_converter_scalar",
        "no has_rank: a scalar that is computed reads as a tensor of unknown rank",
        """
        m[] = REDUCE_MAX(x[2,3], a:const:int32[2]{0,1}, keep_dims=False)
        y[2,3] = SUB(x, m)
        """,
        options={"has_rank": False},
    ),
    Feature(
        "files/variable", "a variable tensor as the operand of higher rank", "v:variable[2,3]\ny[2,3] = ADD(v, x[3])"
    ),
    Feature(
        "operators/strings",
        "text compared with a constant of lower rank",
        "y:bool[2,3] = EQUAL(x:string[2,3], s:const:string[3]{'a', 'b', 'c'})",
    ),
)

_QUANTIZED = (
    Feature(
        "quantized/scales_differ",
        "int8 operands and result of three scales",
        "y:int8[2,3] = ADD(x:int8[2,3], b:const:int8[3])",
        options={"quantization": {"x": Quantized(0.25, -3), "b": Quantized(0.125, 7), "y": Quantized(1.0)}},
    ),
    Feature(
        "quantized/per_channel",
        "int8 constants quantized on their first and on their last axis, behind DEQUANTIZE",
        """
        f[3,4] = DEQUANTIZE(a:const:int8[3,4])
        g[1,4] = DEQUANTIZE(b:const:int8[1,4])
        s[2,3,4] = ADD(f, x[2,3,4])
        y[2,3,4] = MUL(s, g)
        """,
        options={
            "quantization": {
                "a": Quantized((0.5, 0.25, 0.125), 0, 0),
                "b": Quantized((0.5, 0.25, 0.125, 1.0), 0, 1),
            }
        },
    ),
    Feature(
        "quantized/per_channel_operand",
        "a constant quantized on its only axis, read by ADD itself: its kernel does not know such scales",
        "y:int8[2,3] = ADD(x:int8[2,3], b:const:int8[3])",
        kind="aborts",
        options={"quantization": {"b": Quantized((0.5, 0.25, 0.125), 0, 0)}},
    ),
    Feature(
        "constants/half",
        "a float16 constant behind DEQUANTIZE, read at two ranks",
        """
        f[3] = DEQUANTIZE(h:const:float16[3])
        y[2,3] = ADD(x[2,3], f)
        w[2,2,3] = MUL(z[2,2,3], f)
        """,
    ),
)

_OPERATORS = (
    Feature(
        "operators/select_rows",
        "SELECT with a condition of rank 1, which follows axis 0",
        "y:T[2,1,2,1] = SELECT(c:bool[2], x:T[2,1,2,1], z:T[2,1,2,1])",
        ARITHMETIC,
    ),
    Feature(
        "operators/select_scalar",
        "SELECT with a scalar condition",
        "y:T[2,3] = SELECT(c:bool[], x:T[2,3], z:T[2,3])",
        ARITHMETIC,
    ),
    Feature(
        "operators/select_ranks",
        "SELECT_V2 with operands of three ranks",
        "y:T[2,3,4] = SELECT_V2(c:bool[4], x:T[3,1], z:T[2,3,4])",
        ARITHMETIC,
    ),
    Feature(
        "operators/batch_matmul",
        "BATCH_MATMUL: batch axes that are missing and that are stretched",
        """
        y:T[2,3,5] = BATCH_MATMUL(a:T[2,3,4], b:T[4,5])
        w:T[2,3,3,5] = BATCH_MATMUL(c:T[3,3,4], d:T[2,1,5,4], adj_y=True)
        """,
        ARITHMETIC,
    ),
    Feature("shapes/rank_5", "rank 5 and rank 2", "y:T[2,1,2,2,3] = ADD(x:T[2,1,2,1,3], z:T[2,3])", ARITHMETIC),
    Feature("shapes/rank_6", "rank 6 and rank 3", "y:T[1,2,1,2,2,3] = MUL(x:T[1,2,1,2,1,3], z:T[1,2,1])", ARITHMETIC),
    Feature(
        "shapes/rank_8",
        "rank 8, the most that the broadcasting kernels take",
        "y:T[2,1,2,1,2,1,2,3] = ADD(x:T[2,1,2,1,2,1,2,1], z:T[2,3])",
        ARITHMETIC,
    ),
    Feature(
        "shapes/rank_9",
        "rank 9, one above",
        "y:T[2,1,2,1,2,1,2,2,3] = ADD(x:T[2,1,2,1,2,1,2,1,3], z:T[2,1,1,2,1])",
        ARITHMETIC,
        kind="aborts",
    ),
    Feature(
        "shapes/rank_9_equal",
        "rank 9 with equal shapes: nothing broadcasts",
        "y:T[2,1,2,1,1,1,1,2,3] = ADD(x:T[2,1,2,1,1,1,1,2,3], z:T[2,1,2,1,1,1,1,2,3])",
        ARITHMETIC,
    ),
    Feature(
        "prelu",
        "PRELU: alpha one rank below its input, as the converters write it",
        "y:T[1,2,2,3] = PRELU(x:T[1,2,2,3], alpha:const:T[1,1,3])",
        ("float32", "int8"),
    ),
    Feature(
        "prelu_int16",
        "PRELU in int16, which takes an int8 alpha",
        "y:int16[1,2,2,3] = PRELU(x:int16[1,2,2,3], alpha:const:int8[1,1,3])",
        options={"quantization": {"alpha": Quantized(0.5)}},
    ),
    Feature(
        "operators/atan2_unequal",
        "ATAN2 of [2,3] and [2,1]: the kernel compares the ranks only",
        "y[2,3] = ATAN2(x[2,3], z[2,1])",
        kind="garbage",
    ),
    Feature(
        "operators/custom",
        "a custom operator before and after a broadcast",
        """
        a[2,3] = CUSTOM.Shift(x[2,3], custom_options=b'{"by": 1}')
        s[2,3] = ADD(a, b:const[3])
        y[2,3] = CUSTOM.Shift(s, custom_options=b'{"by": -1}')
        """,
        kind="no kernel",
    ),
)

FEATURES = (*_OPERANDS, *_QUANTIZED, *_OPERATORS)
