"""TFLite models whose stored shapes lie, by the way in which they lie; `templates` explains the two markers.

LiteRT's default interpreter runs each of them. A line `@ TENSOR FIELD VALUE` behind the operators changes a field of a
tensor as the schema has it; the tensor of another subgraph is `SUBGRAPH/TENSOR`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from models.builders.tflite import text as notation
from tests.support.lying.templates import variant

WAYS = {
    "wrong number": {
        "in front of the broadcast": """
            t[2,~5|4~] = EXP(x[2,4])
            y[2,4] = ADD(t, b[^4|2,4^])
        """,
        "on the broadcast result": """
            t[2,~3|4~] = ADD(x[2,4], b[^4|2,4^])
            y[2,4] = EXP(t)
        """,
        "that hides a stretch": """
            t[~2|1~,4] = REDUCE_MAX(z[2,4], ax:const:int32[1]{0}, keep_dims=True)
            s[2,4] = NEG(z)
            y[2,4] = ADD(x[2,4], ^t|s^)
        """,
        "of a FULLY_CONNECTED": """
            t[2,~3|4~] = FULLY_CONNECTED(x[2,3], w:const:float32[4,3]{1,2,3,4,5,6,7,8,9,10,11,12}, )
            y[2,4] = MUL(t, b[^4|2,4^])
        """,
        "on every value of a chain": """
            t[~1|2~,3,4] = NEG(x[2,3,4])
            u[~1|2~,3,4] = ADD(t, b[^3,4|2,3,4^])
            v[~7|2~,3,4] = ABS(u)
            y[2,3,4] = SQRT(v)
        """,
    },
    "wrong rank": {
        "an axis too many": """
            t[~1,2,4|2,4~] = EXP(x[2,4])
            y[2,4] = ADD(t, b[^4|2,4^])
        """,
        "an axis too few": """
            t[~8|2,4~] = EXP(x[2,4])
            y[2,4] = ADD(t, b[^4|2,4^])
        """,
        "that hides a rank-mismatch": """
            t[~1,1,4|4~] = EXP(b[4])
            u[2,3,4] = EXP(f[2,3,4])
            y[2,3,4] = ADD(x[2,3,4], ^t|u^)
        """,
        "a scalar": """
            t[~|2,4~] = EXP(x[2,4])
            y[2,4] = ADD(t, b[^4|2,4^])
        """,
    },
    "signature": {
        "another number than the shape": """
            t[2,4] = EXP(x[2,4])
            y[2,4] = ADD(t, b[^4|2,4^])
            @ t shapeSignature [2,~5|4~]
        """,
        "a number where the size is free": """
            t[?,4] = EXP(x[?,4])
            y[?,4] = ADD(t, ^b[4]|x^)
            @ t shapeSignature [~1|-1~,4]
        """,
        "none where the size is free": """
            t[~1|?~,4] = EXP(x[?,4])
            y[?,4] = ADD(t, ^b[4]|x^)
        """,
        "of an output": """
            t[2,4] = EXP(x[2,4])
            y[2,4] = ADD(t, b[^4|2,4^])
            @ y shapeSignature [2,~3|4~]
        """,
    },
    "stale batch": {
        "elementwise": """
            t[~1|4~,3] = EXP(x[4,3])
            u[~1|4~,3] = ADD(t, b[^3|4,3^])
            y[~1|4~,3] = NEG(u)
        """,
        "two layers": """
            t[~1|4~,2] = FULLY_CONNECTED(x[4,3], w:const:float32[2,3]{1,2,3,4,5,6}, )
            u[~1|4~,2] = ADD(t, b[^2|4,2^])
            y[~1|4~,2] = FULLY_CONNECTED(u, v:const:float32[2,2]{1,2,3,4}, )
        """,
        "a convolution": """
            t[~1|4~,2,2,2] = CONV_2D(x[4,2,2,1], w:const[2,1,1,1]{.5,2}, c:const[2]{.5,2}, stride_w=1, stride_h=1)
            y[~1|4~,2,2,2] = MUL(t, b[^2|4,2,2,2^])
        """,
        "behind a RESHAPE": """
            t[~1|4~,6] = RESHAPE(x[4,2,3], to:const:int32[2]{-1,6}, new_shape=[-1,6])
            y[~1|4~,6] = ADD(t, b[^6|4,6^])
        """,
    },
    "output": {
        "a wrong number": """
            y[2,~5|4~] = ADD(x[2,4], b[^4|2,4^])
        """,
        "a wrong rank": """
            y[~2|2,4~] = ADD(x[2,4], b[^4|2,4^])
        """,
        "that is read too": """
            t[~3|2~,4] = EXP(x[2,4])
            y[2,4] = ADD(t, b[^4|2,4^])
        """,
    },
    "in a subgraph": {
        "a branch of an IF": """
            y[2,4] = IF(c:bool[], x[2,4], b[^4|2,4^], then=yes, else=no)
            subgraph yes(p[2,4], q[^4|2,4^]) -> s:
            t[2,~5|4~] = EXP(p)
            s[2,4] = ADD(t, q)
            subgraph no(f[2,4], g[^4|2,4^]) -> h:
            h[2,4] = SUB(f, g)
        """,
        "the body of a WHILE": """
            i2:int32[], y[2,4], b2[^4|2,4^] = WHILE(i:int32[], x[2,4], b[^4|2,4^], cond=test, body=step)
            subgraph test(i:int32[], s[2,4], c[^4|2,4^]) -> on:
            on:bool[] = LESS(i, three:const:int32[]{3})
            subgraph step(i:int32[], s[2,4], c[^4|2,4^]) -> j, r, c:
            j:int32[] = ADD(i, one:const:int32[]{1})
            t[~1|2~,4] = NEG(s)
            r[2,4] = ADD(t, c)
        """,
        "the input of a branch": """
            y[2,4] = IF(c:bool[], x[2,4], b[^4|2,4^], then=yes, else=no)
            subgraph yes(p[~1|2~,4], q[^4|2,4^]) -> s:
            s[2,4] = ADD(p, q)
            subgraph no(f[~1|2~,4], g[^4|2,4^]) -> h:
            h[2,4] = SUB(f, g)
        """,
        "the output of a branch": """
            r[2,4] = IF(c:bool[], x[2,4], then=yes, else=no)
            y[2,4] = ADD(r, b[^4|2,4^])
            subgraph yes(p[2,4]) -> s:
            s[2,~3|4~] = EXP(p)
            subgraph no(f[2,4]) -> h:
            h[2,~3|4~] = NEG(f)
        """,
        "the result of an IF": """
            r[~1|2~,4] = IF(c:bool[], x[2,4], then=yes, else=no)
            y[2,4] = ADD(r, b[^4|2,4^])
            subgraph yes(p[2,4]) -> s:
            s[2,4] = EXP(p)
            subgraph no(f[2,4]) -> h:
            h[2,4] = NEG(f)
        """,
    },
    "has_rank is missing": {
        "beside a wrong number": """
            t[2,~5|4~] = EXP(x[2,4])
            y[2,4] = ADD(t, b[^4|2,4^])
            @ t hasRank False
        """,
        "everywhere": """
            t[~1|2~,4] = EXP(x[2,4])
            y[2,4] = ADD(t, b[^4|2,4^])
            @ x hasRank False
            @ t hasRank False
            @ y hasRank False
        """,
        "at an output": """
            t[2,4] = EXP(x[2,4])
            y[2,~3|4~] = ADD(t, b[^4|2,4^])
            @ y hasRank False
        """,
    },
    "no shape": {
        "but has_rank": """
            t[~|2,4~] = EXP(x[2,4])
            y[2,4] = ADD(t, b[^4|2,4^])
            @ t hasRank True
        """,
        "on all but the inputs": """
            t[~|2,4~] = EXP(x[2,4])
            u[~|2,4~] = ADD(t, b[^4|2,4^])
            y[~|2,4~] = NEG(u)
        """,
        "of an output": """
            t[2,4] = EXP(x[2,4])
            y[~|2,4~] = ADD(t, b[^4|2,4^])
        """,
    },
    "size 0": {
        "for a number": """
            t[2,~0|4~] = EXP(x[2,4])
            y[2,4] = ADD(t, b[^4|2,4^])
        """,
        "at an output": """
            t[2,4] = EXP(x[2,4])
            y[~0|2~,4] = ADD(t, b[^4|2,4^])
        """,
        "everywhere": """
            t[~0|2~,~0|4~] = EXP(x[2,4])
            u[~0|2~,~0|4~] = ADD(t, b[^4|2,4^])
            y[~0|2~,~0|4~] = NEG(u)
        """,
    },
    "stale after an edit": {
        "of a permutation": """
            t[~2,4,3|3,2,4~] = TRANSPOSE(x[2,3,4], p:const:int32[3]{1,0,2})
            y[3,2,4] = ADD(t, b[^4|3,2,4^])
        """,
        "of the axis of a CONCATENATION": """
            t[~2,8|4,4~] = CONCATENATION(x[2,4], x, axis=0)
            y[4,4] = MUL(t, b[^4|4,4^])
        """,
        "of keep_dims": """
            t[~2|2,1~] = REDUCE_MAX(x[2,4], ax:const:int32[1]{1}, keep_dims=True)
            s[2,4] = NEG(z[2,4])
            y[2,4] = ADD(x, ^t|s^)
        """,
        "of the input": """
            t[2,~4|8~] = EXP(x[2,8])
            u[2,~4|8~] = ADD(t, b[^8|2,8^])
            y[2,8] = NEG(u)
        """,
    },
}

BELIEVED = {
    "WHERE": """
        k:int64[~3|?~,2] = WHERE(c:bool[2,4])
        f[?,2] = CAST(k)
        y[?,2] = ADD(f, ^b[2]|f^)
    """,
    "UNIQUE": """
        u[~3|?~], i:int32[6] = UNIQUE(x[6], idx_out_type=INT32)
        y[?] = MUL(u, ^b[1]|u^)
    """,
    "WHERE and what reads it": """
        k:int64[~3|?~,2] = WHERE(c:bool[2,4])
        f[~3|?~,2] = CAST(k)
        y[?,2] = ADD(f, ^b[2]|f^)
    """,
}
"""Files whose lie no rule refutes, because the size depends on elements: `fix` believes it, and the runs refute it."""


def built(text: str, *, lies: bool = True, broadcasts: bool = True) -> bytes:
    """Return one of the four files of a text (`templates.variant`)."""
    lines = [line.strip() for line in variant(text, lies=lies, broadcasts=broadcasts).strip().splitlines()]
    made = notation.tree("\n".join(line for line in lines if not line.startswith("@")))
    for tensor, field, value in _changes(lines):
        subgraph, _, name = tensor.rpartition("/")
        (graph,) = (each for each in made.subgraphs if each.name == (subgraph or "main"))
        (found,) = (each for each in graph.tensors if each.name == name)
        setattr(found, field, ast.literal_eval(value))
    return notation.pack(made)


def _changes(lines: list[str]) -> Iterator[tuple[str, str, str]]:
    for line in lines:
        if line.startswith("@"):
            _, tensor, field, value = line.split(maxsplit=3)
            yield tensor, field, value
