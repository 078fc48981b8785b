"""Small models with bodies: If, Loop, Scan and local functions."""

from __future__ import annotations

from models.builders.onnx.cases import case

BODY_CASES = (
    case(
        "bodies/if",
        "sound",
        "both branches of If broadcast against values of the outer graph",
        """main (bool c, float[2,3] x, float[3] b) => (float[2,3] y) {
            y = If (c) <then_branch = yes () => (float[2,3] t) { t = Add(x, b) },
                        else_branch = no () => (float[2,3] e) <float two = {2.0}> { e = Mul(x, two) }> }""",
    ),
    case(
        "bodies/if_ranks",
        "sound",
        "the branches of If differ in rank: what reads the result sees an unranked operand",
        """main (bool c, float[3] x, float[2,3] w) => (float[2,3] y) {
            v = If (c) <then_branch = yes () => (float[3] t) { t = Neg(x) },
                        else_branch = no () => (float[2,3] e) { e = Neg(w) }>
            y = Add(w, v) }""",
    ),
    case(
        "bodies/loop",
        "sound",
        "Loop: a carried [2,3] meets an outer [3] and a scalar of the body in each turn",
        """main (int64 n, float[2,3] x, float[3] b) => (float[2,3] y, float[?,2,3] all) <bool go = {1}> {
            y, all = Loop (n, go, x) <body = turn (int64 i, bool c, float[2,3] v) =>
                (bool again, float[2,3] w, float[2,3] seen) <float half = {0.5}> {
                    again = Identity(c) s = Add(v, b) w = Mul(s, half) seen = Identity(w) }> }""",
    ),
    case(
        "bodies/loop_rank",
        "sound",
        "Loop: the carried value changes its rank, so its rank is not known in the body",
        """main (int64 n, float[3] x, float[2,3] b) => (float[?,?] y) <bool go = {1}> {
            v = Loop (n, go, x) <body = turn (int64 i, bool c, float[] v) => (bool again, float[] w) {
                again = Identity(c) w = Add(v, b) }>
            rows = Shape(b) y = Expand(v, rows) }""",
    ),
    case(
        "bodies/scan",
        "sound",
        "Scan: a row [3] and a carried [2,3] in each turn",
        """main (float[2,3] s, float[T,3] rows) => (float[2,3] last, float[T,2,3] all) {
            last, all = Scan <num_scan_inputs: int = 1, body = turn (float[2,3] v, float[3] row) =>
                (float[2,3] w, float[2,3] seen) { w = Add(v, row) seen = Identity(w) }> (s, rows) }""",
    ),
    case(
        "bodies/function_two_ranks",
        "sound",
        "a local function that is called at two ranks",
        """main (float[2,3] x, float[2,2,3] y, float[3] b) => (float[2,3] o0, float[2,2,3] o1) {
            o0 = local.shift(x, b) o1 = local.shift(y, b) }
        <domain: "local", opset_import: ["" : 18]>
        shift (v, w) => (r) { s = Add(v, w) r = Abs(s) }""",
    ),
    case(
        "bodies/function_nested",
        "sound",
        "a local function that calls another, every call at one rank",
        """main (float[2,3] x, float[3] b) => (float[2,3] o0, float[2,3] o1) {
            o0 = local.outer(x, b) o1 = local.outer(o0, b) }
        <domain: "local", opset_import: ["" : 18]>
        inner (v, w) => (r) { two = Constant <value_float: float = 2.0> () s = Mul(v, two) r = Add(s, w) }
        <domain: "local", opset_import: ["" : 18, "local" : 1]>
        outer (v, w) => (r) { s = local.inner(v, w) r = Sub(s, w) }""",
    ),
)
