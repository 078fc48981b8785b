"""ONNX models whose stored shapes lie, by the way in which they lie; `templates` explains the two markers.

onnxruntime runs each of them. It is given every symbol at two sizes (`onnx_runs.SIZES`).
"""

from __future__ import annotations

import onnx

from tests.support.lying.templates import variant

_HEAD = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1, "own" : 1]>\n'

WAYS = {
    "wrong number": {
        "in front of the broadcast": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[N,4] y) <float[N,~5|4~] t> { t = Relu (x) y = Add (t, b) }
        """,
        "on the broadcast result": """
            g (float[3,4] x, float[^4|3,4^] b) => (float[3,4] y) <float[3,~6|4~] t> { t = Add (x, b) y = Relu (t) }
        """,
        "that hides a stretch": """
            g (float[3,4] x, float[3,4] z) => (float[3,4] y) <float[~3|1~,4] t> {
               t = ReduceMax <axes: ints = [0], keepdims: int = 1> (z)
               s = Neg (z)
               y = Add (x, ^t|s^)
            }
        """,
        "of a MatMul": """
            g (float[N,3] x, float[3,4] w, float[^4|N,4^] b) => (float[N,4] y) <float[N,~3|4~] t> {
               t = MatMul (x, w)
               y = Add (t, b)
            }
        """,
        "on every value of a chain": """
            g (float[2,N,4] x, float[^N,4|2,N,4^] b) => (float[2,N,4] y)
            <float[~3|2~,N,4] t, float[~4|2~,N,4] u, float[~5|2~,N,4] v> {
               t = Neg (x)
               u = Mul (t, b)
               v = Abs (u)
               y = Sqrt (v)
            }
        """,
        "larger beside a right symbol": """
            g (float[N,M] x, float[^M|N,M^] b) => (float[N,M] y) <float[N,M] s, float[~100000|N~,M] t> {
               s = Neg (x)
               t = Relu (s)
               y = Add (t, b)
            }
        """,
    },
    "wrong rank": {
        "an axis too many": """
            g (float[2,4] x, float[^4|2,4^] b) => (float[2,4] y)
            <float[~1,2,4|2,4~] t> { t = Relu (x) y = Add (t, b) }
        """,
        "an axis too few": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[N,4] y) <float[~4|N,4~] t> { t = Relu (x) y = Add (t, b) }
        """,
        "a scalar": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[N,4] y) <float~|[N,4]~ t> { t = Relu (x) y = Add (t, b) }
        """,
        "that hides a rank-mismatch": """
            g (float[2,3,4] x, float[4] b, float[2,3,4] f) => (float[2,3,4] y) <float[~1,1,4|4~] t> {
               t = Relu (b)
               r = Relu (f)
               y = Add (x, ^t|r^)
            }
        """,
    },
    "too narrow": {
        "a number for a free size": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[N,4] y) <float[~2|N~,4] t> { t = Relu (x) y = Add (t, b) }
        """,
        "a number for a size computed from a free one": """
            g (float[N,4] x, float[^1|K^] b) => (float[K] y) <int64[1] flat = {-1}, float[~8|?~] t> {
               t = Reshape (x, flat)
               y = Mul (t, ^b|t^)
            }
        """,
        "one of two free sizes": """
            g (float[N,M] x, float[^M|N,M^] b) => (float[N,M] y) <float[N,~5|M~] t> { t = Relu (x) y = Add (t, b) }
        """,
        "1 for a free size": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[N,4] y) <float[~1|N~,4] t> { t = Add (x, b) y = Neg (t) }
        """,
    },
    "one symbol for two sizes": {
        "of another input": """
            g (float[N,4] x, float[M,4] z, float[^4|M,4^] b) => (float[N,4] w, float[M,4] y) <float[~N|M~,4] t> {
               t = Relu (z)
               w = Relu (x)
               y = Add (t, b)
            }
        """,
        "of a concatenation": """
            g (float[N,4] x, float[M,4] z, float[4] b) => (float[?,4] y) <float[~N|?~,4] t> {
               t = Concat <axis: int = 0> (x, z)
               y = Add (t, ^b|t^)
            }
        """,
        "in the wrong order": """
            g (float[N,M] x, float[^N|M,N^] b) => (float[M,N] y) <float[~N,M|M,N~] t> {
               t = Transpose <perm: ints = [1, 0]> (x)
               y = Add (t, b)
            }
        """,
        "that no input has": """
            g (float[N,4] x, float[M,4] z, float[^4|M,4^] b) => (float[N,4] w, float[M,4] y)
            <float[~K|N~,4] t, float[~K|M~,4] u> {
               t = Relu (x)
               u = Relu (z)
               w = Neg (t)
               y = Add (u, b)
            }
        """,
    },
    "output of the graph": {
        "a wrong number": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[N,~5|4~] y) { y = Add (x, b) }
        """,
        "a wrong rank": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[~N|N,4~] y) { y = Add (x, b) }
        """,
        "a number for a free size": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[~7|N~,4] y) { y = Add (x, b) }
        """,
        "that is read too": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[N,~3|4~] t, float[N,4] y) { t = Relu (x) y = Add (t, b) }
        """,
    },
    "in a body": {
        "a branch of an If": """
            g (bool c, float[N,4] x, float[^4|N,4^] b) => (float[N,4] y) {
               y = If (c) <then_branch: graph = yes () => (float[N,4] p)
                  <float[N,~5|4~] t> { t = Relu (x) p = Add (t, b) },
                           else_branch: graph = no () => (float[N,4] q) { q = Neg (x) }>
            }
        """,
        "the output of a branch": """
            g (bool c, float[N,4] x, float[M,4] z, float[^4|N,4^] b) => (float[N,4] y, float[M,4] w) {
               r = If (c) <then_branch: graph = yes () => (float[~M|N~,4] p) { p = Relu (x) },
                           else_branch: graph = no () => (float[~M|N~,4] q) { q = Neg (x) }>
               y = Add (r, b)
               w = Neg (z)
            }
        """,
        "a Loop": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[N,4] y) <int64 n = {3}, bool go = {1}> {
               y = Loop (n, go, x) <body: graph = step (int64 i, bool on, float[N,4] s) => (bool off, float[N,4] r)
               <float[~1,|~N,4] t> {
                  off = Identity (on)
                  t = Add (s, b)
                  r = Relu (t)
               }>
            }
        """,
        "the state of a Loop": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[N,4] y) <int64 n = {3}, bool go = {1}> {
               y = Loop (n, go, x) <body: graph = step (int64 i, bool on, float[~2|N~,4] s)
                  => (bool off, float[~2|N~,4] r)
               {
                  off = Identity (on)
                  r = Add (s, b)
               }>
            }
        """,
        "a Scan": """
            g (float[N,4] x, float[^1|4^] b) => (float[4] f, float[N,4] y) <float[4] zero = {0,0,0,0}> {
               f, y = Scan (zero, x) <num_scan_inputs: int = 1,
                  body: graph = step (float[4] s, float[4] e) => (float[4] r, float[4] o)
               <float[~N|4~] t> {
                  t = Add (e, b)
                  r = Add (s, t)
                  o = Relu (t)
               }>
            }
        """,
        "a branch in a Loop": """
            g (bool c, float[N,4] x, float[^4|N,4^] b) => (float[N,4] y) <int64 n = {2}, bool go = {1}> {
               y = Loop (n, go, x) <body: graph = step (int64 i, bool on, float[N,4] s) => (bool off, float[N,4] r) {
                  off = Identity (on)
                  r = If (c) <then_branch: graph = yes () => (float[N,4] p)
                     <float[N,~2|4~] t> { t = Relu (s) p = Add (t, b) },
                              else_branch: graph = no () => (float[N,4] q) { q = Neg (s) }>
               }>
            }
        """,
    },
    "in a function": {
        "a wrong number": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[N,4] y) { y = own.f (x, b) }
            <domain: "own", opset_import: ["" : 17]>
            f (p, q) => (r) <float[N,~5|4~] t> { t = Relu (p) r = Add (t, q) }
        """,
        "a wrong rank": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[N,4] y) { y = own.f (x, b) }
            <domain: "own", opset_import: ["" : 17]>
            f (p, q) => (r) <float[~1,|~N,4] t> { t = Add (p, q) r = Relu (t) }
        """,
        "the size of one of two calls": """
            g (float[2,4] x, float[3,4] z, float[^4|2,4^] b) => (float[2,4] y, float[3,4] w) {
               s = own.f (x)
               y = Add (s, b)
               w = own.f (z)
            }
            <domain: "own", opset_import: ["" : 17]>
            f (p) => (r) <float[~2|?~,4] t> { t = Relu (p) r = Neg (t) }
        """,
        "beside a call": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[N,4] y) <float[~4|N~,4] s> { s = own.f (x) y = Add (s, b) }
            <domain: "own", opset_import: ["" : 17]>
            f (p) => (r) { t = Relu (p) r = Neg (t) }
        """,
    },
    "stale batch": {
        "two layers": """
            g (float[B,3] x, float[3,4] w, float[4,2] v, float[^4|B,4^] b) => (float[~1|B~,2] y)
            <float[~1|B~,4] t, float[~1|B~,4] u, float[~1|B~,4] r> {
               t = MatMul (x, w)
               u = Add (t, b)
               r = Relu (u)
               y = MatMul (r, v)
            }
        """,
        "a convolution": """
            g (float[B,3,4,4] x, float[2,3,1,1] w, float[^2,1,1|B,2,4,4^] b) => (float[~1|B~,2,4,4] y)
            <float[~1|B~,2,4,4] t, float[~1|B~,2,4,4] u> {
               t = Conv (x, w)
               u = Relu (t)
               y = Mul (u, b)
            }
        """,
        "behind a flattening": """
            g (float[B,2,3] x, float[^6|B,6^] b) => (float[~1|B~,6] y)
            <int64[2] to = {0,-1}, float[~1|B~,6] t, float[~1|B~,6] u> {
               t = Reshape (x, to)
               u = Neg (t)
               y = Add (u, b)
            }
        """,
        "of which only the output is right": """
            g (float[B,N,4] x, float[^4|B,N,4^] b) => (float[B,N,4] y) <float[~1|B~,N,4] t, float[~1|B~,N,4] u> {
               t = Add (x, b)
               u = Relu (t)
               y = Neg (u)
            }
        """,
    },
    "two value_info of one value": {
        "the lie first": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[N,4] y)
            <float[N,~5|4~] t, float[N,4] t> { t = Relu (x) y = Add (t, b) }
        """,
        "the lie last": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[N,4] y)
            <float[N,4] t, float[N,~5|4~] t> { t = Relu (x) y = Add (t, b) }
        """,
        "two lies": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[N,4] y) <float[~2|N~,4] t, float[~1,|~N,4] t> {
               t = Add (x, b)
               y = Relu (t)
            }
        """,
        "of an output": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[N,4] y) <float[N,~5|4~] y> { y = Add (x, b) }
        """,
    },
    "size 0": {
        "for a number": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[N,4] y) <float[N,~0|4~] t> { t = Relu (x) y = Add (t, b) }
        """,
        "for a free size": """
            g (float[N,4] x, float[^4|N,4^] b) => (float[N,4] y) <float[~0|N~,4] t> { t = Add (x, b) y = Relu (t) }
        """,
        "that is not 0 in the file": """
            g (float[2,4] x, float[^4|0,4^] b) => (float[0,4] y)
            <int64[1] zero = {0}, float[~2|0~,4] t> {
               t = Slice (x, zero, zero, zero)
               y = Add (t, b)
            }
        """,
        "everywhere": """
            g (float[2,4] x, float[^4|2,4^] b) => (float[~0|2~,~0|4~] y)
            <float[~0|2~,~0|4~] t> { t = Relu (x) y = Add (t, b) }
        """,
    },
    "stale after an edit": {
        "of a permutation": """
            g (float[2,3,4] x, float[^4|3,2,4^] b) => (float[3,2,4] y) <float[~2,4,3|3,2,4~] t> {
               t = Transpose <perm: ints = [1, 0, 2]> (x)
               y = Add (t, b)
            }
        """,
        "of the axis of a Concat": """
            g (float[2,4] x, float[^4|4,4^] b) => (float[4,4] y) <float[~2,8|4,4~] t> {
               t = Concat <axis: int = 0> (x, x)
               y = Mul (t, b)
            }
        """,
        "of keepdims": """
            g (float[N,4] x, float[N,4] z) => (float[N,4] y) <float[~N|N,1~] t> {
               t = ReduceMax <axes: ints = [1], keepdims: int = 1> (x)
               s = Neg (z)
               y = Add (x, ^t|s^)
            }
        """,
        "of the axes of an Unsqueeze": """
            g (float[N,4] x, float[N,3,4] z) => (float[N,3,4] y) <int64[1] ax = {1}, float[~N,4,1|N,1,4~] t> {
               t = Unsqueeze (x, ax)
               s = Neg (z)
               y = Add (z, ^t|s^)
            }
        """,
        "of the input": """
            g (float[2,8] x, float[^8|2,8^] b) => (float[2,8] y) <float[~2,4|2,8~] t, float[~4,2|8,2~] u> {
               t = Add (x, b)
               u = Transpose (t)
               y = Transpose (u)
            }
        """,
    },
}

COUNTED = """
    g (float[N,4] x, float[^4|N,4^] b) => (float[N,4] y, int64[3,1] counted)
    <int64 n = {3}, bool go = {1}, float[N,~5|4~] t> {
       t = Relu (x)
       y, counted = Loop (n, go, t)
          <body: graph = step (int64[1] i, bool on, float[N,4] s) => (bool off, float[N,4] r, int64[1] o) {
          off = Identity (on)
          r = Add (s, b)
          o = Identity (i)
       }>
    }
"""
"""The iteration number i is [1], and no lie: onnxruntime makes it as the body declares it, of no axis or of one."""

UNDERIVED = {
    "Compress": """
        g (float[3,4] x, float[4] b, bool[3] c) => (float[?,4] y) <bool[3] every = {1,1,1}, float[~5|?~,4] t> {
           e = Or (c, every)
           t = Compress <axis: int = 0> (x, e)
           y = Add (t, ^b|t^)
        }
    """,
    "Unique": """
        g (float[6] x, float[1] b) => (float[?] y) <float[~2|?~] u> { u = Unique (x) y = Add (u, ^b|u^) }
    """,
    "a custom operator": """
        g (float[6] x, float[1] b) => (float[?] y) <float[~2|?~] u, int64[~2|?~] i, int64[~2|?~] n> {
           u, i, n = com.microsoft.Unique (x)
           y = Add (u, ^b|u^)
        }
    """,
    "of a size that nothing derives": """
        g (float[2,4] x, float[^4|2,4^] b) => (int64[2,~5|?~] k, float[2,4] y) { k = NonZero (x) y = Add (x, b) }
    """,
    "what a Loop stacks": """
        g (float[N,4] x, float[^4|N,4^] b) => (float[N,4] y, float[3,N,4] stacked)
        <int64 n = {3}, bool go = {1}, float[~2|3~,N,4] all> {
           y, all = Loop (n, go, x)
              <body: graph = step (int64 i, bool on, float[N,4] s) => (bool off, float[N,4] r, float[N,4] o) {
              off = Identity (on)
              r = Add (s, b)
              o = Neg (r)
           }>
           stacked = Neg (all)
        }
    """,
}
"""Numbers in the place of sizes that depend on elements: no rule contradicts them, and no run needs them."""


def built(text: str, *, lies: bool = True, broadcasts: bool = True) -> onnx.ModelProto:
    """Return one of the four models of a text (`templates.variant`)."""
    return onnx.parser.parse_model(_HEAD + variant(text, lies=lies, broadcasts=broadcasts))
